#pragma once
/*
 * Converts the times of one of several traces to those of the joint trace (joint.h). Any thread.
 */
#include <stdbool.h>
#include <stdint.h>

enum clock_source {
	CLOCK_OWN,       /* the first trace: it defines the clock */
	CLOCK_SAME,      /* the same machine, since the same boot: exact */
	CLOCK_ESTIMATED, /* estimated from messages between queue pairs */
	CLOCK_ASSUMED,   /* assumed from the time of day of both machines, whose error is unknown */
};

/* Conversion of a trace's times to those of the joint one: time + offset + drift * time. */
struct trace_clock {
	enum clock_source source;
	int64_t offset; /* ns */
	double drift;
	int64_t error; /* ns, maximum for all times of the trace; INT64_MAX: not known */
	double drift_error;
	bool contradicts;  /* no clock is consistent with the trace's messages */
	uint32_t pairs;    /* joined queue pairs used for the estimate */
	uint64_t messages; /* messages between these queue pairs, also used for the estimate */
};

/* Round to ns, limited to the range of times (core/store/db/sql.h); NaN becomes the lowest time. */
int64_t trace_clock_round(long double ns);

/* Is a drift of @drift possible between two clocks? */
bool trace_clock_drifts(double drift);

/*
 * Limit the fields of @clock so that their sums do not overflow: they may come from a damaged
 * trace.
 */
void trace_clock_bound(struct trace_clock *clock);

int64_t trace_clock_time(const struct trace_clock *clock, int64_t time);
/* the reverse: joint time to trace's time */
int64_t trace_clock_to_own_time(const struct trace_clock *clock, int64_t time);

/* How much faster the clock runs than the first trace's, in ppm; negative: slower. */
double trace_clock_ppm(const struct trace_clock *clock);
