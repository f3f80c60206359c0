#pragma once
/*
 * The calls of librdmacm, made again: events and private data as recorded.
 *
 * Identifiers are made without queue pairs: those are created, modified and connected by the verbs
 * that librdmacm called inside, which the trace has. What goes through the connection manager here
 * is the rest: addresses, requests, replies, private data, events.
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

/* The one pass before: a call of any kind. Returns 0 or -ENOMEM. */
int cm_learn_call(struct replay *r, const struct trace_event *event, const struct args *in,
		  const struct args *out);

/*
 * After that: load librdmacm, if the trace has calls of it; or say why they are not made. Returns
 * 0 or -ENOMEM.
 */
int cm_begin(struct replay *r);

void cm_fini(struct replay *r);

/* After cm_begin(): struct order_source has the same; NULL: there are none. */
const struct map *cm_heard(const struct replay *r);

/* Is TRACE_CALL or TRACE_RETURN the event of its call at which it may be made again? */
bool cm_takes(const struct trace_event *event);

/* An event that cm_takes(). Returns 0 or -errno after log_err(). */
int cm_replay(struct replay *r, const struct trace_event *event);

/* Is queue pair @object on an iWARP device here, and librdmacm there to connect it? */
bool cm_connects(const struct replay *r, uint32_t object);

/*
 * ibv_modify_qp() of queue pair @qp, which is connected to @peer (0: not in the trace). Returns
 * whether librdmacm does it: *@ret_needless says so, *@ret_why why it could not.
 */
bool cm_modify(struct replay *r, uint32_t qp, uint32_t peer, const struct ibv_qp_attr *attr,
	       int mask, const char **ret_needless, const char **ret_why);

/* Process @process has ended: its identifiers go. */
void cm_clear(struct replay *r, uint32_t process);
