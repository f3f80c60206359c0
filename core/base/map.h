#pragma once
/*
 * A hash table from one number to another.
 *
 * All zero: empty. Not thread-safe.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct map_cell;

struct map {
	struct map_cell *cells;
	size_t size; /* 0 or a power of two */
	size_t used;
};

/* A later value of the same key replaces the earlier one. Returns 0 or -ENOMEM. */
int map_put(struct map *map, uint64_t key, uint64_t value);

bool map_get(const struct map *map, uint64_t key, uint64_t *ret_value);

/* Prefetch the cell of @key: useful before lookups in several tables. */
void map_prefetch(const struct map *map, uint64_t key);

/* Does nothing if @key is not in the table. */
void map_remove(struct map *map, uint64_t key);

void map_fini(struct map *map);

/* A hash of @key, also for other kinds of tables. All 64 bits are usable. */
static inline uint64_t map_hash(uint64_t key)
{
	key *= 0x9e3779b97f4a7c15ull; /* 2^64 divided by the golden ratio */
	return key ^ key >> 32;
}
