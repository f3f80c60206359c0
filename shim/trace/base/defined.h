#pragma once
/*
 * Under valgrind's Memcheck: marking what providers write as defined.
 *
 * Memcheck cannot see what a device or the kernel writes. libibverbs informs Memcheck, but only if
 * it was built with valgrind's headers (README.md of rdma-core). Distributions build it without
 * them: then Memcheck reports each use of a completion, an attribute or received data. The recorder
 * sees this data when the verb returns, and informs Memcheck.
 *
 * Built without valgrind's headers, or not under Memcheck, these functions do nothing. Any thread.
 */
#include <stdbool.h>
#include <stddef.h>

extern bool defined_on __attribute__((visibility("hidden")));

/* The recording of this process begins. */
void defined_begin(void);

/* A provider has written these bytes. It has the type of codec_out.reads. */
void defined_mark(const void *at, size_t bytes);

/* The same; without Memcheck it costs no call. */
static inline void defined_bytes(const void *at, size_t bytes)
{
	if (__builtin_expect(defined_on, 0))
		defined_mark(at, bytes);
}
