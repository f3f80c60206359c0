#pragma once
/*
 * A trace that is still being written, for its readers: its objects, and the data added since it
 * was last read.
 *
 * A finished trace has table `object`; in a live one objects are created from the returns of calls
 * that a cursor reads. An address refers to the object created there last. Only LIVE_DEAD destroyed
 * objects are remembered, so memory grows only with the number of live objects. Not thread-safe.
 */
#include "core/store/read/trace_priv.h"

enum { LIVE_DEAD = 1 << 16 };

struct live;
struct writer;

/* Follow the trace of @writer. 0 or -errno after log_err(). */
int live_new(struct trace *trace, struct writer *writer, struct live **ret_live);

/* Accepts NULL. */
void live_free(struct live *live);

/*
 * Read the changes of tables `process`, `thread`, `loss` and `coverage`. @last: no process will
 * have more events. 0 or -errno after log_err().
 */
int live_refresh(struct live *live, bool last);

/*
 * Note that the reader has read the chunk of @thread that begins at @first_n. 0 or -errno after
 * log_err().
 */
int live_read_chunk(struct live *live, uint32_t thread, uint64_t first_n);

/*
 * The last event of thread @id for which the tables are complete; *@ret_ended: it is the thread's
 * last event.
 */
uint64_t live_last_stored(const struct live *live, uint32_t id, bool *ret_ended);

/*
 * Like trace_object() and trace_object_at(), at the time of the last event. live_qp(): the queue
 * pair with @number on the device of CQ @cq (an id; 0: any).
 */
const struct object *live_object(const struct live *live, uint32_t id);
const struct object *live_at(const struct live *live, uint32_t process, enum object_kind kind,
			     uint64_t handle);
const struct object *live_qp(const struct live *live, uint32_t process, uint32_t number,
			     uint32_t cq);

/*
 * Process a call event before it is returned to the reader: set call.object; when a call that
 * creates or destroys an object returns, update the objects. 0 or -errno.
 */
int live_note_call(struct live *live, const struct trace_event *event, struct call *call);

/* The process has ended: mark its objects as dead. */
void live_end_process(struct live *live, uint32_t process);

/* Like trace_alive(), at the current time; objects of a process that has ended are dead. */
uint64_t live_count_alive(const struct live *live, enum object_kind kind);

/*
 * Like trace_totals(), for everything that was read, including rows that have been deleted since.
 */
struct totals live_totals(const struct live *live);

/*
 * Like the functions of trace_faults.c: the mark of a fault at event @n of @thread; the number of
 * faults; the n-th of all faults. A text is valid until the next call.
 */
const char *live_fault(struct live *live, uint32_t thread, uint64_t n);
size_t live_count_faults(const struct live *live);
const char *live_nth_fault(struct live *live, size_t n, struct event_id *ret_id);

/* Like trace_stack(); the frames have no modules yet. */
unsigned int live_stack(struct live *live, uint32_t stack, struct frame *frames, unsigned int max);
