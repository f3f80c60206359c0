#pragma once
/*
 * Computing a profile in one pass of the events through the model.
 *
 * The model sees all events; only those of the selected part are counted. A completion counts at
 * its poll, a request at its post.
 *
 * Not thread-safe.
 */
#include "analyzer/profile/profile.h"
#include "analyzer/profile/timeline.h"
#include "core/store/read/trace.h"

/*
 * @select may be NULL. Returns 0 and a profile for profile_free(); or -errno after log_err():
 * -ENOENT if there is no such process or phase in the trace.
 */
int profile_trace(struct trace *trace, const struct profile_select *select,
		  struct profile **ret_profile);

struct life;

/* What a pass makes besides the profile: from all events, not only from the selected part. */
struct profile_extras {
	struct lanes *lanes;            /* gets the requests; NULL: none */
	struct timeline **ret_timeline; /* for timeline_free(); NULL: none */
	/* called as model_watcher.leave; NULL: none */
	void (*leave)(void *arg, const struct life *object);
	void *arg;
};

int profile_trace_more(struct trace *trace, const struct profile_select *select,
		       const struct profile_extras *more, struct profile **ret_profile);

/*
 * The same event by event, for a trace that is still being written (trace_follow()). Borrowed
 * arguments must stay valid as long as the profiler; @select may be NULL. 0 or -errno after
 * log_err().
 */
struct profiler;
int profiler_open(struct trace *trace, const struct profile_select *select,
		  struct profiler **ret_profiler);
int profiler_process_event(struct profiler *profiler, const struct trace_event *event);

/*
 * The current profile, borrowed until the next event. Before profiler_finish() samples are not
 * scaled, and waits for the recorder and empty polls after the last non-empty one are missing.
 */
const struct profile *profiler_profile(const struct profiler *profiler);

/* The waits that the trace has now: times, ns and most. 0 or -errno after log_err(). */
int profiler_waits(struct profiler *profiler, struct profile_waited *ret_waited);

/* The object, borrowed until the next event; NULL: it is not alive. */
const struct life *profiler_life(const struct profiler *profiler, const struct object *object);

/* Call once, after the last event. */
int profiler_finish(struct profiler *profiler);

/* Accepts NULL. */
void profiler_close(struct profiler *profiler);
