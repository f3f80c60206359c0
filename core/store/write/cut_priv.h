#pragma once
/*
 * Internals of cuts: cut.c creates and applies them, cut_carry.c collects the carried events. Not
 * thread-safe.
 */
#include "core/store/write/writer_priv.h"

struct carried_chunk {
	uint32_t thread, events;
	uint64_t first_n, last_n;
	int64_t begin, end;
	size_t bytes;
	void *data;
};

struct cut {
	int64_t time;
	int64_t chunk, payload_chunk; /* ids of the last chunks before the cut */
	uint64_t bytes;               /* total size of the chunks since the previous cut */
	struct control_cut control;
	uint32_t *stacks; /* numbers of the stacks of the carried events */
	size_t nstacks;
	struct carried_chunk *chunks;
	size_t nchunks;
};

/* Pack the requests that are outstanding at @cut. 0 or -errno. */
int cut_carry(struct writer *writer, struct cut *cut);

void cut_fini(struct cut *cut);
