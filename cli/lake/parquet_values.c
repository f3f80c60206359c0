/*
 * The values of one column of a row group of Parquet
 *
 * A column of few distinct values has a dictionary, any other column differences. Of a column whose
 * values are those of classes, the dictionary has the values of the classes, and most often the
 * indexes of rows are those of another column.
 *
 * Not here: the encodings (encode.c), pages and metadata (parquet.c).
 */
#include "cli/lake/parquet_values.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/lake/encode.h"
#include "core/base/map.h"

enum {
	DISTINCT_MAX = 256,
	DISTINCT_SLOTS = 1024, /* of a hash table; or of as many numbers in a row */
};

/* A text for comparisons: its first bytes as a number, and the text itself. */
struct ordered_text {
	uint64_t head;
	const char *text;
	size_t n;
};

static struct ordered_text make_ordered(const struct words *words, int64_t number)
{
	struct ordered_text found = { .text = NULL };

	found.text = word_at(words, (uint64_t)number, &found.n);
	memcpy(&found.head, found.text, sizeof(found.head)); /* ROWSET_SLACK */
	found.head = __builtin_bswap64(found.head);
	if (found.n < sizeof(found.head))
		found.head &= found.n ? ~0ull << 8 * (sizeof(found.head) - found.n) : 0;
	return found;
}

/* Is text @a before @b, byte for byte? */
static bool is_before(const struct ordered_text *a, const struct ordered_text *b)
{
	int order;

	if (a->head != b->head)
		return a->head < b->head;
	order = memcmp(a->text, b->text, a->n < b->n ? a->n : b->n);
	return order ? order < 0 : a->n < b->n;
}

static void find_texts(struct values *values, const int64_t *all, size_t n)
{
	const struct words *words = &values->from->words;
	struct ordered_text least = make_ordered(words, all[0]), most = least;

	values->least = values->most = all[0];
	for (size_t i = 1; i < n; i++) {
		struct ordered_text text = make_ordered(words, all[i]);

		if (is_before(&text, &least)) {
			least = text;
			values->least = all[i];
		}
		if (is_before(&most, &text)) {
			most = text;
			values->most = all[i];
		}
	}
}

/* Find the smallest and the largest of @n values; @n is at least 1. */
static void find_range(struct values *values, const int64_t *all, size_t n)
{
	int64_t least = all[0], most = all[0];

	if (values->from->text) {
		find_texts(values, all, n);
		return;
	}
	for (size_t i = 1; i < n; i++) {
		least = all[i] < least ? all[i] : least;
		most = all[i] > most ? all[i] : most;
	}
	values->least = least;
	values->most = most;
}

/* Select the values of rows in which @set has one, whether these columns are of classes or not. */
static void select_set_by_row(struct values *values, const struct rowset_column *from,
			      const struct rowset_column *set, int64_t *to)
{
	values->n = 0;
	for (uint32_t i = 0; i < values->rows; i++) {
		to[values->n] = rowset_value(from, i);
		values->n += rowset_is_set(set, i);
	}
}

/* Select the set values if each row has its own value or NULL. */
static void select_own(struct values *values, const struct rowset_column *from)
{
	uint32_t n = 0;

	for (uint32_t i = 0; i < values->rows; i++) {
		values->room[n] = from->values[i];
		n += from->set[i];
	}
	values->n = n;
}

/* Select the values that are not NULL; just one if the column has one value in all rows. */
static void select_set(struct values *values)
{
	const struct rowset_column *from = values->from;

	values->numbers = values->room;
	if (!from->spread) {
		values->room[0] = from->first;
		values->n = from->first_set ? values->rows : 0;
	} else if (from->classes) {
		select_set_by_row(values, from, from, values->room);
	} else if (!from->nulls) {
		values->numbers = from->values;
		values->n = values->rows;
	} else {
		select_own(values, from);
	}
}

/* Number the distinct values if they are close together: each has a slot in an array. */
static bool assign_dense_numbers(struct values *values)
{
	uint16_t indexes[DISTINCT_SLOTS] = { 0 };

	for (uint32_t i = 0; i < values->n; i++) {
		uint16_t *index = &indexes[values->numbers[i] - values->least];

		if (!*index) {
			if (values->ndistinct == DISTINCT_MAX)
				return false;
			values->distinct[values->ndistinct++] = values->numbers[i];
			*index = (uint16_t)values->ndistinct;
		}
		values->indexes[i] = *index - 1u;
	}
	return true;
}

static bool assign_sparse_numbers(struct values *values)
{
	uint16_t slots[DISTINCT_SLOTS] = { 0 };

	for (uint32_t i = 0; i < values->n; i++) {
		int64_t number = values->numbers[i];
		size_t at = map_hash((uint64_t)number) & (DISTINCT_SLOTS - 1);

		while (slots[at] && values->distinct[slots[at] - 1] != number)
			at = (at + 1) & (DISTINCT_SLOTS - 1);
		if (!slots[at]) {
			if (values->ndistinct == DISTINCT_MAX)
				return false;
			values->distinct[values->ndistinct++] = number;
			slots[at] = (uint16_t)values->ndistinct;
		}
		values->indexes[i] = slots[at] - 1u;
	}
	return true;
}

