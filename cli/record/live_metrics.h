#pragma once
/*
 * `record --metrics`: the metrics of a program that is still running, as text. Not thread-safe.
 *
 * A number that `verbatim stat --format openmetrics` also has, has the same name and meaning. Queue
 * pairs are summed up in groups by device, type and process, LIVE_GROUPS at most, so that the text
 * is bounded; process numbers are those of the trace.
 */
#include "cli/record/live_stats.h"

enum { LIVE_GROUPS = 128 };

struct text;

/*
 * The types of queue pairs by object, so that a destroyed one stays in its group: a counter must
 * not decrease. All zero: none; free() @all.
 */
struct live_types {
	const char **all;
	size_t n;
};

/* The facts that the recorder has besides the trace. */
struct live_facts {
	const struct writer_alarms *alarms;
	struct live_types *types;
	const uint64_t *findings; /* errors, warnings, hazards; NULL: there is no check */
};

/* Append the metrics to @out; the caller checks whether that failed. */
void live_metrics_write(const struct live_now *now, const struct live_facts *facts,
			struct text *out);

/*
 * Write the text for the time before the first event: it has only metrics of the recorder itself.
 */
void live_metrics_begin(struct text *out);
