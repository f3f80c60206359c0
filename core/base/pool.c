/*
 * The memory of pools
 *
 *	slab -> slab -> slab: | object | freed | object | ... | not used yet |
 *
 * A slab is larger than the one before, up to a limit, so that a pool of few objects is small.
 */
#include "core/base/pool.h"

enum { FIRST = 16, MOST = 4096 /* objects */ };

struct pool_slab {
	struct pool_slab *older;
	size_t n;
	_Alignas(16) char objects[];
};

void *pool_grow(struct pool *pool)
{
	size_t n = !pool->slabs ? FIRST : pool->slabs->n < MOST ? 2 * pool->slabs->n : MOST;
	struct pool_slab *slab = malloc(sizeof(*slab) + n * pool->size);

	if (!slab)
		return NULL;
	slab->older = pool->slabs;
	slab->n = n;
	pool->slabs = slab;
	pool->next = slab->objects + pool->size;
	pool->end = slab->objects + n * pool->size;
	return slab->objects;
}

void pool_fini(struct pool *pool)
{
	struct pool_slab *slab;

	while ((slab = pool->slabs)) {
		pool->slabs = slab->older;
		free(slab);
	}
	*pool = (struct pool){ .size = pool->size };
}
