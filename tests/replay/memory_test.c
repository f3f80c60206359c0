#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include <string.h>

#include "replay/memory.h"

static struct memory *make_memory(const uint64_t ranges[][2], size_t n)
{
	struct memory *memory;

	assert_int_equal(memory_new(&memory), 0);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(memory_add(memory, ranges[i][0], ranges[i][1]), 0);
	assert_int_equal(memory_map(memory), 0);
	return memory;
}

static void overlapping_ranges_share_memory(void **state)
{
	const uint64_t ranges[][2] = { { 0x7000100, 0x2000 }, { 0x7001000, 0x4000 } };
	struct memory *m = make_memory(ranges, 2);
	char *first = memory_at(m, 0x7000100), *second = memory_at(m, 0x7001000);

	(void)state;
	assert_non_null(first);
	assert_ptr_equal(second, first + 0xf00);
	memory_free(m);
}

static void ranges_of_one_page_keep_their_distance(void **state)
{
	const uint64_t ranges[][2] = { { 0x5000010, 8 }, { 0x5000800, 8 } };
	struct memory *m = make_memory(ranges, 2);

	(void)state;
	assert_int_equal((char *)memory_at(m, 0x5000800) - (char *)memory_at(m, 0x5000010), 0x7f0);
	memory_free(m);
}

static void place_in_page_is_kept(void **state)
{
	const uint64_t ranges[][2] = { { 0x5000123, 8 } };
	struct memory *m = make_memory(ranges, 1);

	(void)state;
	assert_int_equal((uintptr_t)memory_at(m, 0x5000123) & 0xfff, 0x123);
	memory_free(m);
}

static void ranges_apart_do_not_overlap(void **state)
{
	const uint64_t ranges[][2] = { { 0x90000000, 0x1000 }, { 0x1000, 0x1000 } };
	struct memory *m = make_memory(ranges, 2);

	(void)state;
	memset(memory_at(m, 0x90000000), 1, 0x1000);
	assert_int_equal(*(char *)memory_at(m, 0x1000), 0);
	memory_free(m);
}

static void outside_is_null(void **state)
{
	const uint64_t ranges[][2] = { { 0x10000, 0x1000 }, { 0x30000, 0x1000 } };
	struct memory *m = make_memory(ranges, 2);

	(void)state;
	assert_null(memory_at(m, 0xffff));
	assert_null(memory_at(m, 0x11000));
	assert_null(memory_at(m, 0x20000));
	assert_null(memory_at(m, UINT64_MAX));
	memory_free(m);
}

static void what_is_no_memory_is_left_out(void **state)
{
	const uint64_t ranges[][2] = { { 0, UINT64_MAX }, { UINT64_MAX - 10, 100 }, { 0x1000, 0 } };
	struct memory *m = make_memory(ranges, 3);

	(void)state;
	assert_null(memory_at(m, 0x1000));
	memory_free(m);
}

static void huge_ranges_cost_nothing_until_written(void **state)
{
	const uint64_t ranges[][2] = { { 0x100000000000, 1ull << 36 } };
	struct memory *m = make_memory(ranges, 1);
	char *last = memory_at(m, 0x100000000000 + (1ull << 36) - 1);

	(void)state;
	assert_non_null(last);
	*last = 1;
	memory_free(m);
}

static void scratch_is_long_enough(void **state)
{
	struct memory *m = make_memory(NULL, 0);
	char *at = memory_scratch(m, 3ull << 30);

	(void)state;
	assert_non_null(at);
	at[(3ull << 30) - 1] = 1;
	assert_ptr_equal(memory_scratch(m, 1), at);
	memory_free(m);
}

static void free_accepts_null(void **state)
{
	(void)state;
	memory_free(NULL);
}

static void what_is_named_again_is_one_range(void **state)
{
	struct memory *m;
	char *a;

	(void)state;
	assert_int_equal(memory_new(&m), 0);
	for (uint64_t i = 0; i < 100000; i++)
		assert_int_equal(memory_add(m, 0x10000 + (i % 64) * 0x100, 0x100), 0);
	assert_int_equal(memory_add(m, 0x900000, 8), 0);
	assert_int_equal(memory_map(m), 0);
	a = memory_at(m, 0x10000);
	assert_non_null(a);
	assert_ptr_equal(memory_at(m, 0x10000 + 0x3fff), a + 0x3fff);
	assert_non_null(memory_at(m, 0x900000));
	assert_null(memory_at(m, 0x14000));
	memory_free(m);
}

static void all_of_the_address_space_is_implicit(void **state)
{
	(void)state;
	assert_true(memory_is_all(0, SIZE_MAX));
	assert_false(memory_is_all(4096, SIZE_MAX));
	assert_false(memory_is_all(0, 4096));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(overlapping_ranges_share_memory),
		cmocka_unit_test(ranges_of_one_page_keep_their_distance),
		cmocka_unit_test(place_in_page_is_kept),
		cmocka_unit_test(ranges_apart_do_not_overlap),
		cmocka_unit_test(outside_is_null),
		cmocka_unit_test(what_is_no_memory_is_left_out),
		cmocka_unit_test(huge_ranges_cost_nothing_until_written),
		cmocka_unit_test(scratch_is_long_enough),
		cmocka_unit_test(free_accepts_null),
		cmocka_unit_test(what_is_named_again_is_one_range),
		cmocka_unit_test(all_of_the_address_space_is_implicit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
