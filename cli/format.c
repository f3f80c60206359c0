/*
 * Numbers for a reader
 */
#include "cli/format.h"

#include <stdbool.h>
#include <stdio.h>

#include "core/base/count.h"
#include "core/base/span.h"

const char *format_count(uint64_t n, char text[FORMAT_TEXT])
{
	return count_text(n, text);
}

/* "64 KiB": only if @n is a whole number of the largest unit, as limits and sizes are. */
static bool format_whole(uint64_t n, const char *const *units, unsigned int nunits,
			 char text[FORMAT_TEXT])
{
	unsigned int unit = 0;

	while (n && !(n % 1024) && unit + 1 < nunits) {
		n /= 1024;
		unit++;
	}
	if (n >= 1024)
		return false;
	snprintf(text, FORMAT_TEXT, "%u %s", (unsigned int)n, units[unit]);
	return true;
}

const char *format_bytes(uint64_t n, char text[FORMAT_TEXT])
{
	static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB" };

	return format_whole(n, units, 5, text) ? text
					       : span_scaled((double)n, 1024, units, 5, text);
}

const char *format_time(int64_t ns, char text[FORMAT_TEXT])
{
	return span_text(ns, text);
}
