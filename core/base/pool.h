#pragma once
/*
 * Objects of one size that are made and freed by the million.
 *
 * Freed objects are reused; memory is returned only by pool_fini(), so a pool has the memory that
 * was needed at its peak. With the address sanitizer each object is a separate allocation, so that
 * a use after the free is found.
 *
 * Not thread-safe.
 */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#ifndef __has_feature /* of clang */
#define __has_feature(name) 0
#endif

/* Are objects separate allocations, each of which must be freed? */
#if defined(__SANITIZE_ADDRESS__) || __has_feature(address_sanitizer)
enum { POOL_IS_PLAIN = 1 };
#else
enum { POOL_IS_PLAIN = 0 };
#endif

union pool_free;
struct pool_slab;

/* An empty pool is all zero except @size. */
struct pool {
	size_t size; /* of an object; a multiple of 16 */
	union pool_free *free;
	struct pool_slab *slabs;
	char *next, *end; /* of the last slab */
};

#define POOL_OF(type) ((struct pool){ .size = (sizeof(type) + 15) & ~(size_t)15 })

union pool_free {
	union pool_free *next;
};

/* Add a slab, and return its first object; NULL if out of memory. */
void *pool_grow(struct pool *pool);

/* Frees the memory of all objects; memory that they own must be freed before. */
void pool_fini(struct pool *pool);

/* A zeroed object; NULL if out of memory. */
static inline void *pool_new(struct pool *pool)
{
	void *object = pool->free;

	if (POOL_IS_PLAIN)
		return calloc(1, pool->size);
	if (object) {
		pool->free = pool->free->next;
	} else if (pool->next != pool->end) {
		object = pool->next;
		pool->next += pool->size;
	} else {
		object = pool_grow(pool);
	}
	return object ? memset(object, 0, pool->size) : NULL;
}

/* Accepts NULL. */
static inline void pool_free(struct pool *pool, void *object)
{
	union pool_free *freed = object;

	if (POOL_IS_PLAIN) {
		free(object);
		return;
	}
	if (!freed)
		return;
	freed->next = pool->free;
	pool->free = freed;
}
