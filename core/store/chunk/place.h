#pragma once
/*
 * Copies a chunk to another trace: times and numbers of stacks are changed, everything else stays.
 *
 * Not thread-safe.
 */
#include "core/store/chunk/batch.h"
#include "core/store/chunk/block.h"

/* All zero: empty; the last chunk is in packer.bytes and has packer.used bytes. */
struct placer {
	struct block block;
	struct column column;
	struct packer packer;
	int64_t begin, end; /* first and last time in the chunk, after the change */
};

/*
 * Convert the chunk of @n @bytes: @time converts a time, must be monotonic, and gets @arg; @stacks
 * is added to the number of a stack. 0, -EBADMSG: it is damaged; or -ENOMEM.
 */
int placer_place(struct placer *placer, const void *bytes, size_t n,
		 int64_t (*time)(const void *arg, int64_t time), const void *arg, uint32_t stacks);

void placer_fini(struct placer *placer);
