#pragma once
/*
 * The clocks of several traces, in one sentence each. Not thread-safe.
 */
#include <stddef.h>

struct text;
struct trace;

/*
 * Add the clock of the @i-th trace of a joint or merged one:
 * "b.db: its clock is 10.00 s ahead and 50.0 +- 0.2 ppm fast, +- 12.3 us, from ..."
 */
void clock_text_add(struct text *text, const struct trace *trace, size_t i);
