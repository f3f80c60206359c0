/*
 * Numbers for a reader
 */
#include "cli/format.h"

#include <stdio.h>
#include <string.h>

#include "core/base/count.h"

const char *format_count(uint64_t n, char text[FORMAT_TEXT])
{
	return count_text(n, text);
}

/* Three figures and a unit: @units are 1000 apart. */
static const char *format_scaled(double value, const char *const *units, unsigned int nunits,
				 char text[FORMAT_TEXT])
{
	unsigned int unit = 0;

	for (; value >= 999.5 && unit + 1 < nunits; unit++)
		value /= 1000;
	snprintf(text, FORMAT_TEXT, "%.*f %s",
		 !unit || value >= 99.95 ? 0
		 : value >= 9.995        ? 1
					 : 2,
		 value, units[unit]);
	return text;
}

const char *format_bytes(uint64_t n, char text[FORMAT_TEXT])
{
	static const char *const units[] = { "B", "kB", "MB", "GB", "TB" };

	return format_scaled((double)n, units, 5, text);
}

const char *format_time(int64_t ns, char text[FORMAT_TEXT])
{
	static const char *const units[] = { "ns", "us", "ms", "s" };

	if (ns < 0)
		return strcpy(text, "-");
	return format_scaled((double)ns, units, 4, text);
}
