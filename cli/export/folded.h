#pragma once
/*
 * Call stacks of verbs in folded form, the input of flame graph tools. Not thread-safe.
 */
#include <stddef.h>

struct profile;
struct profile_select;
struct symbols;
struct text;
struct trace;

enum folded_value { FOLDED_REQUESTS, FOLDED_TIME, FOLDED_CALLS, FOLDED_BYTES };

/*
 * Append to outs[i] a line for each stack whose values[i] is not 0, for @n values, of the calls in
 * @select. If the trace has several processes, each stack begins with the name of its process.
 * Returns 0 or -errno after log_err().
 */
int folded_trace(struct trace *trace, const struct profile_select *select,
		 const enum folded_value *values, size_t n, struct text *outs);

/*
 * Fold the stacks of a profile with places by process (struct profile_select), as folded_trace()
 * does.
 */
int folded_profile(struct trace *trace, struct symbols *symbols, const struct profile *profile,
		   const enum folded_value *values, size_t n, struct text *outs);
