#pragma once
/*
 * A program that overwrites its own session while the recorder reads it.
 *
 * Any process.
 */
#include <stdint.h>

#include "tests/fuzz/dice.h"

enum { LIVE_FILES = 8 };

struct live {
	uint64_t seed;
	/* private */
	struct dice dice;
	int files;
	struct {
		uint64_t inode;
		uint8_t *bytes;
		size_t size;
	} map[LIVE_FILES];
	unsigned int turn;
};

/* The sessions are those of VERBATIM_SESSIONS. */
void live_open(struct live *live);

/* Overwrite a few more words; for struct trial. Returns 0. */
int live_spoil(void *live);

/* Accepts a session that was never opened. */
void live_close(struct live *live);
