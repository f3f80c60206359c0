#pragma once
/*
 * Metrics in the text format of OpenMetrics 1.0, as Prometheus reads it. Not thread-safe.
 *
 * After the beginning of a family all of its samples are added: no two with the same labels.
 */
#include <stdint.h>

struct histogram;
struct text;

enum metric_type {
	METRIC_COUNTER,
	METRIC_GAUGE,
	METRIC_HISTOGRAM, /* in buckets with doubling bounds, from 256 ns to 17 s */
	METRIC_SUMMARY,   /* median, 90th and 99th percentile */
};

struct metric {
	const char *name; /* without its unit, which is added to it */
	enum metric_type type;
	const char *unit; /* "seconds", "bytes"; NULL: none */
	const char *help;
};

struct metric_label {
	const char *name, *value; /* value NULL: it is not known, and the label is omitted */
};

enum { METRIC_LABELS = 5 };

/* The output, and the current family. */
struct metrics {
	struct text *out;
	const struct metric *metric;
};

void metrics_begin(struct metrics *metrics, const struct metric *metric);

/* A sample; @labels: METRIC_LABELS at most, the last one has no name. */
void metrics_count(struct metrics *metrics, const struct metric_label *labels, uint64_t value);

/* Add a sample of a time, which is written in seconds. */
void metrics_time(struct metrics *metrics, const struct metric_label *labels, int64_t ns);

/* A histogram or a summary of times; NULL and an empty one are left out. */
void metrics_times(struct metrics *metrics, const struct metric_label *labels,
		   const struct histogram *times);

/* The end of the text. */
void metrics_end(struct metrics *metrics);
