#pragma once
/*
 * Starts, commands and ends the replayed processes. In the replaying process; any thread.
 */
#include "core/store/read/trace.h"
#include "replay/process/process_wire.h"

struct process_ask;

struct process_callbacks {
	/* a process has ended unexpectedly: @how gives the reason */
	void (*lost)(uint32_t process, const char *how);
	/* @child has a copy of the current objects of @parent */
	void (*forked)(uint32_t child, uint32_t parent);
};

/*
 * Start the process that all others are forked from. @handlers must stay valid. Returns 0 or -errno
 * after log_err().
 */
int process_ask_new(struct trace *trace, const struct process_callbacks *handlers,
		    struct process_ask **ret_ask);

/* Accepts NULL. Ends all processes that still run. */
void process_ask_free(struct process_ask *ask);

/* The reason why @process does not run; NULL: it runs. Starts the process if needed. */
const char *process_ask_why_not(struct process_ask *ask, uint32_t process);

/* Fork @child, from @thread of its parent; 0: from any. */
void process_ask_fork(struct process_ask *ask, uint32_t child, uint32_t thread);

/* End @process, and wait until it has ended. */
void process_ask_end(struct process_ask *ask, uint32_t process, enum process_ending ending);

bool process_ask_runs(const struct process_ask *ask, uint32_t process);

/* Is @process the process @of, or a descendant of it? */
bool process_ask_descends(const struct process_ask *ask, uint32_t process, uint32_t of);

/*
 * The channel of @thread of @process; the channel of the process itself if @thread is 0 or cannot
 * be started.
 */
struct channel *process_ask_channel(struct process_ask *ask, uint32_t process, uint32_t thread);

/* The process that serves a channel. */
uint32_t process_ask_of(const struct process_ask *ask, const struct channel *channel);

/* Execute the command that was filled in. Returns 0; or -ESRCH: its process has ended. */
int process_ask(struct process_ask *ask, struct channel *channel, enum process_command command);

/* The channel of a process is used by one thread at a time: lock it. */
void process_ask_lock(struct process_ask *ask, const struct channel *channel);
void process_ask_unlock(struct process_ask *ask, const struct channel *channel);
