#pragma once
/*
 * A line between bounds from below and from above.
 *
 * 	value  v v   v   v     at most
 * 	       ---------------	the line: offset + drift * time
 * 	        ^  ^  ^    ^   at least
 *
 * Only bounds that a line could touch are stored: the corners of the convex hull. So a line that
 * fits these also satisfies all bounds that were dropped. Not thread-safe.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct bound {
	int64_t value, time;
};

/* The bounds on one side. */
struct bounds_side {
	struct bound *at; /* the first @corners are a hull, the others were added later */
	size_t n, size, corners;
};

/* Empty when zeroed. */
struct bounds {
	struct bounds_side least, most;
};

struct bounds_line {
	double offset, drift;
	double error; /* its largest error between two times */
	double drift_error;
};

void bounds_fini(struct bounds *bounds);

/*
 * At @time the line is at least @value; at most. If out of memory, the bound is dropped: the range
 * of lines is larger then.
 */
void bounds_add_least(struct bounds *bounds, int64_t value, int64_t time);
void bounds_add_most(struct bounds *bounds, int64_t value, int64_t time);

/* Add all bounds of @from. */
void bounds_add(struct bounds *bounds, const struct bounds *from);

/*
 * The line through the middle of all possible values at @span[0] and at @span[1], with its largest
 * error between these times: no line has a smaller one. False: no line fits, or a side has no
 * bound.
 */
bool bounds_solve(struct bounds *bounds, const int64_t span[2], struct bounds_line *ret_line);
