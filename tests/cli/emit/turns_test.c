/*
 * What a number is in each turn
 */
#include "cli/emit/turns.h"

#include "tests/test.h"

struct row {
	const char *name;
	int64_t values[8];
	size_t n;
	const char *steps; /* NULL: a table */
	size_t period;
};

/* clang-format off */
static const struct row rows[] = {
	{ "the_same_is_a_number", { 7, 7, 7 }, 3, "", 0 },
	{ "growing_is_linear", { 5, 8, 11 }, 3, " + 3 * i", 0 },
	{ "one_more_each_time_is_the_variable", { 0, 1, 2 }, 3, " + i", 0 },
	{ "falling_is_linear", { 9, 7, 5 }, 3, " - 2 * i", 0 },
	{ "what_comes_again_is_a_short_table", { 1, 5, 2, 1, 5, 2 }, 6, NULL, 3 },
	{ "anything_else_is_a_table", { 1, 5, 2, 8 }, 4, NULL, 4 },
	{ "great_numbers_do_not_overflow", { INT64_MIN, INT64_MAX, INT64_MIN }, 3, NULL, 3 },
};
/* clang-format on */

static void fit_values(void **state)
{
	const struct row *row = *state;
	size_t rounds = row->n;
	struct node loop = { .rounds = &rounds, .nrounds = 1 };
	struct nest nest = { .loops = { &loop }, .depth = 1 };
	struct text text = { 0 };
	struct turns turns;

	assert_int_equal(turns_fit(&nest, row->values, row->n, &turns), 0);
	assert_int_equal(turns.how, row->steps ? TURNS_LINEAR : TURNS_TABLE);
	if (row->steps) {
		assert_int_equal(turns.base, row->values[0]);
		turns_add_steps(&turns, &nest, &text, false);
		assert_string_equal(text.at ? text.at : "", row->steps);
	} else {
		assert_int_equal(turns.period, row->period);
	}
	text_fini(&text);
}
TEST_ROWS(rows, fit_values);

TEST(two_loops_give_two_steps)
{
	size_t outer_rounds = 2, inner_rounds[] = { 3, 2 };
	struct node outer = { .rounds = &outer_rounds, .nrounds = 1 };
	struct node inner = { .rounds = inner_rounds, .nrounds = 2 };
	struct nest nest = { .loops = { &outer, &inner }, .depth = 2 };
	const int64_t values[] = { 10, 11, 12, 110, 111 };
	struct text text = { 0 };
	struct turns turns;

	assert_int_equal(turns_fit(&nest, values, 5, &turns), 0);
	assert_int_equal(turns.how, TURNS_LINEAR);
	turns_add_steps(&turns, &nest, &text, true);
	assert_string_equal(text.at, "100 * i + j");
	text_fini(&text);
}
