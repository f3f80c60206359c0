#pragma once
/*
 * Allocations of the code under test that fail
 *
 * The test's program is linked with --wrap for these functions (Makefile). Allocations of shared
 * libraries do not fail. Not thread-safe.
 */
#include <stdbool.h>
#include <stdlib.h>

static long allocation_count;      /* since allocation_begin() */
static long allocation_fails = -1; /* index of the failing allocation, from 0; -1: none */

/* Start counting allocations from 0; number @fails fails. */
static inline void allocation_begin(long fails)
{
	allocation_count = 0;
	allocation_fails = fails;
}

/* Let all allocations succeed again. Returns whether one failed. */
static inline bool allocation_end(void)
{
	bool failed = allocation_fails >= 0 && allocation_count > allocation_fails;

	allocation_begin(-1);
	return failed;
}

static inline bool allocation_is_refused(void)
{
	return allocation_count++ == allocation_fails;
}

void *__real_malloc(size_t size);
void *__real_calloc(size_t n, size_t size);
void *__real_realloc(void *block, size_t size);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t n, size_t size);
void *__wrap_realloc(void *block, size_t size);

void *__wrap_malloc(size_t size)
{
	return allocation_is_refused() ? NULL : __real_malloc(size);
}

void *__wrap_calloc(size_t n, size_t size)
{
	return allocation_is_refused() ? NULL : __real_calloc(n, size);
}

void *__wrap_realloc(void *block, size_t size)
{
	return allocation_is_refused() ? NULL : __real_realloc(block, size);
}
