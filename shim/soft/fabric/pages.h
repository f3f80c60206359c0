#pragma once
/*
 * The kernel's view of a range of this process's memory. Any thread.
 */
#include <stdbool.h>
#include <stddef.h>

/*
 * Fault the pages in, as pinning or a page fault of the device would. 0; EFAULT: some are not
 * mapped, or not writable for @write; EINVAL: it wraps.
 */
int pages_bring_in(const void *addr, size_t length, bool write);

/* The same for the first and the last page; those between must only be mapped. */
int pages_bring_in_ends(const void *addr, size_t length, bool write);

bool pages_are_mapped(const void *addr, size_t length);

/* Is the whole range in huge pages of the kernel's pool (hugetlb)? */
bool pages_are_huge(const void *addr, size_t length);
