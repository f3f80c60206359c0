#pragma once
/*
 * A line between bounds from below and from above.
 *
 *	value  v v   v   v     at most
 *	       ---------------	the line: offset + drift * time
 *	        ^  ^  ^    ^   at least
 *
 * Of many bounds only those are kept that some line could touch: the corners of the convex hull. So
 * no line that is found breaks any bound, also none that was forgotten. One thread.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bound {
	int64_t value, time;
};

/* Those on one side. */
struct bounds_side {
	struct bound *at; /* the first @corners of them are a hull, the others came since */
	size_t n, size, corners;
};

/* Empty when zeroed. */
struct bounds {
	struct bounds_side least, most;
};

struct bounds_line {
	double offset, drift;
	double error; /* what it may be off by, between two times */
	double drift_error;
};

void bounds_fini(struct bounds *bounds);

/*
 * At @time the line is at least @value; at most. Without memory it is forgotten: the room for the
 * line is larger then.
 */
void bounds_at_least(struct bounds *bounds, int64_t value, int64_t time);
void bounds_at_most(struct bounds *bounds, int64_t value, int64_t time);

/* Take in all bounds of @from. */
void bounds_add(struct bounds *bounds, const struct bounds *from);

/*
 * The middle of all lines that fit at @span[0] and at @span[1], with what it may be off by between
 * them: no line has a smaller error. False: none fits, or there is no bound on one side.
 */
bool bounds_solve(struct bounds *bounds, const int64_t span[2], struct bounds_line *ret_line);
