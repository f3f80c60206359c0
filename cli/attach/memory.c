/*
 * Reads the memory of a process with process_vm_readv(), which does not stop it
 */
#include "cli/attach/memory.h"

#include <sys/uio.h>

size_t memory_read_process(const struct memory *memory, uint64_t at, void *to, size_t n)
{
	struct iovec mine = { to, n }, theirs = { (void *)(uintptr_t)at, n };
	ssize_t got = process_vm_readv(memory->pid, &mine, 1, &theirs, 1, 0);

	return got > 0 ? (size_t)got : 0;
}

const struct memory_range *memory_range_at(const struct memory *memory, uint64_t at)
{
	for (size_t i = 0; i < memory->nranges; i++)
		if (at >= memory->ranges[i].start && at < memory->ranges[i].end)
			return &memory->ranges[i];
	return NULL;
}
