/*
 * Rows in memory, column by column
 */
#include "cli/lake/rowset.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/vec.h"
#include "core/wire/hash.h"

enum { SLOTS = 4 * ROWSET_WORDS, NOT_FOUND = -1 };

int rowset_init(struct rowset *rowset, const struct made_column *columns, int order)
{
	*rowset = (struct rowset){ .order = order };
	while (columns[rowset->ncolumns].name)
		rowset->ncolumns++;
	rowset->columns = calloc(rowset->ncolumns, sizeof(*rowset->columns));
	if (!rowset->columns)
		return -ENOMEM;
	for (unsigned int i = 0; i < rowset->ncolumns; i++)
		rowset->columns[i].text = !strcmp(columns[i].type, "TEXT");
	return 0;
}

void rowset_fini(struct rowset *rowset)
{
	for (unsigned int i = 0; rowset->columns && i < rowset->ncolumns; i++) {
		struct rowset_column *column = &rowset->columns[i];

		free(column->values);
		free(column->set);
		free(column->words.bytes);
		free(column->words.ends);
		free(column->words.slots);
	}
	free(rowset->columns);
	*rowset = (struct rowset){ 0 };
}

static bool is_word(const struct words *words, uint64_t number, const char *text, size_t n)
{
	size_t length;
	const char *word = word_at(words, number, &length);

	return length == n && !memcmp(word, text, n);
}

/* The slot of @text, of its word or free. */
static uint32_t *find_slot(struct words *words, const char *text, size_t n)
{
	size_t at = hash_of(text, n, 0) & (SLOTS - 1);

	while (words->slots[at] && !is_word(words, words->slots[at] - 1, text, n))
		at = (at + 1) & (SLOTS - 1);
	return &words->slots[at];
}

static int64_t append_word(struct words *words, const char *text, size_t n)
{
	if (vec_reserve(words->bytes, words->size, words->used + n + 1) ||
	    vec_reserve(words->ends, words->ends_size, words->nwords + 1))
		return -ENOMEM;
	memcpy(words->bytes + words->used, text, n);
	words->used += n;
	words->ends[words->nwords] = words->used;
	return (int64_t)words->nwords++;
}

/* The number of the word @text, which is added if it is a new one; or -ENOMEM. */
static int64_t number_word(struct words *words, const char *text, size_t n)
{
	uint32_t *slot;
	int64_t number;

	if (words->nwords && is_word(words, words->nwords - 1, text, n))
		return (int64_t)words->nwords - 1;
	if (words->many)
		return append_word(words, text, n);
	if (!words->slots && !(words->slots = calloc(SLOTS, sizeof(*words->slots))))
		return -ENOMEM;
	slot = find_slot(words, text, n);
	if (*slot)
		return *slot - 1;
	number = append_word(words, text, n);
	if (number < 0)
		return number;
	*slot = (uint32_t)number + 1;
	words->many = words->nwords == ROWSET_WORDS;
	return number;
}

/* From now on each row has its own value. */
static int spread_column(struct rowset_column *column, uint32_t rows)
{
	if (vec_reserve(column->values, column->values_size, rows + 1))
		return -ENOMEM;
	for (uint32_t i = 0; i < rows; i++)
		column->values[i] = column->first;
	column->spread = true;
	if (column->first_set)
		return 0;
	if (vec_reserve(column->set, column->set_size, rows + 1))
		return -ENOMEM;
	memset(column->set, 0, rows);
	column->nulls = rows;
	return 0;
}

static int put_null(struct rowset_column *column, uint32_t row, bool null)
{
	if (vec_reserve(column->set, column->set_size, row + 1))
		return -ENOMEM;
	if (!column->nulls)
		memset(column->set, 1, row);
	column->set[row] = !null;
	column->nulls += null;
	return 0;
}

