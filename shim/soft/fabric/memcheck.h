#pragma once
/*
 * What memcheck, valgrind's tool that knows which bytes have a value, cannot
 * see by itself: that peers write to shared memory, and the kernel for them.
 *
 * Where it watches, nobody else writes to this process's memory: peers leave
 * all bytes in its segment, and it copies them itself (stage.c), so that each
 * store has its place and its errors. Then only what lies in shared memory has
 * to be called defined, before it is read.
 *
 * Built without valgrind's headers, these do nothing.
 */
#include <stdbool.h>
#include <stddef.h>

#if __has_include(<valgrind/memcheck.h>)
#include <valgrind/memcheck.h>
#else
#define VALGRIND_MAKE_MEM_DEFINED(at, len) ((void)(at), (void)(len), 0)
#endif

/* Does it watch this process? Set before the first segment is mapped. */
extern bool memcheck_watches;

/* Other tools of valgrind do not answer. */
static inline bool memcheck_asked(void)
{
	char here = 0;

	return VALGRIND_MAKE_MEM_DEFINED(&here, sizeof(here)) != 0;
}

/* Whatever peers have put there, its bytes have a value. */
static inline void memcheck_defined(const void *at, size_t len)
{
	if (__builtin_expect(memcheck_watches, 0))
		(void)VALGRIND_MAKE_MEM_DEFINED(at, len);
}
