#pragma once
/*
 * Reports of sanitizers in what a program has written to stderr. Any thread.
 */
#include <stdbool.h>
#include <stddef.h>

struct sanitizer_report {
	char says[300]; /* "SUMMARY: AddressSanitizer: heap-use-after-free app.c:58 in reap" */
	bool leak;      /* a leak: the report also says where the memory was allocated */
};

/* The next report in *@text, which is moved past the report; false: there is no other. */
bool sanitizer_next(const char **text, struct sanitizer_report *ret_report);
