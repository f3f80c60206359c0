#pragma once
/*
 * A JUnit report: test cases, and their totals above them. Not thread-safe.
 */
#include <stdio.h>

#include "core/base/text.h"

struct junit {
	FILE *cases; /* private: the test cases written so far */
	char *text;
	size_t size;
	unsigned int tests, failures, skipped;
	double seconds;
};

/*
 * The result of a test case; NULL members do not apply. Foreign text is shown in one line; @details
 * and @output have lines, each added by the caller with junit_line().
 */
struct junit_outcome {
	const char *failure; /* described by @type and @details */
	const char *type;    /* "error" */
	const char *details;
	const char *skipped; /* why it was not executed */
	const char *output;  /* additional output */
	double seconds;      /* duration; 0: not known */
};

/* Add @line, which may be foreign text, and an end of line. */
void junit_line(struct text *text, const char *line);

/* Returns 0 or -ENOMEM. */
int junit_begin(struct junit *junit);

/* A test case @name of the class verbatim.@family. */
void junit_case(struct junit *junit, const char *family, const char *name,
		const struct junit_outcome *outcome);

/* Write everything to @out: a suite @name with @properties, pairs of texts up to a NULL. */
int junit_end(struct junit *junit, const char *name, const char *const *properties, FILE *out);
