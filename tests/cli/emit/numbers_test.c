/*
 * Sequences of numbers
 */
#include "cli/emit/numbers.h"

#include "core/base/map.h"
#include "tests/test.h"

enum { MANY = 3000 };

/* Number @i of a sequence, with whether its memory is limited even without regularity. */
struct row {
	const char *name;
	int64_t (*number)(int64_t i);
	size_t most; /* bytes */
};

static int64_t give_same(int64_t i)
{
	(void)i;
	return -7;
}

static int64_t give_steps(int64_t i)
{
	return INT64_MIN + 64 * i;
}

static int64_t give_ring(int64_t i)
{
	return i % 16 * 64;
}

static int64_t give_pattern(int64_t i)
{
	static const int64_t pattern[] = { 5, 5, 9, INT64_MAX, 1, INT64_MIN, 3 };

	return pattern[i % 7];
}

static int64_t give_two_rings(int64_t i)
{
	return i < MANY / 2 ? i % 5 * 8 : i == MANY / 2 ? 1000 : i % 3 * (i % 3);
}

static int64_t give_growing_pattern(int64_t i)
{
	static const int64_t pattern[] = { 0, 0, 3, 5, 6, 7, 9 };

	return i / 7 * 10 + pattern[i % 7];
}

static int64_t give_ring_taken_unevenly(int64_t i)
{
	return give_growing_pattern(i % 35);
}

static int64_t give_any(int64_t i)
{
	return (int64_t)(map_hash((uint64_t)i * 31 + 7) >> 3);
}

/* clang-format off */
static const struct row rows[] = {
	{ "the_same_number_again", give_same, 0 },
	{ "steps", give_steps, 0 },
	{ "a_ring_of_buffers", give_ring, 1000 },
	{ "a_pattern", give_pattern, 1000 },
	{ "a_pattern_that_grows", give_growing_pattern, 1000 },
	{ "a_pattern_of_patterns", give_ring_taken_unevenly, 2000 },
	{ "one_ring_after_the_other", give_two_rings, 2000 },
	{ "numbers_without_order", give_any, MANY * 24 },
};
/* clang-format on */

static void check_numbers(const struct row *row, const struct numbers *numbers, int64_t from)
{
	struct numbers_at at = { 0 };
	int64_t value;

	assert_int_equal(numbers_first(numbers), row->number(from));
	for (int64_t i = from; i < MANY; i++) {
		assert_true(numbers_next(numbers, &at, &value));
		assert_int_equal(value, row->number(i));
	}
	assert_false(numbers_next(numbers, &at, &value));
	assert_false(numbers_next(numbers, &at, &value));
}

static void push_numbers(void **state)
{
	const struct row *row = *state;
	struct numbers numbers = { 0 };

	for (int64_t i = 0; i < MANY; i++)
		assert_int_equal(numbers_push(&numbers, row->number(i)), 0);
	check_numbers(row, &numbers, 0);
	assert_true(numbers_size(&numbers) <= row->most);
	numbers_fini(&numbers);
}
TEST_ROWS(rows, push_numbers);

/* clang-format off */
static const struct row joined[] = {
	{ "the_same_number_is_joined", give_same, 0 },
	{ "steps_are_joined", give_steps, 0 },
	{ "rings_are_joined", give_ring, 1000 },
	{ "patterns_are_joined", give_pattern, 1000 },
	{ "patterns_that_grow_are_joined", give_growing_pattern, 1000 },
	{ "patterns_of_patterns_are_joined", give_ring_taken_unevenly, 2000 },
	{ "numbers_without_order_are_joined", give_any, MANY * 24 },
};
/* clang-format on */

/* Pieces of 1, 2, 3... numbers. */
static void append_numbers(void **state)
{
	const struct row *row = *state;
	struct numbers numbers = { 0 };
	int64_t next = 0;

	for (int64_t n = 1; next < MANY; n++) {
		struct numbers piece = { 0 };

		for (int64_t i = 0; i < n && next < MANY; i++)
			assert_int_equal(numbers_push(&piece, row->number(next++)), 0);
		assert_int_equal(numbers_append(&numbers, &piece), 0);
		numbers_fini(&piece);
	}
	check_numbers(row, &numbers, 0);
	assert_true(numbers_size(&numbers) <= 2 * row->most);
	numbers_fini(&numbers);
}
TEST_ROWS(joined, append_numbers);

TEST(an_empty_sequence_has_no_number)
{
	const struct numbers numbers = { 0 };
	struct numbers_at at = { 0 };
	int64_t value;

	assert_false(numbers_next(&numbers, &at, &value));
}
