#pragma once
/*
 * Opening a file whose name somebody else gave: it may be anything. Any thread.
 */
#include <stdint.h>

/* More than any program with its debug information has. */
#define REGULAR_BINARY (4ull << 30)

/*
 * Open @path for reading if it is a regular file of no more than @most bytes.
 * Anything else is neither opened, which may block or have an effect (a FIFO, a
 * device), nor read. Returns a descriptor with *@ret_size; or -errno: -EINVAL for
 * what is not a regular file or belongs to the kernel (/proc, /sys), -EFBIG for a
 * larger one.
 */
int regular_open(const char *path, uint64_t most, uint64_t *ret_size);
