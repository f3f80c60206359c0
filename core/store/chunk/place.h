#pragma once
/*
 * A chunk in another trace: its times and stacks have other numbers there, all else stays.
 *
 * One thread.
 */
#include "core/store/chunk/batch.h"
#include "core/store/chunk/block.h"

/* Empty when zeroed; the chunk that was placed last is packer.bytes, packer.used of them. */
struct placer {
	struct block block;
	struct column column;
	struct packer packer;
	int64_t begin, end; /* its first and last time, as they are now */
};

/*
 * Place the chunk of @n @bytes: @time says what becomes of a time, must not turn two of them round,
 * and gets @arg; @stacks is what is added to the number of a stack. 0, -EBADMSG: it is damaged; or
 * -ENOMEM.
 */
int placer_place(struct placer *placer, const void *bytes, size_t n,
		 int64_t (*time)(const void *arg, int64_t time), const void *arg, uint32_t stacks);

void placer_fini(struct placer *placer);
