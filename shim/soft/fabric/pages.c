/*
 * Pages: whether they are mapped, writable and huge
 */
#include "shim/soft/fabric/pages.h"

#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ  22
#define MADV_POPULATE_WRITE 23
#endif

struct range {
	uintptr_t from, to; /* bounds of whole pages */
};

static struct range range_of(const void *addr, size_t length)
{
	uintptr_t mask = sysconf(_SC_PAGESIZE) - 1;

	return (struct range){ (uintptr_t)addr & ~mask, ((uintptr_t)addr + length + mask) & ~mask };
}

/*
 * Does the kernel know MADV_POPULATE_*? Before 5.14 it returns EINVAL, as for a forbidden access.
 */
static bool can_populate(void)
{
	static const char here;
	struct range r = range_of(&here, 1);

	return madvise((void *)r.from, r.to - r.from, MADV_POPULATE_READ) == 0;
}

bool pages_are_mapped(const void *addr, size_t length)
{
	struct range r = range_of(addr, length);

	return msync((void *)r.from, r.to - r.from, MS_ASYNC) == 0;
}

int pages_populate(const void *addr, size_t length, bool write)
{
	struct range r = range_of(addr, length);

	if (length && r.to <= r.from)
		return EINVAL;
	if (!length || madvise((void *)r.from, r.to - r.from,
			       write ? MADV_POPULATE_WRITE : MADV_POPULATE_READ) == 0)
		return 0;
	/* the kernel cannot populate: only check that the range is mapped */
	if (errno == EINVAL && !can_populate() && pages_are_mapped(addr, length))
		return 0;
	return EFAULT;
}

int pages_populate_ends(const void *addr, size_t length, bool write)
{
	const char *last = (const char *)addr + length - 1;
	int err = pages_populate(addr, length ? 1 : 0, write);

	if (!err && length && last < (const char *)addr)
		err = EINVAL;
	if (!err && length)
		err = pages_populate(last, 1, write);
	if (!err && length && !pages_are_mapped(addr, length))
		err = EFAULT;
	return err;
}

/* Read the next area of smaps, and its page size; false at the end of the file. */
static bool next_area(FILE *smaps, struct range *area, size_t *page)
{
	char line[256];
	bool found = false;

	while (fgets(line, sizeof(line), smaps)) {
		if (sscanf(line, "%lx-%lx ", &area->from, &area->to) == 2)
			found = true;
		if (found && sscanf(line, "KernelPageSize: %zu", page) == 1)
			return true;
	}
	return false;
}

bool pages_are_huge(const void *addr, size_t length)
{
	uintptr_t at = (uintptr_t)addr, end = at + length;
	FILE *smaps = fopen("/proc/self/smaps", "re");
	size_t page, kib = sysconf(_SC_PAGESIZE) >> 10;
	struct range area;

	if (!smaps)
		return true; /* without /proc, assume that they are huge */
	/* areas are sorted, and do not overlap */
	while (at < end && next_area(smaps, &area, &page))
		if (area.from <= at && at < area.to && page > kib)
			at = area.to;
	fclose(smaps);
	return at >= end;
}
