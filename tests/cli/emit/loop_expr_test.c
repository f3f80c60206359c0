/*
 * The value of a number in each turn
 */
#include "cli/emit/loop_expr.h"

#include <stdlib.h>

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
	{ "a_large_step_is_unsigned", { 1, 5000000001 }, 2, " + 5000000000u * i", 0 },
	{ "what_comes_again_is_a_short_table", { 1, 5, 2, 1, 5, 2 }, 6, NULL, 3 },
	{ "anything_else_is_a_table", { 1, 5, 2, 8 }, 4, NULL, 4 },
	{ "great_numbers_do_not_overflow", { INT64_MIN, INT64_MAX, INT64_MIN }, 3, NULL, 3 },
};
/* clang-format on */

static struct numbers make_numbers(const int64_t *values, size_t n)
{
	struct numbers numbers = { 0 };

	for (size_t i = 0; i < n; i++)
		assert_int_equal(numbers_push(&numbers, values[i]), 0);
	return numbers;
}

static void fit_values(void **state)
{
	const struct row *row = *state;
	struct node loop = { .rounds.last = { (int64_t)row->n, 0, 1 }, .nrounds = 1 };
	struct nest nest = { .loops = { &loop }, .depth = 1 };
	struct numbers values = make_numbers(row->values, row->n);
	struct text text = { 0 };
	struct loop_expr turns;
	int64_t *table;

	assert_int_equal(loop_expr_fit(&nest, &values, row->n, &turns, &table), 0);
	assert_int_equal(turns.how, row->steps ? LOOP_EXPR_LINEAR : LOOP_EXPR_TABLE);
	assert_int_equal(loop_expr_is_linear(&nest, &values, row->n), row->steps != NULL);
	if (row->steps) {
		assert_null(table);
		assert_int_equal(turns.base, row->values[0]);
		loop_expr_add_steps(&turns, &nest, &text, false);
		assert_string_equal(text.at ? text.at : "", row->steps);
	} else {
		assert_int_equal(turns.period, row->period);
		assert_memory_equal(table, row->values, row->period * sizeof(*table));
	}
	free(table);
	numbers_fini(&values);
	text_fini(&text);
}
TEST_ROWS(rows, fit_values);

TEST(two_loops_give_two_steps)
{
	struct node outer = { .rounds.last = { 2, 0, 1 }, .nrounds = 1 };
	struct node inner = { .rounds.last = { 3, -1, 2 }, .nrounds = 2 };
	struct nest nest = { .loops = { &outer, &inner }, .depth = 2 };
	struct numbers values = make_numbers((const int64_t[]){ 10, 11, 12, 110, 111 }, 5);
	struct text text = { 0 };
	struct loop_expr turns;
	int64_t *table;

	assert_int_equal(loop_expr_fit(&nest, &values, 5, &turns, &table), 0);
	assert_int_equal(turns.how, LOOP_EXPR_LINEAR);
	loop_expr_add_steps(&turns, &nest, &text, true);
	assert_string_equal(text.at, "100 * i + j");
	numbers_fini(&values);
	text_fini(&text);
}