/* Number the distinct values; gives up if there are too many. */
static bool assign_numbers(struct values *values)
{
	bool near = (uint64_t)values->most - (uint64_t)values->least < DISTINCT_SLOTS;

	return near ? assign_dense_numbers(values) : assign_sparse_numbers(values);
}

static unsigned int index_width(const struct values *values)
{
	unsigned int width = encode_width(values->ndistinct ? values->ndistinct - 1 : 0);

	return width ? width : 1;
}

/* Texts: the words of the column are its dictionary, unless equal texts have several numbers. */
static bool choose_words(struct values *values)
{
	const struct words *words = &values->from->words;

	if (words->many)
		return false;
	values->ndistinct = words->nwords;
	for (uint32_t i = 0; i < values->n; i++)
		values->indexes[i] = (uint16_t)values->numbers[i];
	for (size_t i = 0; i < words->nwords; i++)
		values->distinct[i] = (int64_t)i;
	return true;
}

static bool choose_dictionary(struct values *values)
{
	size_t size;

	if (!values->from->spread) {
		values->distinct[0] = values->numbers[0];
		values->ndistinct = 1;
		return true;
	}
	if (values->from->text)
		return choose_words(values);
	if (!assign_numbers(values))
		return false;
	size = values->ndistinct * 8 + (size_t)values->n * index_width(values) / 8;
	return values->ndistinct <= 2 || size <= encode_delta_size(values->numbers, values->n);
}

static void put_dictionary(struct values *values)
{
	const struct words *words = &values->from->words;
	struct text *to = &values->dictionary;

	for (size_t i = 0; i < values->ndistinct; i++) {
		size_t n;
		const char *word;

		if (!values->from->text) {
			encode_plain(to, (uint64_t)values->distinct[i], 8);
			continue;
		}
		word = word_at(words, (uint64_t)values->distinct[i], &n);
		encode_plain(to, n, 4);
		text_add(to, word, n);
	}
}

static void put_indexes(struct values *values)
{
	text_char(&values->page, (char)index_width(values));
	if (values->from->spread)
		encode_rle(&values->page, values->indexes, values->n, index_width(values));
	else
		encode_run(&values->page, 0, values->n, 1);
}

/* Write which rows have a value (definition levels), in front of the values. */
static void put_levels(struct values *values)
{
	struct text levels = { 0 };
	bool own = !values->from->thread && !values->from->classes;

	for (uint32_t i = 0; values->n && values->n < values->rows && i < values->rows; i++)
		values->indexes[i] = own ? values->from->set[i] : rowset_is_set(values->from, i);
	if (values->n && values->n < values->rows)
		encode_rle(&levels, values->indexes, values->rows, 1);
	else
		encode_run(&levels, values->n > 0, values->rows, 1);
	encode_plain(&values->page, levels.used, 4);
	text_add(&values->page, levels.at ? levels.at : "", levels.used);
	values->page.failed |= levels.failed;
	text_fini(&levels);
}

/* The value of each class as an index into the dictionary. False: there are too many. */
static bool assign_class_numbers(struct values *values, uint16_t *indexes)
{
	const struct rowset_column *from = values->from;
	uint32_t classes = values->rowset->nclasses, at = 0;
	bool few;

	values->numbers = values->room;
	values->n = 0;
	for (uint32_t i = 0; i < classes; i++) {
		values->room[values->n] = from->values[i];
		values->n += !from->nulls || from->set[i];
	}
	few = from->text ? choose_words(values) : assign_sparse_numbers(values);
	for (uint32_t i = 0; few && i < classes; i++) {
		bool set = !from->nulls || from->set[i];

		indexes[i] = set ? values->indexes[at] : (uint16_t)NO_VALUE;
		at += set;
	}
	return few;
}

/* Find the page of @indexes, or a free one, which takes @indexes; NULL: there is none. */
static struct shared_page *find_shared_page(struct values *values, uint16_t *indexes)
{
	for (int i = 0; i < SHARED_PAGES; i++) {
		struct shared_page *shared = &values->shared[i];

		if (shared->indexes && memcmp(shared->indexes, indexes,
					      values->rowset->nclasses * sizeof(*indexes)) != 0)
			continue;
		if (shared->indexes)
			free(indexes);
		else
			shared->indexes = indexes;
		return shared;
	}
	return NULL;
}

/* Look up the indexes of rows that have one. */
static uint32_t select_indexes(struct values *values, const uint16_t *of)
{
	const uint16_t *classes = values->rowset->classes;
	uint32_t n = 0;

	for (uint32_t i = 0; i < values->rows; i++) {
		values->indexes[n] = of[classes[i]];
		n += values->indexes[n] != NO_VALUE;
	}
	return n;
}

static bool have_all_a_value(const uint16_t *of, uint32_t classes)
{
	bool all = true;

	for (uint32_t i = 0; i < classes; i++)
		all &= of[i] != NO_VALUE;
	return all;
}

