#pragma once
/*
 * The synthesized peer: the other end of a queue pair whose other end is not in the trace.
 *
 * The events of the recorded side show the actions of the other end, and the latest time of
 * each. The synthesized end repeats each action just before the recorded event that shows it, in a
 * separate context on the same device. r->far is NULL if all ends are in the trace; these functions
 * then do nothing.
 *
 * synth_prepare() and the functions after it may be called by any thread.
 */
#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/store/db/ids.h"

struct replay;
struct trace_event;
struct call;
struct args;

/* Call it before the trace is read. Returns 0 or -ENOMEM. */
int synth_init(struct replay *r);

/* Accepts that synth_init() failed. */
void synth_fini(struct replay *r);

/* The first pass: each control verb, then posts and polls. 0 or -errno after log_err(). */
int synth_learn_call(struct replay *r, const struct trace_event *event, const struct args *in,
		     const struct args *out);
int synth_learn_traffic(struct replay *r);

/* Bytes of memory that synthesized ends will register. */
uint64_t synth_bytes(const struct replay *r);

/*
 * Must all events before @event be done before the other ends do their actions before @event? For
 * struct schedule_options; @replay is a struct replay.
 */
bool synth_needs_all_before(const void *replay, struct event_id event);

/* Do the actions of the other ends that came before @event. Returns 0 or -errno after log_err(). */
int synth_prepare(struct replay *r, const struct trace_event *event);

/*
 * Connect the synthesized end of queue pair @object, which will be connected next, in the recording
 * with @attr. Returns false if its other end is not synthesized; else *@ret_number is that end's
 * number in the replay.
 */
bool synth_connect(struct replay *r, uint32_t object, const struct ibv_qp_attr *attr,
		   uint32_t *ret_number);

/* Queue pair @object was destroyed, or reset. */
void synth_disconnect(struct replay *r, uint32_t object);

/* Is @object connected to a synthesized end? */
bool synth_has(const struct replay *r, uint32_t object);

/* Set *@addr and *@rkey to the synthesized end's memory for request @index of post @event. */
void synth_remote_address(struct replay *r, const struct trace_event *event, uint32_t index,
			  uint64_t *addr, uint32_t *rkey);

/* The replay's key of the window that request @index of post @event invalidates; 0: none. */
uint32_t synth_window_key(struct replay *r, const struct trace_event *event, uint32_t index);

/* The replay's number of the synthesized shared receive queue @srqn of @object's other end. */
uint32_t synth_srqn(struct replay *r, uint32_t object, uint32_t srqn);

/*
 * The replay's number of the synthesized datagram queue pair with recorded number @qpn, for
 * @object. 0: the trace has it.
 */
uint32_t synth_datagram_qpn(struct replay *r, uint32_t object, uint32_t qpn);

/* Report the facts that were inferred about the other ends. 0 or -ENOMEM. */
int synth_report(struct replay *r);
