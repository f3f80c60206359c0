#pragma once
/*
 * The replayed processes: started, asked, ended. In the replaying process; any thread.
 */
#include "core/store/read/trace.h"
#include "replay/process/process_wire.h"

struct process_ask;

struct process_told {
	/* one has ended that should not have: @how tells by what */
	void (*lost)(uint32_t process, const char *how);
	/* @child has a copy of what @parent has at this moment */
	void (*forked)(uint32_t child, uint32_t parent);
};

/*
 * Start the process that all others are forked from. @told must stay. Returns 0 or -errno after
 * log_err().
 */
int process_ask_new(struct trace *trace, const struct process_told *told,
		    struct process_ask **ret_ask);

/* Accepts NULL. Ends all that still run. */
void process_ask_free(struct process_ask *ask);

/* Is @process running, or was it, and why not? NULL: it runs. It is started if it has not been. */
const char *process_ask_why_not(struct process_ask *ask, uint32_t process);

/* Fork @child, by @thread of its parent; 0: by any. */
void process_ask_fork(struct process_ask *ask, uint32_t child, uint32_t thread);

/* End it, and wait for that. */
void process_ask_end(struct process_ask *ask, uint32_t process, enum process_ending ending);

bool process_ask_runs(const struct process_ask *ask, uint32_t process);

/* Is @process @of, or was it forked from it? */
bool process_ask_is_kin(const struct process_ask *ask, uint32_t process, uint32_t of);

/*
 * The channel of @thread of @process; of the process itself where @thread is 0 or cannot be
 * started.
 */
struct channel *process_ask_channel(struct process_ask *ask, uint32_t process, uint32_t thread);

/* The process that serves a channel. */
uint32_t process_ask_of(const struct process_ask *ask, const struct channel *channel);

/* A command that was filled in. Returns 0; or -ESRCH: its process has ended. */
int process_ask(struct process_ask *ask, struct channel *channel, enum process_command command);

/* Only one thread at a time uses the channel of a process. */
void process_ask_lock(struct process_ask *ask, const struct channel *channel);
void process_ask_unlock(struct process_ask *ask, const struct channel *channel);
