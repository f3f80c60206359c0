/*
 * A hash table from one number to another
 *
 * Open addressing, linear, at most two thirds full. When a cell becomes free, later entries that
 * would no longer be found are moved.
 */
#include "core/base/map.h"

#include <errno.h>
#include <stdlib.h>

struct map_cell {
	uint64_t key;
	uint64_t value;
	bool used;
};

static size_t first_place(const struct map *map, uint64_t key)
{
	return (size_t)map_hash(key) & (map->size - 1);
}

/* The cell of @key, or the free one for it. */
static struct map_cell *find_cell(const struct map *map, uint64_t key)
{
	size_t at = first_place(map, key);

	while (map->cells[at].used && map->cells[at].key != key)
		at = (at + 1) & (map->size - 1);
	return &map->cells[at];
}

static int grow_map(struct map *map)
{
	struct map bigger = { .size = map->size ? map->size * 2 : 64, .used = map->used };

	bigger.cells = calloc(bigger.size, sizeof(*bigger.cells));
	if (!bigger.cells)
		return -ENOMEM;
	for (size_t i = 0; i < map->size; i++)
		if (map->cells[i].used)
			*find_cell(&bigger, map->cells[i].key) = map->cells[i];
	free(map->cells);
	*map = bigger;
	return 0;
}

int map_put(struct map *map, uint64_t key, uint64_t value)
{
	struct map_cell *cell;

	if ((map->used + 1) * 3 > map->size * 2 && grow_map(map))
		return -ENOMEM;
	cell = find_cell(map, key);
	map->used += !cell->used;
	*cell = (struct map_cell){ key, value, true };
	return 0;
}

void map_prefetch(const struct map *map, uint64_t key)
{
	if (map->size)
		__builtin_prefetch(&map->cells[first_place(map, key)]);
}

bool map_get(const struct map *map, uint64_t key, uint64_t *ret_value)
{
	const struct map_cell *cell;

	if (!map->size)
		return false;
	cell = find_cell(map, key);
	if (!cell->used)
		return false;
	*ret_value = cell->value;
	return true;
}

void map_remove(struct map *map, uint64_t key)
{
	size_t mask = map->size - 1, hole, at;

	if (!map->size || !find_cell(map, key)->used)
		return;
	hole = (size_t)(find_cell(map, key) - map->cells);
	map->used--;
	for (at = (hole + 1) & mask; map->cells[at].used; at = (at + 1) & mask) {
		size_t first = first_place(map, map->cells[at].key);

		/* may the entry also be in the hole: is the hole between @first and @at? */
		if (((at - first) & mask) >= ((at - hole) & mask)) {
			map->cells[hole] = map->cells[at];
			hole = at;
		}
	}
	map->cells[hole].used = false;
}

void map_fini(struct map *map)
{
	free(map->cells);
	*map = (struct map){ 0 };
}
