#pragma once
/*
 * The kernel's view of a range of this process's memory. Any thread.
 */
#include <stdbool.h>
#include <stddef.h>

/*
 * Fault the pages in, as pinning or a page fault of the device would. 0; EFAULT: a page is not
 * mapped, or with @write not writable; EINVAL: the range wraps around.
 */
int pages_populate(const void *addr, size_t length, bool write);

/* The same, but only for the first and the last page; the pages in between must only be mapped. */
int pages_populate_ends(const void *addr, size_t length, bool write);

bool pages_are_mapped(const void *addr, size_t length);

/* Are all pages of the range huge pages of the kernel's pool (hugetlb)? */
bool pages_are_huge(const void *addr, size_t length);
