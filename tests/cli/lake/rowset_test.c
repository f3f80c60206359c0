/*
 * Rows in memory: what was put is what is there, sorted
 */
#include "cli/lake/rowset.h"

#include "tests/test.h"

/* clang-format off */
static const struct made_column columns[] = {
	INTEGER_COLUMN("time"), TEXT_COLUMN("name"), INTEGER_COLUMN("same"), { 0 },
};
/* clang-format on */

static struct rowset rowset;

static void put_int(unsigned int column, int set, int64_t number)
{
	struct made_value value = { .kind = set ? MADE_INT : MADE_NULL, .number = number };

	assert_int_equal(rowset_put(&rowset, rowset.rows, column, &value), 0);
}

/* Name NULL: no value; likewise time -1. */
static void put_row(int64_t time, const char *name)
{
	struct made_value value = { 0 };

	put_int(0, time >= 0, time);
	made_text(&value, name);
	assert_int_equal(rowset_put(&rowset, rowset.rows, 1, &value), 0);
	put_int(2, 1, 7);
	rowset_end_rows(&rowset, 1);
}

static int64_t time_of(uint32_t row)
{
	return rowset_is_set(&rowset.columns[0], row) ? rowset_value(&rowset.columns[0], row) : -1;
}

static const char *name_of(uint32_t row)
{
	const struct rowset_column *column = &rowset.columns[1];
	static char text[32];
	const char *word;
	size_t n;

	if (!rowset_is_set(column, row))
		return "NULL";
	word = word_at(&column->words, (uint64_t)rowset_value(column, row), &n);
	snprintf(text, sizeof(text), "%.*s", (int)n, word);
	return text;
}

static int make_set(void **state)
{
	(void)state;
	return rowset_init(&rowset, columns, 0);
}

static int free_set(void **state)
{
	(void)state;
	rowset_fini(&rowset);
	return 0;
}

FIXTURE(make_set, free_set);

TEST(rows_are_sorted_and_null_is_first)
{
	static const char *const names[] = { "NULL", "b", "", "a", "b" };
	static const int64_t times[] = { -1, 1, 2, 2, 5 };

	put_row(5, "b");
	put_row(2, "");
	put_row(2, "a");
	put_row(-1, NULL);
	put_row(1, "b");
	assert_int_equal(rowset_sort(&rowset), 0);
	for (uint32_t i = 0; i < 5; i++) {
		assert_int_equal(time_of(i), times[i]);
		assert_string_equal(name_of(i), names[i]);
		assert_int_equal(rowset_value(&rowset.columns[2], i), 7);
	}
	assert_false(rowset.columns[2].spread);
	assert_int_equal(rowset.columns[1].nulls, 1);
}

TEST(equal_texts_are_one_word_until_there_are_many)
{
	char text[16];

	for (int i = 0; i < 100; i++)
		put_row(i, i % 2 ? "odd" : "even");
	assert_int_equal(rowset.columns[1].words.nwords, 2);
	for (int i = 0; i < ROWSET_WORDS + 9; i++) {
		snprintf(text, sizeof(text), "%d", i);
		put_row(i, text);
	}
	assert_true(rowset.columns[1].words.many);
	assert_string_equal(name_of(rowset.rows - 1), text);
	assert_string_equal(name_of(1), "odd");
}

TEST(a_cleared_set_is_as_new)
{
	put_row(3, "x");
	put_row(1, NULL);
	rowset_clear(&rowset);
	put_row(9, NULL);
	put_row(9, NULL);
	assert_int_equal(rowset.rows, 2);
	assert_false(rowset_is_set(&rowset.columns[1], 1));
	assert_int_equal(rowset.columns[1].words.nwords, 0);
	assert_int_equal(time_of(1), 9);
}

TEST(a_value_is_repeated)
{
	put_row(3, "x");
	put_row(4, NULL);
	for (unsigned int c = 0; c < rowset.ncolumns; c++)
		assert_int_equal(rowset_repeat(&rowset, rowset.rows, c), 0);
	rowset_end_rows(&rowset, 1);
	assert_int_equal(time_of(2), 4);
	assert_string_equal(name_of(2), "NULL");
	assert_string_equal(name_of(0), "x");
}
