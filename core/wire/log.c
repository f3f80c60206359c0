/*
 * One line to stderr for a failure
 *
 * A line is written by one write(), so that lines of several processes do not
 * mix.
 */
#include "core/wire/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static _Thread_local bool silenced;

void log_silence(bool silent)
{
	silenced = silent;
}

static void print(int err, const char *format, va_list args)
{
	char text[1024];
	size_t room = sizeof(text) - 1; /* one byte for the line's end */
	size_t used = (size_t)snprintf(text, room, "verbatim: ");
	int n = vsnprintf(text + used, room - used, format, args);

	used += n > 0 ? (size_t)n : 0;
	if (used < room && err)
		used += (size_t)snprintf(text + used, room - used, ": %s", strerror(-err));
	if (used > room - 1)
		used = room - 1;
	text[used++] = '\n';
	if (write(STDERR_FILENO, text, used) < 0)
		return; /* nowhere left to say it */
}

int log_err(int err, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	if (!silenced)
		print(err, format, args);
	va_end(args);
	return err;
}

void log_note(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	print(0, format, args);
	va_end(args);
}
