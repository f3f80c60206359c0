#pragma once
/*
 * One line to stderr for a failure: what was being done, on what, and why not.
 *
 * For the command and its libraries, never for the traced program. Any thread.
 */
#include <stdbool.h>

/*
 * Print "verbatim: FORMAT: STRERROR" for -errno @err (no reason where @err is
 * 0) and return @err, so that the function that meets a failure can report and
 * return it in one statement. One line, whatever the strings contain
 * (core/base/printable.h).
 */
int log_err(int err, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The same without an error: something the user should know. */
void log_note(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Switch log_err() off and on in this thread, for failures that were reported already. */
void log_silence(bool silent);
