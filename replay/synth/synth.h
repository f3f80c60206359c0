#pragma once
/*
 * The made peer: the other end of a queue pair whose other end is not in the trace.
 *
 * What the recorded side saw says what the other end did, and when at the latest. The
 * made end does that, just before the recorded event that shows it, in a context of
 * its own on the same device. r->far is NULL where both ends are in the trace, and all
 * of this does nothing.
 *
 * synth_before() and what is below it may be called by any thread.
 */
#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdint.h>

struct replay;
struct trace_event;
struct call;
struct args;

/* Before the trace is read. Returns 0 or -ENOMEM. */
int synth_init(struct replay *r);

/* Accepts that synth_init() failed. */
void synth_fini(struct replay *r);

/* The one pass before: a control verb; then the rest of the trace. 0 or -errno after log_err(). */
int synth_learn_call(struct replay *r, const struct trace_event *event, const struct args *in,
		     const struct args *out);
int synth_learn_traffic(struct replay *r);

/* Bytes of memory that it will register. */
uint64_t synth_bytes(const struct replay *r);

/* Do what the other ends did before @event. Returns 0 or -errno after log_err(). */
int synth_before(struct replay *r, const struct trace_event *event);

/*
 * Queue pair @object is about to be connected by @attr, of the recording: connect its made end.
 * Returns false if its other end is not made; else *@ret_number is that one's number here.
 */
bool synth_connect(struct replay *r, uint32_t object, const struct ibv_qp_attr *attr,
		   uint32_t *ret_number);

/* Queue pair @object was destroyed, or reset. */
void synth_disconnect(struct replay *r, uint32_t object);

/* Does @object talk to a made end? */
bool synth_has(const struct replay *r, uint32_t object);

/* Memory of the made end that request @index of the post @event names: replaces both. */
void synth_remote(struct replay *r, const struct trace_event *event, uint32_t index, uint64_t *addr,
		  uint32_t *rkey);

/* The key here of the window that request @index of the post @event closes; 0: it has none. */
uint32_t synth_window(struct replay *r, const struct trace_event *event, uint32_t index);

/* The number here of made shared receive queue @srqn of @object's other end. */
uint32_t synth_srqn(struct replay *r, uint32_t object, uint32_t srqn);

/*
 * The number here of the made datagram queue pair that is @qpn there, for @object of the trace.
 * 0: the trace has it.
 */
uint32_t synth_datagram(struct replay *r, uint32_t object, uint32_t qpn);

/* Say what was inferred: 0 or -ENOMEM. */
int synth_report(struct replay *r);
