#pragma once
/*
 * A trace that is still being written, as its readers see it: its objects, and
 * what has arrived since the last look.
 *
 * A finished trace has table `object`; here objects are made from the returns
 * of calls as a cursor gives them. At an address there is the last object that
 * was there; of dead ones LIVE_DEAD are remembered, so that memory grows with
 * what is alive. One thread.
 */
#include "core/store/read/trace_priv.h"

enum { LIVE_DEAD = 1 << 16 };

struct live;
struct writer;

/* Follow what @writer writes. 0 or -errno after log_err(). */
int live_new(struct trace *trace, struct writer *writer, struct live **ret_live);

/* Accepts NULL. */
void live_free(struct live *live);

/*
 * Read what changed in tables `process` and `thread`; @last: nothing more will
 * come of any process. 0 or -errno after log_err().
 */
int live_refresh(struct live *live, bool last);

/* The chunk of thread @thread that begins at @first_n was read. 0 or -errno after log_err(). */
int live_read_chunk(struct live *live, uint32_t thread, uint64_t first_n);

/* Up to which event of thread @id all is in the tables; *@ret_ended: nothing comes after it. */
uint64_t live_settled(const struct live *live, uint32_t id, bool *ret_ended);

/* As trace_object(), trace_object_at() and objects_qp(), for the time of the last event. */
const struct object *live_object(const struct live *live, uint32_t id);
const struct object *live_at(const struct live *live, uint32_t process, enum object_kind kind,
			     uint64_t handle);
const struct object *live_qp(const struct live *live, uint32_t process, uint32_t number,
			     uint32_t cq);

/*
 * A call as it is given to the reader: fills call.object, and on the return of
 * one that makes or destroys an object does so here. 0 or -errno.
 */
int live_call(struct live *live, const struct trace_event *event, struct call *call);

/* The process has ended: what it had is dead. */
void live_exit(struct live *live, uint32_t process);

/* trace_stack(), where frames have no modules yet. */
unsigned int live_stack(struct live *live, uint32_t stack, struct frame *frames, unsigned int max);
