#pragma once
/*
 * Limits the size of a long recording: stores only its newest part (a flight recorder), with copies
 * when something fails, or rotates traces. Not thread-safe.
 */
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>

#include "cli/record/collector.h"
#include "cli/record/device_counters.h"
#include "cli/record/live_stats.h"
#include "cli/record/watch.h"
#include "core/store/write/writer.h"
#include "core/wire/session.h"

struct copy;

struct retention {
	const char *path;      /* of the trace */
	uint64_t flight;       /* bytes of the trace; 0: no limit */
	uint64_t rotate_bytes; /* 0: no limit on the size */
	int64_t rotate_ns;     /* 0: no limit on the age */
	struct watch *watch;   /* its findings are stored in the copies; may be NULL */
	struct live_stats *vitals;
	bool quiet;
	bool asked;                  /* a signal has requested a copy */
	struct collector *collector; /* borrowed, like the next two */
	struct session *session;
	struct writer *writer;
	struct device_counters *counters; /* stored in the copies; a rotation restarts them */

	struct copy *copies; /* that other processes complete */
	bool answering;      /* one of them was asked for by session_page.copies_asked */
	unsigned int number; /* number of the last copy */
	uint64_t begun;      /* CLOCK_MONOTONIC: start of the current trace */
	uint64_t carried;    /* size of the trace at its start, in bytes */
	uint64_t again;      /* size at which a failed rotation is retried; 0: none failed */
	struct writer_alarms seen;
	bool refused; /* a cut is due, but a thread is inside a post */
	/* since when it is due: for a flight recorder by the trace's clock, else CLOCK_MONOTONIC */
	int64_t refused_at;
	bool reported; /* it was reported that the needed events exceed the limit */
};

/* From now on the collector cuts the trace when it is due. */
void retention_start(struct retention *retention);

/* Are old events dropped? */
bool retention_has_cuts(const struct retention *retention);

/* The maximal size of a file in bytes; 0: no limit. */
uint64_t retention_max_file_size(const struct retention *retention);

/*
 * Make the copies that are due; call it several times a second. The session may request one
 * (session_page.copies_asked) and gets an answer when it is complete. A copy that fails is
 * reported, and recording continues. Returns 0 or -errno of the writer.
 */
int retention_update(struct retention *retention);

/* Wait until all copies are complete. */
void retention_finish(struct retention *retention);

/* "trace.3.db" for "trace.db" and 3; false if it is too long. */
bool retention_name(const char *path, unsigned int number, char name[PATH_MAX]);
