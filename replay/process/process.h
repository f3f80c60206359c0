#pragma once
/*
 * Recorded processes that are processes here, too: --processes.
 *
 * The replay is one engine, in the first process: order, comparison, report. What it calls is
 * called in the process that called it there, which was forked as the recorded one was. An object
 * of such a process is known here by a copy, which these functions, dispatch_call() and the inline
 * functions of verbs.h take like any other. Without --processes all of them are the device's own.
 *
 * Any thread.
 */
#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "core/store/read/trace.h"

struct outcome;

/* Before any device is opened. Returns 0 or -errno after log_err(). */
int processes_start(struct trace *trace, struct outcome *outcome);

/* Ends them all. */
void processes_stop(void);

bool processes_are_used(void);

/* Memory here, with nothing in it yet, is mapped there. Returns 0 or -errno after log_err(). */
int processes_map(const void *at, size_t size, int protection);

/* A variable of the environment, here and in what has not been started. 0 or -ENOMEM. */
int processes_setenv(const char *name, const char *value);

/*
 * What this thread calls from now on until process_leave() is called by the thread of @event.
 * Returns NULL; or why that cannot be.
 */
const char *process_enter(const struct trace_event *event);
void process_leave(void);

/* Memory of what this thread calls, for its arguments; *@ret_size 0: the heap will do. */
void *process_arguments(size_t *ret_size);

/* Has @process that object, made or inherited, and not destroyed since? */
bool process_has(uint32_t process, const void *object);

/* A child of the thread that is entered. */
void process_fork(uint32_t child);

/*
 * @process ends, as @how tells: column `ending` of table `process`, or NULL. Returns the process
 * that has its objects from now on, since it was forked from it; 0: they have ended with it.
 */
uint32_t process_end(uint32_t process, const char *how);

/* Calls that --max-memory refused so far, there or here; by this thread. */
unsigned int process_refused(void);

/* Is there an event on a channel, or of a context? */
bool process_has_cq_event(struct ibv_comp_channel *channel);
bool process_has_async_event(struct ibv_context *context);

int process_get_cq_event(struct ibv_comp_channel *channel, struct ibv_cq **ret_cq,
			 void **ret_context);
int process_get_async_event(struct ibv_context *context, struct ibv_async_event *event);
void process_ack_async_event(struct ibv_async_event *event);
void process_ack_cq_events(struct ibv_cq *cq, unsigned int n);

/* ibv_qp_to_qp_ex(); what it returns tells which builders there are. */
const struct ibv_qp_ex *process_qp_ex(struct ibv_qp *qp);

/* As builder_run(). */
int process_build(struct ibv_qp *qp, struct ibv_send_wr *list, uint32_t n,
		  struct ibv_data_buf *bufs, bool complete);

/* Memory of @process that processes_map() has mapped. */
void process_write(uint32_t process, void *to, const void *from, size_t n);
void process_read(uint32_t process, void *to, const void *from, size_t n);

/* The software device's faults, of the thread or object that it is about. */
int process_fault(int (*fault)(const char *rule), const char *rule);
int process_raise(int (*raise)(struct ibv_context *context, const struct ibv_async_event *event),
		  struct ibv_context *context, const struct ibv_async_event *event);

/* How many have struck there, by now and in those that have ended. */
unsigned int processes_struck(void);
