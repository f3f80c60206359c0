#pragma once
/*
 * Are the numbers of what is outstanding all different? For programs that keep them
 * apart: one that has never been seen to do so is not followed any more.
 *
 * One thread.
 */
#include <stdbool.h>
#include <stdint.h>

struct unique_cell;

/* Empty when zeroed. */
struct unique {
	struct unique_cell *cells;
	uint32_t size, used; /* size is 0 or a power of two */
	bool off;            /* not followed any more */
	uint64_t clean;      /* numbers that came and went with no other like them */
};

/* What unique_add() found. */
enum unique_found {
	UNIQUE_NEW,
	UNIQUE_TWICE, /* it is there, after a long time in which none was there twice */
	UNIQUE_OFF,   /* not followed */
};

/* @room: how many numbers there may be at once. */
enum unique_found unique_add(struct unique *unique, uint64_t number, uint32_t room);

/* Does nothing where it is not there. */
void unique_remove(struct unique *unique, uint64_t number);

/* Remove all; what was learnt remains. */
void unique_clear(struct unique *unique);

void unique_fini(struct unique *unique);
