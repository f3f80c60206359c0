#pragma once
/*
 * Opening a file with an untrusted name: it may also be a device or a FIFO. Any thread.
 */
#include <stdint.h>

/* Limit for programs: larger than any program with its debug information. */
#define REGULAR_BINARY (4ull << 30)

/*
 * Open @path for reading if it is a regular file of no more than @most bytes. Anything else is not
 * opened, since that may block or have an effect (a FIFO, a device). Returns a descriptor with
 * *@ret_size; or -errno: -EINVAL for a file that is not regular or belongs to the kernel (/proc,
 * /sys), -EFBIG for a larger file.
 */
int regular_open(const char *path, uint64_t most, uint64_t *ret_size);
