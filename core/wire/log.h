#pragma once
/*
 * One line to stderr for a failure: what was being done, on what, and why not.
 *
 * For the command and its libraries, never for the traced program. Any thread.
 */
#include <stdbool.h>

/*
 * Print "verbatim: FORMAT: STRERROR" for -errno @err (no reason where @err is
 * 0) and return @err, so that who meets a failure says so and returns it. One
 * line, whatever is in the strings: printable.h.
 */
int log_err(int err, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The same without an error: something the user should know. */
void log_note(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* From now on this thread's failures are said, or not: they have been already. */
void log_silence(bool silent);
