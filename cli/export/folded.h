#pragma once
/*
 * Call stacks of verbs in folded form, the input of flame graph tools. One thread.
 */
#include <stdint.h>

struct text;
struct profile;
struct report;

enum folded_value { FOLDED_REQUESTS, FOLDED_TIME, FOLDED_CALLS, FOLDED_BYTES };

/*
 * Append a line for each stack of @profile whose @value is not 0; @report has the names. Each
 * begins with the name of @process, unless that is 0. Returns 0 or -ENOMEM after log_err().
 */
int folded_write(struct text *out, const struct report *report, const struct profile *profile,
		 enum folded_value value, uint32_t process);
