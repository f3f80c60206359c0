#pragma once
/*
 * Copies a chunk to another trace: only times and numbers of stacks are changed.
 *
 * Not thread-safe.
 */
#include "core/store/chunk/batch.h"
#include "core/store/chunk/block.h"

/* All zero: empty. The last chunk is the first packer.used bytes of packer.bytes. */
struct placer {
	struct block block;
	struct column column;
	struct packer packer;
	int64_t begin, end; /* first and last time in the chunk, after the change */
};

/*
 * Convert the chunk @bytes of @n bytes. @time converts a time, gets @arg, and must be monotonic;
 * @stacks is added to each number of a stack. 0, -EBADMSG: it is damaged; or -ENOMEM.
 */
int placer_place(struct placer *placer, const void *bytes, size_t n,
		 int64_t (*time)(const void *arg, int64_t time), const void *arg, uint32_t stacks);

void placer_fini(struct placer *placer);
