/*
 * Rows in memory: what was put is what is there, sorted
 */
#include "cli/lake/rowset.h"

#include "tests/test.h"

/* clang-format off */
static const struct computed_column columns[] = {
	INTEGER_COLUMN("time"), TEXT_COLUMN("name"), INTEGER_COLUMN("same"), { 0 },
};
/* clang-format on */

static struct rowset rowset;

/* The next row, in a call for each column. Name NULL: no value; likewise time -1. */
static void put_row(int64_t time, const char *name)
{
	struct cells cells;

	cells_numbers_if(&cells, 1, i, time >= 0, time);
	assert_int_equal(rowset_put(&rowset, 0, 1, &cells), 0);
	cells_texts(&cells, 1, i, name);
	assert_int_equal(rowset_put(&rowset, 1, 1, &cells), 0);
	cells_numbers(&cells, 1, i, 7);
	assert_int_equal(rowset_put(&rowset, 2, 1, &cells), 0);
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

TEST(many_rows_are_as_one_by_one)
{
	static const char *const texts[] = { "a", NULL, "b" };
	struct cells cells;

	put_row(1000, "a");
	cells_numbers_if(&cells, CELLS_ROWS, i, i % 7, CELLS_ROWS - i);
	assert_int_equal(rowset_put(&rowset, 0, CELLS_ROWS, &cells), 0);
	cells_texts(&cells, CELLS_ROWS, i, texts[i % 3]);
	assert_int_equal(rowset_put(&rowset, 1, CELLS_ROWS, &cells), 0);
	cells_numbers(&cells, CELLS_ROWS, i, 7);
	assert_int_equal(rowset_put(&rowset, 2, CELLS_ROWS, &cells), 0);
	rowset_end_rows(&rowset, CELLS_ROWS);
	for (uint32_t i = 0; i < CELLS_ROWS; i++) {
		assert_int_equal(time_of(1 + i), i % 7 ? (int)(CELLS_ROWS - i) : -1);
		assert_string_equal(name_of(1 + i), texts[i % 3] ? texts[i % 3] : "NULL");
	}
	assert_false(rowset.columns[2].spread);
	assert_int_equal(rowset_sort(&rowset), 0);
	assert_int_equal(time_of(0), -1);
	assert_string_equal(name_of(0), "a"); /* the first row without a time, i = 0 */
	assert_int_equal(time_of(CELLS_ROWS), 1000);
}

TEST(times_of_all_sizes_are_sorted)
{
	static const int64_t times[] = { INT64_MAX, 256, 1, 1ll << 40, 65536, 0, 255 };
	static const int64_t sorted[] = { 0, 1, 255, 256, 65536, 1ll << 40, INT64_MAX };

	for (int i = 0; i < 7; i++)
		put_row(times[i], "x");
	assert_int_equal(rowset_sort(&rowset), 0);
	for (uint32_t i = 0; i < 7; i++)
		assert_int_equal(time_of(i), sorted[i]);
}

TEST(events_are_their_names)
{
	static const struct event_id ids[] = {
		{ 1, 9 }, { 0, 0 }, { 12, 1234567 }, { 12, 1234567 }
	};
	struct cells cells;

	cells_numbers(&cells, 4, i, i);
	assert_int_equal(rowset_put(&rowset, 0, 4, &cells), 0);
	cells_events(&cells, 4, i, ids[i]);
	assert_int_equal(rowset_put(&rowset, 1, 4, &cells), 0);
	rowset_end_rows(&rowset, 4);
	assert_string_equal(name_of(0), "1:9");
	assert_string_equal(name_of(1), "NULL");
	assert_string_equal(name_of(2), "12:1234567");
	assert_string_equal(name_of(3), "12:1234567");
}

TEST(values_of_another_type_are_null)
{
	struct cells cells;

	cells_texts(&cells, 2, i, "x");
	assert_int_equal(rowset_put(&rowset, 0, 2, &cells), 0);
	cells_numbers(&cells, 2, i, 5);
	assert_int_equal(rowset_put(&rowset, 1, 2, &cells), 0);
	rowset_end_rows(&rowset, 2);
	assert_int_equal(time_of(1), -1);
	assert_string_equal(name_of(1), "NULL");
}

/* A row of the class @class, whose name only the class has. */
static void put_row_of_class(int64_t time, uint64_t class, const char *name)
{
	uint64_t key[2] = { class % 3, class };
	struct cells cells;
	int new = rowset_classify(&rowset, 0, key);

	assert_in_range(new, 0, 1);
	if (new) {
		cells_texts(&cells, 1, i, name);
		assert_int_equal(rowset_put_class(&rowset, 1, &cells), 0);
	}
	cells_numbers(&cells, 1, i, time);
	assert_int_equal(rowset_put(&rowset, 0, 1, &cells), 0);
	cells_numbers(&cells, 1, i, class);
	assert_int_equal(rowset_put(&rowset, 2, 1, &cells), 0);
	rowset_end_rows(&rowset, 1);
}

TEST(rows_of_a_class_share_its_values)
{
	enum { CLASSES = 1000, EACH = 3 };
	char name[16];

	assert_int_equal(rowset_use_classes(&rowset, 1 << 1, 2), 0);
	for (int round = 0; round < 2; round++) {
		for (uint64_t i = 0; i < CLASSES * EACH; i++) {
			uint64_t class = i * 7 % CLASSES;

			snprintf(name, sizeof(name), "class %d", (int)class);
			put_row_of_class((int64_t)(i * 13 % 997), class, class % 5 ? name : NULL);
		}
		assert_int_equal(rowset.nclasses, CLASSES);
		assert_int_equal(rowset_sort(&rowset), 0);
		for (uint32_t i = 0; i < rowset.rows; i++) {
			int class = (int)rowset_value(&rowset.columns[2], i);

			snprintf(name, sizeof(name), "class %d", class);
			assert_string_equal(name_of(i), class % 5 ? name : "NULL");
		}
		rowset_clear(&rowset);
	}
}

TEST(names_of_events_follow_from_their_columns)
{
	static const struct computed_column three[] = {
		INTEGER_COLUMN("thread"), TEXT_COLUMN("event"), INTEGER_COLUMN("n"), { 0 }
	};
	char event[COMPUTED_EVENT_TEXT];
	struct cells cells;
	const char *text;
	size_t n;

	rowset_fini(&rowset);
	assert_int_equal(rowset_init(&rowset, three, 2), 0);
	rowset_use_events(&rowset, 1, 0, 2);
	cells_numbers_if(&cells, 2, i, i, 12);
	assert_int_equal(rowset_put(&rowset, 0, 2, &cells), 0);
	cells_numbers(&cells, 2, i, 1234567);
	assert_int_equal(rowset_put(&rowset, 2, 2, &cells), 0);
	rowset_end_rows(&rowset, 2);
	assert_false(rowset_is_set(&rowset.columns[1], 0));
	assert_true(rowset_is_set(&rowset.columns[1], 1));
	text = rowset_text(&rowset.columns[1], 1, event, &n);
	assert_int_equal(n, strlen("12:1234567"));
	assert_memory_equal(text, "12:1234567", n);
}
