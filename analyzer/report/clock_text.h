#pragma once
/*
 * The clocks of several traces in sentences, one for all clocks that are alike. Not thread-safe.
 */
#include <stddef.h>

#include "core/store/read/trace_clock.h"

struct text;
struct trace;

enum { CLOCK_TEXT_MOST = 32 }; /* sentences */

/* @sentence may be extended by the callee. */
typedef void (*clock_text_print)(void *arg, struct text *sentence, enum clock_source source);

/*
 * Call @print with each sentence about the clocks of a joint or merged trace, except the first's:
 * "b.db: its clock is 10.00 s ahead and 50.0 +- 0.2 ppm fast, +- 12.3 us, from ...",
 * "b.db and 254 more traces: the same machine and clock, ...". After @max sentences, the last says
 * how many traces are left out. Returns 0 or -ENOMEM.
 */
int clock_text_visit(const struct trace *trace, size_t max, clock_text_print print, void *arg);
