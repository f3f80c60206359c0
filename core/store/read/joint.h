#pragma once
/*
 * Several traces of one job, one from each machine or process, read as one.
 *
 * Their processes, threads, objects and stacks are renumbered consecutively, the first trace's
 * numbers stay; all functions for traces work on a joint one, except for trace_db(). Names of
 * events and processes include the trace: "b.db:2:42", "b.db process 2" (core/store/db/ids.h).
 * Times are on the clock of the first trace, since the begin of the earliest trace. Not
 * thread-safe.
 */
#include "core/store/read/trace.h"
#include "core/store/read/trace_clock.h"

/*
 * Join @n traces that were opened from @paths. Takes ownership of them, even on failure. Returns 0;
 * or -errno after log_err() with *@ret_trace untouched: -EINVAL if two are the same file.
 */
int trace_join(struct trace **parts, const char *const *paths, size_t n, struct trace **ret_trace);

/* The number of joined traces, 1 for a trace that is not joint; and trace @i of them. */
size_t trace_nparts(const struct trace *trace);
struct trace *trace_part(struct trace *trace, size_t i);

/*
 * The name of trace @i, such as "b.db", and its path as the user gave it. NULL if @trace is not
 * joint.
 */
const char *trace_part_name(const struct trace *trace, size_t i);
const char *trace_part_path(const struct trace *trace, size_t i);

/*
 * The index of the trace that has @process; the numbers of @process, @id and @object in their own
 * trace.
 */
size_t trace_part_of(const struct trace *trace, uint32_t process);
uint32_t trace_part_process(const struct trace *trace, uint32_t process);
struct event_id trace_part_event(const struct trace *trace, struct event_id id);
uint32_t trace_part_object(const struct trace *trace, uint32_t process, uint32_t object);

/* The reverse: the joint numbers of a process, an event and an object of trace @part. */
uint32_t trace_whole_process(const struct trace *trace, size_t part, uint32_t process);
struct event_id trace_whole_event(const struct trace *trace, size_t part, struct event_id id);
uint32_t trace_whole_object(const struct trace *trace, size_t part, uint32_t object);

/*
 * The event that a user names "2:42" (@name is ""), or "b.db:2:42" (@name is "b.db"). -EINVAL:
 * @name is set but the trace is not joint, or the reverse; -ENOENT: there is no such trace or
 * thread.
 */
int trace_find_event(struct trace *trace, const char *name, struct event_id id,
		     struct event_id *ret_id);

/* The clock of trace @i; a trace that is not joint has its own. */
struct trace_clock trace_clock(const struct trace *trace, size_t i);

/*
 * The clock of trace @i, if it was recorded on the machine and boot of trace @like, whose clock is
 * set.
 */
bool trace_clock_like(const struct trace *joint, size_t i, size_t like, struct trace_clock *ret);

/*
 * How far the time of day of trace @i's machine is ahead of the first trace's machine, ns;
 * negative: behind.
 */
int64_t trace_clock_ahead(const struct trace *joint, size_t i);

/* Use @clock for trace @i from now on; no cursor may be open. 0 or -ENOMEM after log_err(). */
int trace_set_clock(struct trace *joint, size_t i, const struct trace_clock *clock);

/* Let the earliest of the traces begin at 0, with the current clocks. 0 or -ENOMEM. */
int trace_set_start(struct trace *joint);

/*
 * The minimum distance of a time of @process and one of @other for which their order is certain: 0
 * within one trace; INT64_MAX: it is never certain.
 */
int64_t trace_order_uncertainty(const struct trace *trace, uint32_t process, uint32_t other);

/* The value of @key in table meta of the trace, joined or merged, that has @process; NULL: none. */
const char *trace_process_meta(struct trace *trace, uint32_t process, const char *key);

/* The losses of the trace, joined or merged, that has @process. */
struct trace_loss trace_process_loss(struct trace *trace, uint32_t process);

/* Do the processes belong to two traces that were joined or merged? */
bool trace_is_other_recording(const struct trace *trace, uint32_t process, uint32_t other);
