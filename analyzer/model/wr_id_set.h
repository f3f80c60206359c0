#pragma once
/*
 * Are the wr_ids of all outstanding requests different? Only for programs that normally keep them
 * unique: others are not followed any more, from their second duplicate on.
 *
 * Not thread-safe.
 */
#include <stdbool.h>
#include <stdint.h>

struct wr_id_cell;

enum { WR_ID_KINDS = 8 /* a new kind replaces an older one */ };

/* Empty when zeroed. */
struct wr_id_set {
	struct wr_id_cell *cells;
	uint32_t size, used; /* size is 0 or a power of two */
	bool off;            /* the numbers are no longer checked */
	bool once; /* there was a duplicate before it was clear that duplicates are unusual */
	struct {
		uint64_t kind, last;
		/* numbers in a row, of this kind, that differed from the one before */
		uint64_t clean;
	} kinds[WR_ID_KINDS];
};

/* What wr_id_set_add() found. */
enum wr_id_found {
	WR_ID_NEW,
	WR_ID_TWICE, /* a duplicate, after a long time without duplicates */
	WR_ID_ONCE,  /* the first duplicate, before such a time; another one ends the check */
	WR_ID_OFF,   /* the numbers are not checked */
};

/*
 * Add a @number.
 *
 * @kind: requests of one kind have the same number in programs whose numbers stand for kinds.
 * @room: largest number of entries at a time.
 */
enum wr_id_found wr_id_set_add(struct wr_id_set *unique, uint64_t number, uint64_t kind,
			       uint32_t room);

/* Does nothing if it is not in the set. */
void wr_id_set_remove(struct wr_id_set *unique, uint64_t number);

/* Remove all; the learned state remains. */
void wr_id_set_clear(struct wr_id_set *unique);

void wr_id_set_fini(struct wr_id_set *unique);
