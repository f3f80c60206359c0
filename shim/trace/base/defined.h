#pragma once
/*
 * Under valgrind's Memcheck: what providers write is defined.
 *
 * Memcheck cannot see what a device or the kernel writes. libibverbs tells it, but only if it was
 * built with valgrind's headers (README.md of rdma-core), and distributions build it without: then
 * each use of a completion, an attribute or received data is reported. The recorder sees each of
 * these at the moment when the verb returns, and tells Memcheck.
 *
 * Built without valgrind's headers, and under no Memcheck, these do nothing. Any thread.
 */
#include <stdbool.h>
#include <stddef.h>

extern bool defined_on __attribute__((visibility("hidden")));

/* A process is recorded from now on. */
void defined_begin(void);

/* A provider has written the bytes. As struct codec_out has it. */
void defined_mark(const void *at, size_t bytes);

/* The same, without a call if it is not needed. */
static inline void defined_bytes(const void *at, size_t bytes)
{
	if (__builtin_expect(defined_on, 0))
		defined_mark(at, bytes);
}
