#pragma once
/*
 * Does @text begin with @prefix? It does not call libc, since a sanitizer that is not ready yet may
 * interpose the function.
 */
#include <stdbool.h>

static inline bool has_prefix(const char *text, const char *prefix)
{
	while (*prefix && *text == *prefix)
		text++, prefix++;
	return !*prefix;
}
