#pragma once
/*
 * A hash table from one number to another. Nothing is ever removed.
 *
 * Zeroed is empty. One thread.
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

void map_fini(struct map *map);
