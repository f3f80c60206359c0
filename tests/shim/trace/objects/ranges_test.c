/*
 * Registered memory by address
 */
#include <pthread.h>

#include "shim/trace/objects/ranges.h"
#include "tests/test.h"

static struct ibv_mr mrs[600];

static int forget_all(void **state)
{
	(void)state;
	ranges_begin(true, true);
	return 0;
}

FIXTURE(forget_all, NULL);

static void add_range(int i, uint64_t addr, uint64_t length)
{
	ranges_add(&mrs[i], (void *)(uintptr_t)addr, length);
}

TEST(nothing_is_registered_at_first)
{
	assert_false(ranges_overlap(0x1000, 0x1000));
	assert_false(ranges_within(0, UINT64_MAX));
}

TEST(a_range_is_touched_at_its_edges)
{
	add_range(0, 0x1000, 0x1000);
	assert_true(ranges_overlap(0x1fff, 1));
	assert_true(ranges_overlap(0xfff, 2));
	assert_true(ranges_overlap(0, UINT64_MAX));
	assert_false(ranges_overlap(0x2000, 1));
	assert_false(ranges_overlap(0xfff, 1));
	assert_false(ranges_overlap(0x1800, 0));
	assert_false(ranges_overlap(UINT64_MAX, 0x2000)); /* around the end */
}

TEST(a_range_lies_within_another)
{
	add_range(0, 0x1000, 0x1000);
	assert_true(ranges_within(0x1000, 0x1000));
	assert_true(ranges_within(0x800, 0x2000));
	assert_false(ranges_within(0x1001, 0x1000));
	assert_false(ranges_within(0x1000, 0xfff));
}

/* The one with the greatest end is not the one that begins last. */
TEST(ranges_may_overlap)
{
	add_range(0, 0x1000, 0x10000);
	add_range(1, 0x2000, 0x100);
	add_range(2, 0x3000, 0x100);
	assert_true(ranges_overlap(0x10000, 1));
	ranges_remove(&mrs[0]);
	assert_false(ranges_overlap(0x10000, 1));
	assert_true(ranges_overlap(0x30ff, 1));
	assert_true(ranges_within(0x2fff, 0x102));
}

TEST(a_region_that_is_registered_anew_moves)
{
	add_range(0, 0x1000, 0x1000);
	add_range(0, 0x5000, 0x1000);
	assert_false(ranges_overlap(0x1000, 0x1000));
	assert_true(ranges_overlap(0x5000, 1));
	ranges_remove(&mrs[0]);
	ranges_remove(&mrs[0]);
	assert_false(ranges_overlap(0x5000, 1));
}

TEST(many_ranges_in_any_order)
{
	for (int i = 0; i < 600; i++)
		add_range(i, 0x10000ull * (uint64_t)(1 + i * 7 % 600), 0x1000);
	for (uint64_t i = 1; i <= 600; i++) {
		assert_true(ranges_overlap(i * 0x10000 + 0xfff, 1));
		assert_false(ranges_overlap(i * 0x10000 + 0x1000, 1));
	}
	for (int i = 0; i < 600; i += 2)
		ranges_remove(&mrs[i]);
	for (int i = 0; i < 600; i++)
		assert_int_equal(ranges_overlap(0x10000ull * (uint64_t)(1 + i * 7 % 600), 1),
				 i % 2);
}

static void *change_ranges(void *over)
{
	for (int i = 0; !atomic_load((atomic_bool *)over); i++) {
		add_range(1, 0x100000 + 0x1000ull * (uint64_t)(i % 50), 0x1000);
		ranges_remove(&mrs[1]);
	}
	return NULL;
}

/* A range that stays is found at any moment, unless the reader gives up. */
TEST(readers_see_what_stays)
{
	atomic_bool over = false;
	unsigned int found = 0;
	pthread_t thread;

	add_range(0, 0x1000, 0x1000);
	assert_int_equal(pthread_create(&thread, NULL, change_ranges, &over), 0);
	for (int i = 0; i < 100000; i++) {
		found += ranges_overlap(0x1000, 1);
		assert_false(ranges_overlap(0x2000, 1));
	}
	atomic_store(&over, true);
	pthread_join(thread, NULL);
	assert_true(found > 0);
}

TEST(huge_pages_are_known_until_they_are_unmapped)
{
	ranges_map(0x200000, 0x400000, true);
	assert_true(ranges_are_huge(0x200000, 0x400000));
	assert_true(ranges_are_huge(0x300000, 0x1000));
	assert_false(ranges_are_huge(0x1ff000, 0x2000));
	ranges_map(0x100000, 0x1000, false);
	assert_true(ranges_are_huge(0x300000, 0x1000));
	ranges_map(0x400000, 0x200000, false);
	assert_false(ranges_are_huge(0x300000, 0x1000)); /* it was cut */
}
