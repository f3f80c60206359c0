#pragma once
/*
 * A line between bounds from below and from above.
 *
 *	value  v v   v   v     at most
 *	       ---------------	the line: offset + drift * time
 *	        ^  ^  ^    ^   at least
 *
 * Of each span of time only the tightest bounds are kept: what is forgotten makes the room for the
 * line larger, never wrong. One thread.
 */
#include <stdbool.h>
#include <stdint.h>

enum { BOUNDS_SPANS = 64 };

struct bound {
	int64_t value, time;
};

struct bounds {
	int64_t width;                                        /* of a span, ns */
	struct bound least[BOUNDS_SPANS], most[BOUNDS_SPANS]; /* value INT64_MIN, INT64_MAX: none */
};

struct bounds_line {
	double offset, drift;
	double error; /* what it may be off by, between two times */
	double drift_error;
};

void bounds_init(struct bounds *bounds);

/* At @time the line is at least @value; at most. */
void bounds_at_least(struct bounds *bounds, int64_t value, int64_t time);
void bounds_at_most(struct bounds *bounds, int64_t value, int64_t time);

/* Take in all bounds of @from. */
void bounds_add(struct bounds *bounds, const struct bounds *from);

/*
 * The middle of all lines that fit at @span[0] and at @span[1], with what it may be off by between
 * them: no line has a smaller error. False: none fits, or there is no bound on one side.
 */
bool bounds_solve(const struct bounds *bounds, const int64_t span[2], struct bounds_line *ret_line);
