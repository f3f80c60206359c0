#pragma once
/*
 * What the kernel knows of a range of this process's memory. Any thread.
 */
#include <stdbool.h>
#include <stddef.h>

/*
 * Bring the pages in, as pinning or a page fault of the device would. 0;
 * EFAULT: some are not mapped, or not writable for @write; EINVAL: it wraps.
 */
int pages_bring_in(const void *addr, size_t length, bool write);

bool pages_are_mapped(const void *addr, size_t length);

/* Do huge pages of the kernel's pool (hugetlb) lie there, all along? */
bool pages_are_huge(const void *addr, size_t length);
