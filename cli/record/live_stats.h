#pragma once
/*
 * Live statistics of the program for viewers: `verbatim top`, `record --live`.
 *
 * Runs in the recorder's own thread, in slices between two rounds of reading, like the check
 * (watch.h). It reads the trace from its first event, but only while a viewer is attached; if there
 * is a check, it gets each event from the check, from the start on. A failure ends the statistics
 * but not the recording. Not thread-safe.
 */
#include <stdbool.h>
#include <stdint.h>

#include "core/store/read/trace.h"
#include "core/store/write/writer.h"
#include "core/wire/session.h"

struct live_stats;
struct live_devices;
struct profiler;
struct live_state;

/*
 * @awaited: a viewer is about to attach, and gets at least the end. Arguments are borrowed until
 * live_stats_free(). 0 or -errno after log_err().
 */
int live_stats_new(const struct session *session, struct writer *writer, bool awaited,
		   struct live_stats **ret_vitals);

/* Accepts NULL. */
void live_stats_free(struct live_stats *vitals);

/*
 * Continue for a while; @seen as of collector_last_event(), @fullest of collector_drain(). True:
 * there is more to read, call it again soon.
 */
bool live_stats_step(struct live_stats *vitals, int64_t seen, int fullest);

/*
 * Events up to @time are dropped afterwards: read them now. For a viewer this takes 100 ms at most,
 * since the program may wait; if they are not read by then, counting begins anew with those left.
 */
void live_stats_read_until(struct live_stats *vitals, int64_t time);

/* Is a viewer attached? Then the recorder must not sleep for long. */
bool live_stats_has_viewer(const struct live_stats *vitals);

/*
 * Another reader follows @trace, and passes each event until live_stats_detach(). Accept NULL. 0 or
 * -errno after log_err().
 */
int live_stats_attach(struct live_stats *vitals, struct trace *trace);
void live_stats_count_event(struct live_stats *vitals, const struct trace_event *event);
void live_stats_detach(struct live_stats *vitals);

/* The state of the program for a reader in this process, borrowed until the callback returns. */
struct live_now {
	const struct live_devices *devices;
	struct trace *trace;
	struct profiler *profiler;
	struct live_state *state; /* live_page.h */
	uint64_t one_of;          /* factor of the profile's counts */
};

/*
 * From now on count whether there is a viewer or not, and call @each about once a second, and at
 * the end. Call it before the first event.
 */
void live_stats_each(struct live_stats *vitals, void (*each)(void *arg, const struct live_now *now),
		     void *arg);

/* The writer has all events: count the rest and publish it if a viewer is attached. */
void live_stats_finish(struct live_stats *vitals);