/* Write the indexes of rows from those of their classes. */
static void put_class_indexes(struct values *values, const uint16_t *of)
{
	const uint16_t *classes = values->rowset->classes;
	bool all = have_all_a_value(of, values->rowset->nclasses);

	values->n = all ? values->rows : select_indexes(values, of);
	put_levels(values);
	if (!all)
		select_indexes(values, of);
	for (uint32_t i = 0; all && i < values->rows; i++)
		values->indexes[i] = of[classes[i]];
	text_char(&values->page, (char)index_width(values));
	encode_rle(&values->page, values->indexes, values->n, index_width(values));
}

/* Encode a column whose values are those of classes. False: it has too many of them. */
static bool encode_classes(struct values *values)
{
	uint16_t *indexes = malloc(values->rowset->nclasses * sizeof(*indexes));

	if (!indexes || !assign_class_numbers(values, indexes)) {
		values->page.failed |= !indexes;
		values->ndistinct = values->n = 0;
		free(indexes);
		return false;
	}
	values->encoding = RLE_DICTIONARY;
	find_range(values, values->distinct, values->ndistinct);
	put_dictionary(values);
	values->same = find_shared_page(values, indexes);
	if (values->same && values->same->page.used) {
		values->n = values->same->n;
		return true;
	}
	put_class_indexes(values, indexes);
	if (values->same)
		values->same->n = values->n;
	else
		free(indexes);
	return true;
}

/* Has each event a number of its own, and a thread that is one of few? */
static bool are_events_plain(const struct rowset_column *thread, const struct rowset_column *n)
{
	return n->spread && !n->classes &&
	       (thread->spread ? thread->classes && !thread->nulls : thread->first_set);
}

/* Select the threads and the numbers of events, which are set in the same rows. */
static const int64_t *select_events(struct values *values, int64_t *room)
{
	const struct rowset_column *thread = values->from->thread, *n = values->from->n;

	if (!are_events_plain(thread, n)) {
		select_set_by_row(values, n, thread, room);
		select_set_by_row(values, thread, thread, values->room);
		return room;
	}
	values->n = values->rows;
	for (uint32_t i = 0; i < values->rows; i++)
		values->room[i] =
			thread->spread ? thread->values[thread->classes[i]] : thread->first;
	return n->values;
}

/* The names of events have no bounds: readers look for numbers. */
static void encode_event_names(struct values *values)
{
	int64_t *room = malloc(values->rows * sizeof(*room));
	const int64_t *numbers;

	if (!room) {
		values->page.failed = true;
		return;
	}
	numbers = select_events(values, room);
	put_levels(values);
	values->encoding = values->n ? DELTA_BYTE_ARRAY : PLAIN;
	values->bounded = false;
	if (values->n)
		encode_events(&values->page, values->room, numbers, values->n);
	free(room);
}

void values_encode(struct values *values)
{
	const struct words *words = &values->from->words;

	values->bounded = true;
	if (values->from->thread) {
		encode_event_names(values);
		return;
	}
	if (values->from->spread && values->from->classes && encode_classes(values))
		return;
	select_set(values);
	put_levels(values);
	values->encoding = PLAIN; /* no value at all */
	if (!values->n)
		return;
	if (!values->from->text)
		find_range(values, values->numbers, values->from->spread ? values->n : 1);
	if (choose_dictionary(values)) {
		values->encoding = RLE_DICTIONARY;
		if (values->from->text)
			find_range(values, values->distinct, values->ndistinct);
		put_dictionary(values);
		put_indexes(values);
		return;
	}
	values->ndistinct = 0;
	if (values->from->text) {
		values->encoding = DELTA_BYTE_ARRAY;
		find_range(values, values->numbers, values->n);
		encode_texts(&values->page, words->bytes, words->ends, values->numbers, values->n);
		return;
	}
	values->encoding = DELTA_BINARY_PACKED;
	encode_delta(&values->page, values->numbers, values->n);
}

void values_clear(struct values *values)
{
	values->dictionary.used = values->page.used = 0;
	values->ndistinct = values->n = 0;
	values->plain = values->compressed = 0;
	values->same = NULL;
}

int values_init(struct values *values, const struct rowset *rowset)
{
	*values = (struct values){ .rowset = rowset, .rows = rowset->rows };
	values->room = malloc(rowset->rows * sizeof(*values->room));
	values->indexes = malloc(rowset->rows * sizeof(*values->indexes));
	values->distinct = malloc(ROWSET_WORDS * sizeof(*values->distinct));
	return values->room && values->indexes && values->distinct ? 0 : -ENOMEM;
}

void values_fini(struct values *values)
{
	for (int i = 0; i < SHARED_PAGES; i++) {
		free(values->shared[i].indexes);
		text_fini(&values->shared[i].page);
	}
	free(values->room);
	free(values->indexes);
	free(values->distinct);
	text_fini(&values->dictionary);
	text_fini(&values->page);
	text_fini(&values->packed);
}
