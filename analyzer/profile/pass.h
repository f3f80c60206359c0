#pragma once
/*
 * Making a profile: one pass of the events through the model.
 *
 * The model sees all events; counted are those of the part that was asked for. A completion counts
 * where it was polled, a request where it was posted.
 *
 * One thread.
 */
#include "analyzer/profile/profile.h"
#include "core/store/read/trace.h"

/*
 * @select may be NULL. Returns 0 and a profile to be given to profile_free(); or -errno after
 * log_err(): -ENOENT if there is no such process or phase in the trace.
 */
int profile_trace(struct trace *trace, const struct profile_select *select,
		  struct profile **ret_profile);

/*
 * The same event by event, as of a trace that is still written (trace_follow()). What is borrowed
 * must stay as long as the profiler; @select may be NULL. 0 or -errno after log_err().
 */
struct profiler;
int profiler_open(struct trace *trace, const struct profile_select *select,
		  struct profiler **ret_profiler);
int profiler_event(struct profiler *profiler, const struct trace_event *event);

/*
 * What it is by now, borrowed until the next event. Before profiler_finish() what a sample says
 * is not multiplied, and the waits for the recorder and the polls that found nothing after the
 * last one that did are missing.
 */
const struct profile *profiler_profile(const struct profiler *profiler);

/* The waits that are in the trace by now: times, ns and most. 0 or -errno after log_err(). */
int profiler_waits(struct profiler *profiler, struct profile_waited *ret_waited);

/* The object, borrowed until the next event; NULL: it is not alive. */
const struct life *profiler_life(const struct profiler *profiler, const struct object *object);

/* All events were given: once. */
int profiler_finish(struct profiler *profiler);

/* Accepts NULL. */
void profiler_close(struct profiler *profiler);
