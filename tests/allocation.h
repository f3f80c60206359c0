#pragma once
/*
 * Allocations of the code under test that fail
 *
 * The test's program is linked with --wrap for these functions (Makefile). Only what is linked into
 * the program is meant, not what libraries allocate. One thread.
 */
#include <stdbool.h>
#include <stdlib.h>

static long allocation_count;      /* since allocation_begin() */
static long allocation_fails = -1; /* the one that fails, from 0; -1: none */

/* The allocations that come are counted from 0, and number @fails has no memory. */
static inline void allocation_begin(long fails)
{
	allocation_count = 0;
	allocation_fails = fails;
}

/* All allocations have memory again. Was there one that had none? */
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
