#pragma once
/*
 * How the times of one of several traces become those of all (joint.h). Any thread.
 */
#include <stdbool.h>
#include <stdint.h>

enum clock_source {
	CLOCK_OWN,       /* the first trace: all times are of its clock */
	CLOCK_SAME,      /* the same machine, since the same boot: exact */
	CLOCK_ESTIMATED, /* from what queue pairs told each other */
	CLOCK_ASSUMED,   /* by the time of day of both machines, which may be wrong by anything */
};

/* How the times of a trace become those of the joint one: time + offset + drift * time. */
struct trace_clock {
	enum clock_source source;
	int64_t offset; /* ns */
	double drift;
	int64_t error; /* ns, of all times of the trace; INT64_MAX: not known */
	double drift_error;
	bool contradicts;  /* nothing fits what its queue pairs told */
	uint32_t pairs;    /* joined queue pairs that it was estimated from */
	uint64_t messages; /* and messages between them */
};

/* A number of ns within what times can be (core/store/db/sql.h); of what is no number the least. */
int64_t trace_clock_round(long double ns);

/* Can a clock be so much faster or slower than another? */
bool trace_clock_drifts(double drift);

/* Keep its parts, which may come of a damaged trace, so small that their sums do not overflow. */
void trace_clock_bound(struct trace_clock *clock);

int64_t trace_clock_time(const struct trace_clock *clock, int64_t time);
int64_t trace_clock_back(const struct trace_clock *clock, int64_t time); /* the other way */

/* How fast it is next to the first trace's, in millionths; negative: slow. */
double trace_clock_fast(const struct trace_clock *clock);
