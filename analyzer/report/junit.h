#pragma once
/*
 * A JUnit report: test cases, and their sum above them. One thread.
 */
#include <stdio.h>

#include "core/base/text.h"

struct junit {
	FILE *cases; /* private: what was written so far */
	char *text;
	size_t size;
	unsigned int tests, failures, skipped;
	double seconds;
};

/*
 * How a test case ended; NULL: not so. Anybody's text is shown in one line; @details and @output
 * have lines, which must be the caller's (junit_line()).
 */
struct junit_outcome {
	const char *failure; /* @type and @details go with it */
	const char *type;    /* "error" */
	const char *details;
	const char *skipped; /* why it was not tried */
	const char *output;  /* something else to tell */
	double seconds;      /* that it took; 0: not known */
};

/* Add @line, which may be anybody's, and an end of line. */
void junit_line(struct text *text, const char *line);

/* Returns 0 or -ENOMEM. */
int junit_begin(struct junit *junit);

/* A test case @name of the class verbatim.@family. */
void junit_case(struct junit *junit, const char *family, const char *name,
		const struct junit_outcome *outcome);

/* Write all to @out: a suite @name of them with @properties, pairs of texts up to a NULL. */
int junit_end(struct junit *junit, const char *name, const char *const *properties, FILE *out);
