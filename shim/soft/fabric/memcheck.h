#pragma once
/*
 * What valgrind's memcheck, which tracks defined bytes, cannot see by itself: that peers, and the
 * kernel for them, write to shared memory.
 *
 * Under memcheck, no other process writes to this one's memory: peers leave all bytes in its
 * segment, and it copies them itself (stage.c), so every store is checked where it happens. Then
 * only shared memory has to be marked as defined, before it is read.
 *
 * Built without valgrind's headers, these do nothing.
 */
#include <stdbool.h>
#include <stddef.h>

#if __has_include(<valgrind/memcheck.h>)
#include <valgrind/memcheck.h>
#else
#define VALGRIND_MAKE_MEM_DEFINED(at, len) ((void)(at), (void)(len), 0)
#define RUNNING_ON_VALGRIND                0
#endif

/* Does it watch this process? Set before the first segment is mapped. */
extern bool memcheck_watches;

/* Other tools of valgrind do not answer this request. */
static inline bool memcheck_asked(void)
{
	char here = 0;

	return VALGRIND_MAKE_MEM_DEFINED(&here, sizeof(here)) != 0;
}

/* Does any tool of valgrind watch this process? */
static inline bool memcheck_valgrind(void)
{
	return RUNNING_ON_VALGRIND != 0;
}

/* Mark as defined what peers may have written. */
static inline void memcheck_defined(const void *at, size_t len)
{
	if (__builtin_expect(memcheck_watches, 0))
		(void)VALGRIND_MAKE_MEM_DEFINED(at, len);
}
