#pragma once
/*
 * One line to stderr for a failure: the operation, its object, and the reason.
 *
 * For the command and its libraries, never for the traced program. Any thread.
 */
#include <stdbool.h>

/*
 * Print "verbatim: FORMAT: STRERROR" for -errno @err (no reason if @err is 0) and return @err, so
 * that a function can report and return a failure in one statement. One line, whatever the strings
 * contain (core/base/printable.h).
 */
int log_err(int err, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The same without an error: information for the user. */
void log_note(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Switch log_err() off and on in this thread, for failures that were reported already. */
void log_silence(bool silent);
