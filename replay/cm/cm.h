#pragma once
/*
 * Replaying calls of librdmacm: events and private data as recorded.
 *
 * Identifiers are created without queue pairs: these are created, modified and connected by the
 * verbs that librdmacm called inside, which are in the trace. The replay uses the connection
 * manager for the rest: addresses, requests, replies, private data, events.
 *
 * One thread at a time.
 */
#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdint.h>

struct map;
struct replay;
struct trace_event;
struct args;

/* To be called for each call in the first pass over the trace. Returns 0 or -ENOMEM. */
int cm_learn_call(struct replay *r, const struct trace_event *event, const struct args *in,
		  const struct args *out);

/*
 * After the first pass: load librdmacm if the trace has calls of it, or note why they are not
 * replayed. Returns 0 or -ENOMEM.
 */
int cm_begin(struct replay *r);

void cm_fini(struct replay *r);

/*
 * The map for order_source.heard, from the rdma_connect() of a request to the rdma_listen() that
 * got it; NULL: there is none. Valid after cm_begin().
 */
const struct map *cm_early_listeners(const struct replay *r);

/* Is @event (TRACE_CALL or TRACE_RETURN) the event at which its call may be replayed? */
bool cm_takes(const struct trace_event *event);

/* Replay the call of @event, for which cm_takes() is true. Returns 0 or -errno after log_err(). */
int cm_replay(struct replay *r, const struct trace_event *event);

/*
 * End the connection of queue pair @qp (an object number), as rdma_disconnect() does; both ends
 * notice. Called to repeat a recorded fault (recorded_fault.h).
 */
void cm_end_connection(struct replay *r, uint32_t qp);

/*
 * Is queue pair @object on an iWARP device of this machine, with librdmacm available to connect it?
 */
bool cm_connects(const struct replay *r, uint32_t object);

/*
 * Replay ibv_modify_qp() of queue pair @qp, which is connected to @peer (0: not in the trace).
 * Returns whether librdmacm connects the queue pair instead. Then *@ret_needless is set if no call
 * was needed, and *@ret_why if librdmacm could not connect it.
 */
bool cm_modify(struct replay *r, uint32_t qp, uint32_t peer, const struct ibv_qp_attr *attr,
	       int mask, const char **ret_needless, const char **ret_why);

/* Process @process has ended: remove its identifiers. */
void cm_clear(struct replay *r, uint32_t process);
