/*
 * Rows in memory, column by column
 */
#include "cli/lake/rowset.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/map.h"
#include "core/base/vec.h"
#include "core/wire/hash.h"

enum { SLOTS = 4 * ROWSET_WORDS, KNOWN = 16, CLASS_SLOTS = 256, DIGIT_BITS = 11 };

int rowset_init(struct rowset *rowset, const struct computed_column *columns, int order)
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
	free(rowset->classes);
	free(rowset->keys);
	free(rowset->slots);
	*rowset = (struct rowset){ 0 };
}

static bool is_word(const struct words *words, uint64_t number, const char *text, size_t n)
{
	size_t length;
	const char *word = word_at(words, number, &length);

	return length == n && !memcmp(word, text, n);
}

/* The slot of the word @text, or the free slot where it belongs. */
static uint32_t *find_slot(struct words *words, const char *text, size_t n)
{
	size_t at = hash_of(text, n, 0) & (SLOTS - 1);

	while (words->slots[at] && !is_word(words, words->slots[at] - 1, text, n))
		at = (at + 1) & (SLOTS - 1);
	return &words->slots[at];
}

static int64_t append_word(struct words *words, const char *text, size_t n)
{
	if (vec_reserve(words->bytes, words->size, words->used + n + ROWSET_SLACK) ||
	    vec_reserve(words->ends, words->ends_size, words->nwords + 1))
		return -ENOMEM;
	memcpy(words->bytes + words->used, text, n);
	words->used += n;
	words->ends[words->nwords] = words->used;
	return (int64_t)words->nwords++;
}

