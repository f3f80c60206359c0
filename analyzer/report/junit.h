#pragma once
/*
 * A JUnit report: test cases, and their sum above them. One thread.
 */
#include <stdio.h>

struct junit {
	FILE *cases; /* private: what was written so far */
	char *text;
	size_t size;
	unsigned int tests, failures, skipped;
};

/* How a test case ended; NULL: not so. A text may be anybody's, and have several lines. */
struct junit_outcome {
	const char *failure; /* in one line; @type and @details go with it */
	const char *type;    /* "error" */
	const char *details;
	const char *skipped; /* why it was not tried */
	const char *output;  /* something else to tell */
};

/* Returns 0 or -ENOMEM. */
int junit_begin(struct junit *junit);

/* A test case @name of the class verbatim.@family. */
void junit_case(struct junit *junit, const char *family, const char *name,
		const struct junit_outcome *outcome);

/* Write all to @out: a suite @name of them with @properties, pairs of texts up to a NULL. */
int junit_end(struct junit *junit, const char *name, const char *const *properties, FILE *out);
