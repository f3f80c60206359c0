/*
 * One line to stderr for a failure
 *
 * A line is written by one write(), so that lines of several processes do not mix. It may contain
 * foreign text, such as names of files: the whole line is made printable.
 */
#include "core/wire/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/base/printable.h"

static _Thread_local bool silenced;
static enum log_level level;

void log_set_level(enum log_level new_level)
{
	level = new_level;
}

enum log_level log_level(void)
{
	return level;
}

void log_silence(bool silent)
{
	silenced = silent;
}

static void print_line(int err, const char *format, va_list args)
{
	char text[1024], line[PRINTABLE_GROWS * sizeof(text) + 1];
	size_t used = (size_t)snprintf(text, sizeof(text), "verbatim: ");
	int n = vsnprintf(text + used, sizeof(text) - used, format, args);

	used += n > 0 ? (size_t)n : 0;
	if (used < sizeof(text) && err)
		snprintf(text + used, sizeof(text) - used, ": %s", strerror(-err));
	used = printable_text(line, sizeof(line) - 1, text, strlen(text));
	line[used++] = '\n';
	if (write(STDERR_FILENO, line, used) < 0)
		return; /* a failure to write to stderr cannot be reported */
}

int log_err(int err, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	if (!silenced)
		print_line(err, format, args);
	va_end(args);
	return err;
}

int log_why(int err, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	if (!silenced)
		print_line(0, format, args);
	va_end(args);
	return err;
}

void log_note(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	print_line(0, format, args);
	va_end(args);
}

void log_info(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	if (level != LOG_QUIET)
		print_line(0, format, args);
	va_end(args);
}

void log_detail(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	if (level == LOG_VERBOSE)
		print_line(0, format, args);
	va_end(args);
}
