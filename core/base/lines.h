#pragma once
/*
 * Memory in separate cache lines, so that writes of one thread do not evict a line that another
 * thread reads.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { CACHE_LINE = 64 };

/* Zeroed memory in cache lines of its own, for free(); or NULL. */
static inline void *lines_alloc(size_t n, size_t size)
{
	size_t bytes = size && n > (SIZE_MAX - CACHE_LINE) / size ? 0 : n * size;
	void *at = bytes ? aligned_alloc(CACHE_LINE, (bytes + CACHE_LINE - 1) & -CACHE_LINE) : NULL;

	return at ? memset(at, 0, bytes) : NULL;
}
