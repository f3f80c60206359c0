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

/*
 * The same for a failure whose reason is in the message, such as a damaged file: @err is for the
 * caller only, since its text ("Invalid argument") would not help the user.
 */
int log_why(int err, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The same without an errno: for a failure, or for something that is missing in the results. */
void log_note(const char *format, ...) __attribute__((format(printf, 1, 2)));

/*
 * For messages that affect neither results nor the exit status: printed unless the level is
 * LOG_QUIET.
 */
void log_info(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* For messages about what the command does: printed only at LOG_VERBOSE. */
void log_detail(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The log level of the process; LOG_NORMAL at first. Set it before the first thread is started. */
enum log_level { LOG_NORMAL, LOG_QUIET, LOG_VERBOSE };
void log_set_level(enum log_level level);
enum log_level log_level(void);

/* Switch log_err() off and on in this thread, for failures that were reported already. */
void log_silence(bool silent);
