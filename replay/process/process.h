#pragma once
/*
 * One process for each recorded process: --processes.
 *
 * Order, comparison and report are in the first process. Each verb is called in the process that
 * replays its recorded process and that was forked as the recorded one was. The first process has
 * copies of the objects of these processes: the functions below, dispatch_call() and the inline
 * functions of verbs.h accept them like objects of a device. Without --processes no copies exist.
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

/* Ends all replayed processes. */
void processes_stop(void);

bool processes_are_used(void);

/*
 * Map the memory at @at, which is still empty, into the replayed processes. Returns 0 or -errno
 * after log_err().
 */
int processes_map(const void *at, size_t size, int protection);

/*
 * Set a variable of the environment, in this process and in replayed processes that are started
 * later. 0 or -ENOMEM.
 */
int processes_setenv(const char *name, const char *value);

/*
 * Make the calls of this thread, until process_leave(), in the process and thread of @event.
 * Returns NULL, or the reason why that is not possible.
 */
const char *process_enter(const struct trace_event *event);
void process_leave(void);

/* Memory for the arguments of this thread's calls; *@ret_size 0: any memory can be used. */
void *process_arguments(size_t *ret_size);

/* Does @process have @object: created or inherited, and not destroyed since? */
bool process_has(uint32_t process, const void *object);

/* Fork a child of the process that this thread has entered. */
void process_fork(uint32_t child);

/*
 * End @process in the way @how: column `ending` of table `process`, or NULL. Returns the child
 * that owns its objects from now on; 0: the objects ended with it.
 */
uint32_t process_end(uint32_t process, const char *how);

/* The number of calls of this thread that --max-memory refused so far, in any process. */
unsigned int process_refused(void);

/* Is an event waiting on a channel, or on a context? */
bool process_has_cq_event(struct ibv_comp_channel *channel);
bool process_has_async_event(struct ibv_context *context);

int process_get_cq_event(struct ibv_comp_channel *channel, struct ibv_cq **ret_cq,
			 void **ret_context);
int process_get_async_event(struct ibv_context *context, struct ibv_async_event *event);
void process_ack_async_event(struct ibv_async_event *event);
void process_ack_cq_events(struct ibv_cq *cq, unsigned int n);

/* ibv_qp_to_qp_ex(); the result shows which builders exist. */
const struct ibv_qp_ex *process_qp_ex(struct ibv_qp *qp);

/* Build requests as builder_run() does. */
int process_build(struct ibv_qp *qp, struct ibv_send_wr *list, uint32_t n,
		  struct ibv_data_buf *bufs, bool complete);

/* Write to memory of @process that processes_map() has mapped. */
void process_write(uint32_t process, void *to, const void *from, size_t n);
void process_read(uint32_t process, void *to, const void *from, size_t n);

/* Faults of the software device, in the process of the thread or object that they are for. */
int process_fault(int (*fault)(const char *rule), const char *rule);
int process_raise(int (*raise)(struct ibv_context *context, const struct ibv_async_event *event),
		  struct ibv_context *context, const struct ibv_async_event *event);

/* The number of faults that were injected in these processes, including those that have ended. */
unsigned int processes_struck(void);
