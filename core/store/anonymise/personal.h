#pragma once
/*
 * A summary of what identifies the owner of a trace, for people. The complete list is identity.h.
 *
 * For one trace, not a joint one. Not thread-safe.
 */
#include <stddef.h>
#include <stdint.h>

struct trace;

struct personal {
	const char *what; /* "names of devices" */
	uint64_t count;   /* not 0 */
	/* @bytes bytes, borrowed until the callback returns; NULL: no example */
	const char *example;
	size_t bytes;
};

/* Call @each for each kind that the trace has. */
void personal_each(struct trace *trace, void (*each)(void *arg, const struct personal *personal),
		   void *arg);
