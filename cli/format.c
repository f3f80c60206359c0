/*
 * Numbers for a reader
 */
#include "cli/format.h"

#include "core/base/count.h"
#include "core/base/span.h"

const char *format_count(uint64_t n, char text[FORMAT_TEXT])
{
	return count_text(n, text);
}

const char *format_bytes(uint64_t n, char text[FORMAT_TEXT])
{
	static const char *const units[] = { "B", "kB", "MB", "GB", "TB" };

	return span_scaled((double)n, units, 5, text);
}

const char *format_time(int64_t ns, char text[FORMAT_TEXT])
{
	return span_text(ns, text);
}