/* The number of the word @text, which is added if it is a new one; or -ENOMEM. */
static int64_t intern_word(struct words *words, const char *text, size_t n)
{
	uint32_t *slot;
	int64_t number;

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

/* Texts that occurred in a column before, by their addresses. */
struct known_texts {
	const char *texts[KNOWN];
	int64_t numbers[KNOWN];
};

/* Do all cells have the same text? Most often they have. */
static bool is_one_text(const struct cells *cells, uint32_t n)
{
	uintptr_t differ = 0;

	for (uint32_t i = 1; i < n; i++)
		differ |= (uintptr_t)cells->texts[i] ^ (uintptr_t)cells->texts[0];
	return !differ;
}

static int intern_texts(struct words *words, struct cells *cells, uint32_t n)
{
	struct known_texts known = { 0 };

	for (uint32_t i = 0; i < n; i++) {
		const char *text = cells->texts[i];
		unsigned int at = map_hash((uintptr_t)text) % KNOWN;

		if (text && known.texts[at] != text) {
			known.numbers[at] = intern_word(words, text, strlen(text));
			known.texts[at] = text;
		}
		cells->set[i] = text;
		cells->numbers[i] = text ? known.numbers[at] : 0;
		if (cells->numbers[i] < 0)
			return -ENOMEM;
	}
	return 0;
}

/* Number events like texts. Most occur in one row: only adjacent rows are compared. */
static int intern_events(struct words *words, struct cells *cells, uint32_t n)
{
	struct event_id last = { 0 };
	int64_t number = 0;

	words->many = true;
	for (uint32_t i = 0; i < n; i++) {
		struct event_id id = { cells->threads[i], (uint64_t)cells->numbers[i] };
		char text[COMPUTED_EVENT_TEXT];
		const char *at;
		size_t length;

		cells->set[i] = id.thread;
		if (id.thread && (id.thread != last.thread || id.n != last.n)) {
			at = computed_event_text(id, text, &length);
			number = append_word(words, at, length);
			last = id;
		}
		cells->numbers[i] = id.thread ? number : 0;
		if (number < 0)
			return -ENOMEM;
	}
	return 0;
}

/* A value that all of some rows have. */
struct common_value {
	bool set; /* false: NULL */
	int64_t number;
};

/*
 * Do all cells of a text column have one value, a text or NULL? Then a text is looked up only once.
 * Cells with numbers count as NULL. Returns 1, 0 or -ENOMEM.
 */
static int find_common_value(struct rowset_column *column, const struct cells *cells, uint32_t n,
			     struct common_value *ret_same)
{
	*ret_same = (struct common_value){ .set = false };
	if (!column->text || cells->kind == CELLS_NONE || cells->kind == CELLS_NUMBERS)
		return 1;
	if (cells->kind == CELLS_EVENTS || !is_one_text(cells, n))
		return 0;
	ret_same->set = cells->texts[0];
	if (ret_same->set)
		ret_same->number =
			intern_word(&column->words, cells->texts[0], strlen(cells->texts[0]));
	return ret_same->number < 0 ? (int)ret_same->number : 1;
}

static void fill_same(struct cells *cells, uint32_t n, const struct common_value *same)
{
	memset(cells->set, same->set, n);
	for (uint32_t i = 0; i < n; i++)
		cells->numbers[i] = same->number;
}

/*
 * Make numbers of cells that are not numbers. 1: the cells have the one value that all rows have so
 * far, so that nothing need be stored; 0; or -ENOMEM.
 */
static int intern_cells(struct rowset_column *column, struct cells *cells, uint32_t n, bool begins)
{
	struct common_value same;
	int one, err = 0;

	if (cells->kind == CELLS_NUMBERS && !column->text)
		return 0;
	one = find_common_value(column, cells, n, &same);
	if (one < 0)
		return one;
	if (one && !begins && !column->spread && same.set == column->first_set &&
	    same.number == column->first)
		return 1;
	if (one)
		fill_same(cells, n, &same);
	else
		err = cells->kind == CELLS_EVENTS ? intern_events(&column->words, cells, n)
						  : intern_texts(&column->words, cells, n);
	cells->kind = CELLS_NUMBERS;
	cells->some = true;
	return err;
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

/* Do all rows have the value that all had so far? If each equals the next, all equal the first. */
static bool are_all_first(const struct rowset_column *column, const struct cells *cells, uint32_t n)
{
	bool set = !cells->some || cells->set[0];

	return set == column->first_set && cells->numbers[0] == column->first &&
	       !memcmp(cells->numbers, cells->numbers + 1, (n - 1) * sizeof(*cells->numbers)) &&
	       (!cells->some || !memcmp(cells->set, cells->set + 1, n - 1));
}

static int put_set_flags(struct rowset_column *column, uint32_t row, const struct cells *cells,
			 uint32_t n)
{
	uint32_t set = cells->some ? 0 : n;

	for (uint32_t i = 0; cells->some && i < n; i++)
		set += cells->set[i];
	if (set == n && !column->nulls)
		return 0;
	if (vec_reserve(column->set, column->set_size, row + n))
		return -ENOMEM;
	if (!column->nulls)
		memset(column->set, 1, row);
	if (cells->some)
		memcpy(column->set + row, cells->set, n);
	else
		memset(column->set + row, 1, n);
	column->nulls += n - set;
	return 0;
}

/* Set the values from @row on, a row or a class. */
static int put_cells(struct rowset_column *column, uint32_t row, uint32_t n, struct cells *cells)
{
	int same = intern_cells(column, cells, n, !row);

	if (same)
		return same < 0 ? same : 0;
	if (!row) {
		column->first_set = !cells->some || cells->set[0];
		column->first = cells->numbers[0];
	}
	if (!column->spread) {
		if (are_all_first(column, cells, n))
			return 0;
		if (spread_column(column, row))
			return -ENOMEM;
	}
	if (vec_reserve(column->values, column->values_size, row + n))
		return -ENOMEM;
	memcpy(column->values + row, cells->numbers, n * sizeof(*cells->numbers));
	return put_set_flags(column, row, cells, n);
}

int rowset_put(struct rowset *rowset, unsigned int column, uint32_t n, struct cells *cells)
{
	return put_cells(&rowset->columns[column], rowset->rows, n, cells);
}

int rowset_use_classes(struct rowset *rowset, uint64_t columns, unsigned int key_words)
{
	rowset->key_words = key_words;
	rowset->classes = malloc(ROWSET_ROWS * sizeof(*rowset->classes));
	rowset->slots = calloc(CLASS_SLOTS, sizeof(*rowset->slots));
	if (!rowset->classes || !rowset->slots)
		return -ENOMEM;
	rowset->nslots = CLASS_SLOTS;
	for (unsigned int i = 0; i < rowset->ncolumns; i++)
		if (columns >> i & 1)
			rowset->columns[i].classes = rowset->classes;
	return 0;
}

void rowset_use_events(struct rowset *rowset, int column, int thread, int n)
{
	rowset->columns[column].thread = &rowset->columns[thread];
	rowset->columns[column].n = &rowset->columns[n];
}

static bool is_class(const struct rowset *rowset, uint32_t class, const void *key)
{
	size_t words = rowset->key_words;

	return !memcmp(rowset->keys + words * class, key, words * sizeof(*rowset->keys));
}

static uint32_t *find_class(struct rowset *rowset, const void *key)
{
	size_t mask = rowset->nslots - 1;
	size_t at = hash_of(key, rowset->key_words * sizeof(*rowset->keys), 0) & mask;

	while (rowset->slots[at] && !is_class(rowset, rowset->slots[at] - 1, key))
		at = (at + 1) & mask;
	return &rowset->slots[at];
}

static int grow_slots(struct rowset *rowset)
{
	uint32_t *more = calloc(rowset->nslots * 2, sizeof(*more));

	if (!more)
		return -ENOMEM;
	free(rowset->slots);
	rowset->slots = more;
	rowset->nslots *= 2;
	for (uint32_t i = 0; i < rowset->nclasses; i++)
		*find_class(rowset, rowset->keys + (size_t)i * rowset->key_words) = i + 1;
	return 0;
}

static int add_class(struct rowset *rowset, const void *key)
{
	size_t words = rowset->key_words;

	if (rowset->nclasses >= rowset->nslots / 2 && grow_slots(rowset))
		return -ENOMEM;
	if (vec_reserve(rowset->keys, rowset->keys_size, (rowset->nclasses + 1) * words))
		return -ENOMEM;
	memcpy(rowset->keys + rowset->nclasses * words, key, words * sizeof(*rowset->keys));
	*find_class(rowset, key) = ++rowset->nclasses;
	return 0;
}

int rowset_classify(struct rowset *rowset, uint32_t ahead, const void *key)
{
	uint32_t *recent, *slot;
	uint64_t first;
	bool new = false;

	memcpy(&first, key, sizeof(first));
	recent = &rowset->recent[map_hash(first) % ROWSET_RECENT];
	if (!*recent || !is_class(rowset, *recent - 1, key)) {
		slot = find_class(rowset, key);
		new = !*slot;
		if (new &&add_class(rowset, key))
			return -ENOMEM;
		*recent = new ? rowset->nclasses : *slot;
	}
	rowset->classes[rowset->rows + ahead] = (uint16_t)(*recent - 1);
	return new;
}

int rowset_put_class(struct rowset *rowset, unsigned int column, struct cells *cells)
{
	return put_cells(&rowset->columns[column], rowset->nclasses - 1, 1, cells);
}

const char *rowset_text(const struct rowset_column *column, uint32_t row,
			char event[static COMPUTED_EVENT_TEXT], size_t *ret_length)
{
	struct event_id id;

	if (!column->thread)
		return word_at(&column->words, (uint64_t)rowset_value(column, row), ret_length);
	id.thread = (uint32_t)rowset_value(column->thread, row);
	id.n = (uint64_t)rowset_value(column->n, row);
	return computed_event_text(id, event, ret_length);
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
	if (rowset->nclasses)
		memset(rowset->slots, 0, rowset->nslots * sizeof(*rowset->slots));
	memset(rowset->recent, 0, sizeof(rowset->recent));
	rowset->rows = rowset->nclasses = 0;
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

/* Memory for the values of a column, or for anything smaller of each row. */
struct move_buffer {
	int64_t *values;
	size_t size;
};

static void move_classes(struct rowset *rowset, const uint32_t *from, uint16_t *to)
{
	for (uint32_t i = 0; i < rowset->rows; i++)
		to[i] = rowset->classes[from[i]];
	memcpy(rowset->classes, to, rowset->rows * sizeof(*to));
}

/* Put the values in the order @from, into @moved, which becomes the column's memory, and back. */
static void move_values(struct rowset_column *column, const uint32_t *from, uint32_t rows,
			struct move_buffer *moved)
{
	struct move_buffer old = { column->values, column->values_size };
	uint8_t *set;

	for (uint32_t i = 0; i < rows; i++)
		moved->values[i] = old.values[from[i]];
	column->values = moved->values;
	column->values_size = moved->size;
	*moved = old;
	set = (uint8_t *)moved->values;
	if (!column->nulls)
		return;
	for (uint32_t i = 0; i < rows; i++)
		set[i] = column->set[from[i]];
	memcpy(column->set, set, rows);
}

/* Put the rows in the order @from, column by column. */
static void move_rows(struct rowset *rowset, const uint32_t *from, struct move_buffer *moved)
{
	if (rowset->classes)
		move_classes(rowset, from, (uint16_t *)moved->values);
	for (unsigned int c = 0; c < rowset->ncolumns; c++)
		if (rowset->columns[c].spread && !rowset->columns[c].classes)
			move_values(&rowset->columns[c], from, rowset->rows, moved);
}

/* Sort the @n rows @from by one digit of their keys into @to: a pass of a radix sort. */
static void sort_by_digit(const int64_t *keys, int64_t least, unsigned int shift,
			  const uint32_t *from, uint32_t *to, uint32_t n)
{
	enum { DIGITS = 1 << DIGIT_BITS };
	uint32_t places[DIGITS] = { 0 }, place = 0;

	for (uint32_t i = 0; i < n; i++)
		places[((uint64_t)keys[from[i]] - (uint64_t)least) >> shift & (DIGITS - 1)]++;
	for (int d = 0; d < DIGITS; d++) {
		uint32_t count = places[d];

		places[d] = place;
		place += count;
	}
	for (uint32_t i = 0; i < n; i++) {
		uint64_t key = (uint64_t)keys[from[i]] - (uint64_t)least;

		to[places[key >> shift & (DIGITS - 1)]++] = from[i];
	}
}

/* Sort the rows, in @order and @other of the same size. Returns the one with the result. */
static uint32_t *sort_rows(const struct rowset *rowset, uint32_t *order, uint32_t *other)
{
	const struct rowset_column *by = &rowset->columns[rowset->order];
	int64_t least = INT64_MAX, most = INT64_MIN;
	uint32_t nulls = 0, n = by->nulls;

	for (uint32_t i = 0; i < rowset->rows; i++) {
		if (!rowset_is_set(by, i)) {
			order[nulls] = other[nulls] = i;
			nulls++;
			continue;
		}
		order[n++] = i;
		least = by->values[i] < least ? by->values[i] : least;
		most = by->values[i] > most ? by->values[i] : most;
	}
	for (unsigned int shift = 0;
	     shift < 64 && ((uint64_t)most - (uint64_t)least) >> shift && n > nulls;
	     shift += DIGIT_BITS) {
		uint32_t *from = order;

		sort_by_digit(by->values, least, shift, order + nulls, other + nulls, n - nulls);
		order = other;
		other = from;
	}
	return order;
}

int rowset_sort(struct rowset *rowset)
{
	struct move_buffer moved = { .size = rowset->rows };
	uint32_t *orders;
	int err = -ENOMEM;

	if (is_sorted(rowset))
		return 0;
	orders = malloc(rowset->rows * 2 * sizeof(*orders));
	moved.values = malloc(rowset->rows * sizeof(*moved.values));
	if (orders && moved.values) {
		move_rows(rowset, sort_rows(rowset, orders, orders + rowset->rows), &moved);
		err = 0;
	}
	free(orders);
	free(moved.values);
	return err;
}
