#pragma once
/*
 * Are the wr_ids of all outstanding requests different? Only for programs that normally keep them
 * unique: others are not followed any more, from their second duplicate on.
 *
 * Not thread-safe.
 */
#include <stdbool.h>
#include <stdint.h>

struct unique_cell;

enum { UNIQUE_KINDS = 8 /* a new kind replaces an older one */ };

/* Empty when zeroed. */
struct unique {
	struct unique_cell *cells;
	uint32_t size, used; /* size is 0 or a power of two */
	bool off;            /* not followed any more */
	bool once;           /* there was a duplicate, before it was clear that none is usual */
	struct {
		uint64_t kind, last;
		uint64_t clean; /* numbers that differed from the last one of this kind */
	} kinds[UNIQUE_KINDS];
};

/* What unique_add() found. */
enum unique_found {
	UNIQUE_NEW,
	UNIQUE_TWICE, /* it is a duplicate, after a long time without any */
	UNIQUE_ONCE,  /* it is the first duplicate, earlier than that; the next ends the check */
	UNIQUE_OFF,   /* not followed */
};

/*
 * Add a @number.
 *
 * @kind: requests of one kind have the same number in programs whose numbers stand for kinds.
 * @room: largest number of entries at a time.
 */
enum unique_found unique_add(struct unique *unique, uint64_t number, uint64_t kind, uint32_t room);

/* Does nothing if it is not in the set. */
void unique_remove(struct unique *unique, uint64_t number);

/* Remove all; the learned state remains. */
void unique_clear(struct unique *unique);

void unique_fini(struct unique *unique);
