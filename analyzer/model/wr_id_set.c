/*
 * Are the numbers of all outstanding requests different?
 *
 * A hash table with linear probing; a removal moves later cells back. Many programs give all
 * requests the same number, or all receives the same buffer, on purpose: they are recognised by
 * their second duplicate. A duplicate is reported only after ROUNDS times the capacity, and LEAST,
 * requests that show that numbers differ: while one request at a time is outstanding, a number
 * that stands for a kind of request, or for a length, is not found twice, but comes again with the
 * next request of that kind.
 */
#include "analyzer/model/wr_id_set.h"

#include <stdlib.h>

#include "core/base/map.h"

enum { SMALL = 32, ROUNDS = 4, LEAST = 256 };

struct wr_id_cell {
	uint64_t number;
	bool full;
};

static uint32_t find_home_cell(const struct wr_id_set *unique, uint64_t number)
{
	return (uint32_t)map_hash(number) & (unique->size - 1);
}

/* The cell of @number, or the free one where it belongs. */
static struct wr_id_cell *find_cell(const struct wr_id_set *unique, uint64_t number)
{
	uint32_t at = find_home_cell(unique, number);

	while (unique->cells[at].full && unique->cells[at].number != number)
		at = (at + 1) & (unique->size - 1);
	return &unique->cells[at];
}

static bool grow_cells(struct wr_id_set *unique)
{
	struct wr_id_set old = *unique;

	unique->size = old.size ? old.size * 2 : SMALL;
	unique->cells = calloc(unique->size, sizeof(*unique->cells));
	if (!unique->cells) {
		*unique = old;
		return false;
	}
	for (uint32_t i = 0; i < old.size; i++)
		if (old.cells[i].full)
			*find_cell(unique, old.cells[i].number) = old.cells[i];
	free(old.cells);
	return true;
}

static void stop_wr_id_check(struct wr_id_set *unique)
{
	wr_id_set_fini(unique);
	unique->off = true;
}

/* How many requests of this kind had unique numbers before this one? */
static uint64_t count_unique_wr_id(struct wr_id_set *unique, uint64_t number, uint64_t kind)
{
	typeof(unique->kinds[0]) *of = &unique->kinds[map_hash(kind) % WR_ID_KINDS];
	uint64_t clean;

	if (of->kind != kind) {
		of->kind = kind;
		of->clean = 0;
	} else if (number != of->last) {
		of->clean++;
	}
	clean = of->clean;
	of->last = number;
	return clean;
}

enum wr_id_found wr_id_set_add(struct wr_id_set *unique, uint64_t number, uint64_t kind,
			       uint32_t room)
{
	uint64_t clean = count_unique_wr_id(unique, number, kind);
	bool known = clean >= LEAST && clean / ROUNDS >= room;
	struct wr_id_cell *cell;

	if (unique->off)
		return WR_ID_OFF;
	if (unique->used >= unique->size / 2 && !grow_cells(unique)) {
		stop_wr_id_check(unique);
		return WR_ID_OFF;
	}
	cell = find_cell(unique, number);
	if (!cell->full) {
		*cell = (struct wr_id_cell){ number, true };
		unique->used++;
		return WR_ID_NEW;
	}
	if (!known && !unique->once) {
		unique->once = true;
		return WR_ID_ONCE;
	}
	stop_wr_id_check(unique);
	return known && !unique->once ? WR_ID_TWICE : WR_ID_OFF;
}

void wr_id_set_remove(struct wr_id_set *unique, uint64_t number)
{
	uint32_t mask = unique->size - 1, hole, at;
	struct wr_id_cell *cell;

	if (unique->off || !unique->size)
		return;
	cell = find_cell(unique, number);
	if (!cell->full)
		return;
	unique->used--;
	hole = at = (uint32_t)(cell - unique->cells);
	for (;;) {
		unique->cells[hole].full = false;
		do {
			at = (at + 1) & mask;
			if (!unique->cells[at].full)
				return;
			/* may the cell move to the hole? Not if the hole is before its home */
		} while (((at - find_home_cell(unique, unique->cells[at].number)) & mask) <
			 ((at - hole) & mask));
		unique->cells[hole] = unique->cells[at];
		hole = at;
	}
}

void wr_id_set_clear(struct wr_id_set *unique)
{
	for (uint32_t i = 0; i < unique->size; i++)
		unique->cells[i].full = false;
	unique->used = 0;
}

void wr_id_set_fini(struct wr_id_set *unique)
{
	free(unique->cells);
	unique->cells = NULL;
	unique->size = unique->used = 0;
}
