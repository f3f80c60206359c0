#pragma once
/*
 * Does @text begin with @prefix? Does not call libc: a sanitizer may interpose
 * it that is not ready yet.
 */
#include <stdbool.h>

static inline bool has_prefix(const char *text, const char *prefix)
{
	while (*prefix && *text == *prefix)
		text++, prefix++;
	return !*prefix;
}
