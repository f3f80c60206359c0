#pragma once
/*
 * Addresses of functions in files that a process has mapped. Files are foreign. Not thread-safe.
 */
#include <stdint.h>
#include <sys/types.h>

/* Functions that a file exports, and one place in its code. */
struct exported_function {
	const char *name;
	uint64_t value; /* relative to where the file is mapped; 0: not exported */
};

/*
 * Look up @n functions in the ELF file @fd of this machine. @ret_restorer: gets the address of the
 * code that returns from a signal handler; or NULL. 0 or -errno; -ENOEXEC: it is not such a file.
 */
int exported_find(int fd, struct exported_function *wanted, size_t n, uint64_t *ret_restorer);
