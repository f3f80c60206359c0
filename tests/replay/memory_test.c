#include <stdlib.h>
#include <string.h>

#include "replay/device/memory.h"
#include "tests/test.h"

static struct memory *make_memory(const uint64_t ranges[][2], size_t n)
{
	struct memory *memory;

	assert_int_equal(memory_new(&memory), 0);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(memory_add(memory, ranges[i][0], ranges[i][1]), 0);
	assert_int_equal(memory_map(memory), 0);
	return memory;
}

TEST(overlapping_ranges_share_memory)
{
	const uint64_t ranges[][2] = { { 0x7000100, 0x2000 }, { 0x7001000, 0x4000 } };
	struct memory *m = make_memory(ranges, 2);
	char *first = memory_at(m, 0x7000100), *second = memory_at(m, 0x7001000);

	assert_non_null(first);
	assert_ptr_equal(second, first + 0xf00);
	memory_free(m);
}

TEST(ranges_of_one_page_keep_their_distance)
{
	const uint64_t ranges[][2] = { { 0x5000010, 8 }, { 0x5000800, 8 } };
	struct memory *m = make_memory(ranges, 2);

	assert_int_equal((char *)memory_at(m, 0x5000800) - (char *)memory_at(m, 0x5000010), 0x7f0);
	memory_free(m);
}

TEST(place_in_page_is_kept)
{
	const uint64_t ranges[][2] = { { 0x5000123, 8 } };
	struct memory *m = make_memory(ranges, 1);

	assert_int_equal((uintptr_t)memory_at(m, 0x5000123) & 0xfff, 0x123);
	memory_free(m);
}

TEST(ranges_apart_do_not_overlap)
{
	const uint64_t ranges[][2] = { { 0x90000000, 0x1000 }, { 0x1000, 0x1000 } };
	struct memory *m = make_memory(ranges, 2);

	memset(memory_at(m, 0x90000000), 1, 0x1000);
	assert_int_equal(*(char *)memory_at(m, 0x1000), 0);
	memory_free(m);
}

TEST(a_span_ends_within_its_range)
{
	const uint64_t ranges[][2] = { { 0x10000, 0x1000 }, { 0x30000, 0x1000 } };
	struct memory *m = make_memory(ranges, 2);

	assert_ptr_equal(memory_span(m, 0x10f00, 0x100), memory_at(m, 0x10f00));
	assert_null(memory_span(m, 0x10f00, 0x101));
	assert_null(memory_span(m, 0x30000, UINT64_MAX));
	assert_null(memory_span(m, 0x20000, 1));
	memory_free(m);
}

TEST(outside_is_null)
{
	const uint64_t ranges[][2] = { { 0x10000, 0x1000 }, { 0x30000, 0x1000 } };
	struct memory *m = make_memory(ranges, 2);

	assert_null(memory_at(m, 0xffff));
	assert_null(memory_at(m, 0x11000));
	assert_null(memory_at(m, 0x20000));
	assert_null(memory_at(m, UINT64_MAX));
	memory_free(m);
}

TEST(what_is_no_memory_is_left_out)
{
	const uint64_t ranges[][2] = { { 0, UINT64_MAX }, { UINT64_MAX - 10, 100 }, { 0x1000, 0 } };
	struct memory *m = make_memory(ranges, 3);

	assert_null(memory_at(m, 0x1000));
	memory_free(m);
}

TEST(huge_ranges_cost_nothing_until_written)
{
	const uint64_t ranges[][2] = { { 0x100000000000, 1ull << 36 } };
	struct memory *m = make_memory(ranges, 1);
	char *last = memory_at(m, 0x100000000000 + (1ull << 36) - 1);

	assert_non_null(last);
	*last = 1;
	memory_free(m);
}

TEST(scratch_is_long_enough)
{
	struct memory *m = make_memory(NULL, 0);
	char *at = memory_scratch(m, 3ull << 30);

	assert_non_null(at);
	at[(3ull << 30) - 1] = 1;
	assert_ptr_equal(memory_scratch(m, 1), at);
	memory_free(m);
}

TEST(free_accepts_null)
{
	memory_free(NULL);
}

TEST(what_is_named_again_is_one_range)
{
	struct memory *m;
	char *a;

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

TEST(all_of_the_address_space_is_implicit)
{
	assert_true(memory_is_all(0, SIZE_MAX));
	assert_false(memory_is_all(4096, SIZE_MAX));
	assert_false(memory_is_all(0, 4096));
}

TEST(what_cannot_be_memory_is_left_out)
{
	struct memory *m;

	assert_int_equal(memory_new(&m), 0);
	assert_int_equal(memory_add(m, 0x10000, 0), 0);
	assert_int_equal(memory_add(m, 0x10000, (1ull << 44) + 1), 0);
	assert_int_equal(memory_add(m, UINT64_MAX - 8, 16), 0);
	assert_int_equal(memory_add(m, UINT64_MAX - 8, 4), 0);
	assert_int_equal(memory_size(m), 0);
	assert_int_equal(memory_add(m, 0x10000, 1ull << 44), 0);
	assert_int_equal(memory_size(m), 1ull << 44);
	memory_free(m);
}