static int put_number(struct rowset_column *column, uint32_t row, bool set, int64_t number)
{
	if (!row) {
		column->first_set = set;
		column->first = number;
		return 0;
	}
	if (!column->spread) {
		if (column->first_set == set && column->first == number)
			return 0;
		if (spread_column(column, row))
			return -ENOMEM;
	}
	if (row >= column->values_size && vec_reserve(column->values, column->values_size, row + 1))
		return -ENOMEM;
	column->values[row] = number;
	return column->nulls || !set ? put_null(column, row, !set) : 0;
}

int rowset_put(struct rowset *rowset, uint32_t row, unsigned int at, const struct made_value *value)
{
	struct rowset_column *column = &rowset->columns[at];
	int64_t number = 0;
	bool set = value->kind == (column->text ? MADE_TEXT : MADE_INT);

	if (set && column->text)
		number = number_word(&column->words, value->text, value->length);
	else if (set)
		number = value->number;
	if (set && column->text && number < 0)
		return -ENOMEM;
	return put_number(column, row, set, number);
}

int rowset_repeat(struct rowset *rowset, uint32_t row, unsigned int at)
{
	struct rowset_column *column = &rowset->columns[at];

	return column->spread ? put_number(column, row, rowset_is_set(column, row - 1),
					   column->values[row - 1])
			      : 0;
}

void rowset_clear(struct rowset *rowset)
{
	for (unsigned int i = 0; i < rowset->ncolumns; i++) {
		struct words *words = &rowset->columns[i].words;

		rowset->columns[i].nulls = 0;
		rowset->columns[i].spread = false;
		if (words->slots && words->nwords)
			memset(words->slots, 0, SLOTS * sizeof(*words->slots));
		words->used = words->nwords = 0;
		words->many = false;
	}
	rowset->rows = 0;
}

struct place {
	int64_t key;
	uint32_t row;
	bool set;
};

static int compare_places(const void *a, const void *b)
{
	const struct place *x = a, *y = b;

	if (x->set != y->set)
		return x->set - y->set;
	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	return x->row < y->row ? -1 : 1;
}

static bool is_sorted(const struct rowset *rowset)
{
	const struct rowset_column *by = &rowset->columns[rowset->order];

	for (uint32_t i = 1; i < rowset->rows && by->spread; i++) {
		bool set = rowset_is_set(by, i), before = rowset_is_set(by, i - 1);

		if (before > set || (before == set && by->values[i - 1] > by->values[i]))
			return false;
	}
	return true;
}

/* Each column in the order of @places; @values has space for one. */
static void move_rows(struct rowset *rowset, const struct place *places, int64_t *values)
{
	uint8_t *set = (uint8_t *)values;

	for (unsigned int c = 0; c < rowset->ncolumns; c++) {
		struct rowset_column *column = &rowset->columns[c];

		if (!column->spread)
			continue;
		for (uint32_t i = 0; i < rowset->rows; i++)
			values[i] = column->values[places[i].row];
		memcpy(column->values, values, rowset->rows * sizeof(*values));
		if (!column->nulls)
			continue;
		for (uint32_t i = 0; i < rowset->rows; i++)
			set[i] = column->set[places[i].row];
		memcpy(column->set, set, rowset->rows);
	}
}

int rowset_sort(struct rowset *rowset)
{
	const struct rowset_column *by = &rowset->columns[rowset->order];
	struct place *places;
	int64_t *values;
	int err = -ENOMEM;

	if (is_sorted(rowset))
		return 0;
	places = malloc(rowset->rows * sizeof(*places));
	values = malloc(rowset->rows * sizeof(*values));
	for (uint32_t i = 0; places && i < rowset->rows; i++)
		places[i] = (struct place){ by->values[i], i, rowset_is_set(by, i) };
	if (places && values) {
		qsort(places, rowset->rows, sizeof(*places), compare_places);
		move_rows(rowset, places, values);
		err = 0;
	}
	free(places);
	free(values);
	return err;
}
