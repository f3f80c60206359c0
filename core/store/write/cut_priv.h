#pragma once
/*
 * The insides of cuts: cut.c makes and applies them, cut_carry.c has what they carry. One thread.
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
	int64_t chunk, payload_chunk; /* ids of the last ones before it */
	uint64_t bytes;               /* of these, since the cut before */
	struct control_cut control;
	uint32_t *stacks; /* of what is carried */
	size_t nstacks;
	struct carried_chunk *chunks;
	size_t nchunks;
};

/* Pack what is outstanding at @cut. 0 or -errno. */
int cut_carry(struct writer *writer, struct cut *cut);

void cut_fini(struct cut *cut);
