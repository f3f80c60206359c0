#pragma once
/*
 * Support for valgrind's memcheck, which tracks defined bytes but cannot see that peers, and the
 * kernel for them, write to shared memory.
 *
 * Under memcheck, no other process writes to this one's memory: peers put all bytes into its
 * segment, and it copies them itself (stage.c), so that memcheck sees every store. Only shared
 * memory has to be marked as defined, before it is read.
 *
 * Built without valgrind's headers, these functions do nothing.
 */
#include <stdbool.h>
#include <stddef.h>

#if __has_include(<valgrind/memcheck.h>)
#include <valgrind/memcheck.h>
#else
#define VALGRIND_MAKE_MEM_DEFINED(at, len)   ((void)(at), (void)(len), 0)
#define VALGRIND_MAKE_MEM_UNDEFINED(at, len) ((void)(at), (void)(len), 0)
#define RUNNING_ON_VALGRIND                  0
#endif

/* Is this process under memcheck? Set before the first segment is mapped. */
extern bool memcheck_watches;

/*
 * For tests, by VERBATIM_SOFT_MEMCHECK=unseen: memcheck cannot see the writes of the device, as
 * with hardware and libraries that were built without valgrind's headers.
 */
extern bool memcheck_unseen;

/* Is the tool memcheck? Other tools of valgrind do not answer this request. */
static inline bool memcheck_asked(void)
{
	char here = 0;

	return VALGRIND_MAKE_MEM_DEFINED(&here, sizeof(here)) != 0;
}

/* Is this process under any tool of valgrind? */
static inline bool memcheck_valgrind(void)
{
	return RUNNING_ON_VALGRIND != 0;
}

/*
 * The device has written these bytes for the program: with memcheck_unseen, mark them as undefined.
 */
static inline void memcheck_hide(const void *at, size_t len)
{
	if (__builtin_expect(memcheck_unseen, 0))
		(void)VALGRIND_MAKE_MEM_UNDEFINED(at, len);
}

/* Mark bytes that peers may have written as defined. */
static inline void memcheck_mark_defined(const void *at, size_t len)
{
	if (__builtin_expect(memcheck_watches, 0))
		(void)VALGRIND_MAKE_MEM_DEFINED(at, len);
}
