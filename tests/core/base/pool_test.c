/*
 * Objects of a pool
 */
#include "core/base/pool.h"

#include <stdint.h>

#include "tests/test.h"

enum { MANY = 20000 };

struct needed_entry {
	uint64_t number;
	char text[13];
};

TEST(objects_are_zeroed_aligned_and_apart)
{
	static struct needed_entry *things[MANY];
	struct pool pool = POOL_OF(struct needed_entry);

	for (int i = 0; i < MANY; i++) {
		things[i] = pool_new(&pool);
		assert_non_null(things[i]);
		assert_int_equal((uintptr_t)things[i] % 16, 0);
		assert_int_equal(things[i]->number, 0);
		memset(things[i], 0xa5, sizeof(*things[i]));
		things[i]->number = (uint64_t)i;
	}
	for (int i = 0; i < MANY; i++) {
		assert_int_equal(things[i]->number, i);
		pool_free(&pool, things[i]);
	}
	pool_fini(&pool);
}

TEST(a_freed_object_is_used_again_and_zeroed)
{
	struct pool pool = POOL_OF(struct needed_entry);
	struct needed_entry *thing = pool_new(&pool);
	struct pool_slab *slabs = pool.slabs;

	for (int i = 0; i < MANY; i++) {
		assert_int_equal(thing->number, 0);
		thing->number = 1;
		pool_free(&pool, thing);
		thing = pool_new(&pool);
	}
	assert_ptr_equal(pool.slabs, slabs);
	pool_free(&pool, thing);
	pool_fini(&pool);
}

TEST(an_empty_pool_and_no_object)
{
	struct pool pool = POOL_OF(struct needed_entry);

	pool_free(&pool, NULL);
	pool_fini(&pool);
	pool_free(&pool, pool_new(&pool));
	pool_fini(&pool);
}
