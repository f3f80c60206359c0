/*
 * Tables as Parquet files
 *
 * 	PAR1
 * 	row groups: for each column [dictionary page] data page
 * 	metadata
 * 	4 bytes: its length
 * 	PAR1
 *
 * https://github.com/apache/parquet-format: parquet.thrift has the structures, whose fields are
 * numbered there. Numbers are INT64, texts BYTE_ARRAY with UTF-8; all columns are OPTIONAL, as any
 * value in SQL may be NULL. A column of few distinct values has a dictionary, any other column
 * differences; pages are compressed by zstd. The job and the node are in the path.
 *
 * Not here: encodings (encode.c), the form of metadata (thrift.c).
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/lake/encode.h"
#include "cli/lake/lake.h"
#include "cli/lake/thrift.h"
#include "core/base/map.h"
#include "core/store/chunk/frame.h"
#include "core/wire/log.h"

/* Numbers from parquet.thrift. */
enum { INT64 = 2, BYTE_ARRAY = 6 };
enum { OPTIONAL = 1, UTF8 = 0, ZSTD = 6, DATA_PAGE = 0, DICTIONARY_PAGE = 2 };
enum { PLAIN = 0, RLE = 3, DELTA_BINARY_PACKED = 5, DELTA_BYTE_ARRAY = 7, RLE_DICTIONARY = 8 };

static const char magic[] = "PAR1";

enum {
	DISTINCT_MAX = 256,
	DISTINCT_SLOTS = 1024, /* of a hash table; or of as many numbers in a row */
	SHOWN_MAX = 64,        /* bytes of a least text */
};

/*
 * The level of zstd: higher ones take longer than all else, and save less than a tenth of a column
 * of numbers, and half a percent of a table by its texts.
 */
enum { LEVEL = 1 };

/* The values of a column that are not NULL, and how they are written. */
struct values {
	const struct rowset_column *from;
	uint32_t rows, n;
	const int64_t *numbers; /* of a text: the number of its word */
	int64_t *room;          /* memory for `numbers`, unless these are the column's own */
	uint16_t *indexes;      /* into the dictionary */
	int64_t *distinct;      /* the dictionary */
	size_t ndistinct;
	int encoding;
	struct text dictionary, page, packed;
	int64_t least, most; /* of `numbers` */
	uint64_t plain, compressed;
};

/* Shared by all files: reused memory. */
static struct frame frame;

static bool is_in_path(unsigned int column)
{
	return column == ROWS_JOB || column == ROWS_NODE;
}

/* A text for comparisons: its first bytes as a number, and the text itself. */
struct ordered {
	uint64_t head;
	const char *text;
	size_t n;
};

static struct ordered make_ordered(const struct words *words, int64_t number)
{
	struct ordered found = { .text = NULL };

	found.text = word_at(words, (uint64_t)number, &found.n);
	memcpy(&found.head, found.text, sizeof(found.head)); /* ROWSET_SLACK */
	found.head = __builtin_bswap64(found.head);
	if (found.n < sizeof(found.head))
		found.head &= found.n ? ~0ull << 8 * (sizeof(found.head) - found.n) : 0;
	return found;
}

/* Is text @a before @b, byte for byte? */
static bool is_before(const struct ordered *a, const struct ordered *b)
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
	struct ordered least = make_ordered(words, all[0]), most = least;

	values->least = values->most = all[0];
	for (size_t i = 1; i < n; i++) {
		struct ordered text = make_ordered(words, all[i]);

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

/* Select the values that are not NULL; just one if the column has one value in all rows. */
static void select_set(struct values *values)
{
	const struct rowset_column *from = values->from;

	values->numbers = values->room;
	if (!from->spread) {
		values->room[0] = from->first;
		values->n = from->first_set ? values->rows : 0;
		return;
	}
	if (!from->nulls) {
		values->numbers = from->values;
		values->n = values->rows;
		return;
	}
	for (uint32_t i = 0; i < values->rows; i++) {
		values->room[values->n] = from->values[i];
		values->n += from->set[i];
	}
}

/* Number the distinct values if they are close together: each has a slot in an array. */
static bool number_dense_values(struct values *values)
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

static bool number_sparse_values(struct values *values)
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
static bool number_distinct(struct values *values)
{
	bool near = (uint64_t)values->most - (uint64_t)values->least < DISTINCT_SLOTS;

	return near ? number_dense_values(values) : number_sparse_values(values);
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
	if (!number_distinct(values))
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

	for (uint32_t i = 0; values->n && values->n < values->rows && i < values->rows; i++)
		values->indexes[i] = values->from->set[i];
	if (values->n && values->n < values->rows)
		encode_rle(&levels, values->indexes, values->rows, 1);
	else
		encode_run(&levels, values->n > 0, values->rows, 1);
	encode_plain(&values->page, levels.used, 4);
	text_add(&values->page, levels.at ? levels.at : "", levels.used);
	values->page.failed |= levels.failed;
	text_fini(&levels);
}

static void encode_values(struct values *values)
{
	const struct words *words = &values->from->words;

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

static void describe_data(struct thrift *t, const struct values *values)
{
	thrift_open(t, 5);
	thrift_int(t, 1, THRIFT_I32, values->rows);
	thrift_int(t, 2, THRIFT_I32, values->encoding);
	thrift_int(t, 3, THRIFT_I32, RLE);
	thrift_int(t, 4, THRIFT_I32, RLE);
	thrift_close(t);
}

static void describe_dictionary(struct thrift *t, const struct values *values)
{
	thrift_open(t, 7);
	thrift_int(t, 1, THRIFT_I32, (int64_t)values->ndistinct);
	thrift_int(t, 2, THRIFT_I32, PLAIN);
	thrift_close(t);
}

static int put_page(struct lake_file *file, struct values *values, int type,
		    const struct text *bytes)
{
	struct text head = { 0 };
	struct thrift t = { .to = &head };
	int err;

	values->packed.used = 0;
	err = frame_add(&frame, bytes->at ? bytes->at : "", bytes->used, LEVEL, &values->packed);
	if (err || bytes->failed)
		return -ENOMEM;
	thrift_int(&t, 1, THRIFT_I32, type);
	thrift_int(&t, 2, THRIFT_I32, (int64_t)bytes->used);
	thrift_int(&t, 3, THRIFT_I32, (int64_t)values->packed.used);
	if (type == DATA_PAGE)
		describe_data(&t, values);
	else
		describe_dictionary(&t, values);
	thrift_end(&t);
	if (!head.failed) {
		lake_write(file, head.at, head.used);
		lake_write(file, values->packed.at, values->packed.used);
		values->plain += head.used + bytes->used;
		values->compressed += head.used + values->packed.used;
	}
	err = head.failed ? -ENOMEM : 0;
	text_fini(&head);
	return err;
}

/* The least or the largest value; a long text has no bound, which only costs a reader time. */
static void put_bound(struct thrift *t, int id, const struct values *values, int64_t bound)
{
	const char *word;
	size_t n;

	if (!values->from->text) {
		thrift_bytes(t, id, &bound, sizeof(bound));
		return;
	}
	word = word_at(&values->from->words, (uint64_t)bound, &n);
	if (n <= SHOWN_MAX)
		thrift_bytes(t, id, word, n);
}

static void describe_statistics(struct thrift *t, const struct values *values)
{
	thrift_open(t, 12);
	thrift_int(t, 3, THRIFT_I64, values->rows - values->n);
	if (values->n) {
		put_bound(t, 5, values, values->most);
		put_bound(t, 6, values, values->least);
	}
	thrift_close(t);
}

/* ColumnChunk. */
static void describe_column(struct thrift *t, const struct values *values, const char *name,
			    uint64_t at, uint64_t data)
{
	bool dictionary = values->ndistinct;

	thrift_open(t, 0);
	thrift_int(t, 2, THRIFT_I64, (int64_t)at);
	thrift_open(t, 3);
	thrift_int(t, 1, THRIFT_I32, values->from->text ? BYTE_ARRAY : INT64);
	thrift_list(t, 2, THRIFT_I32, dictionary ? 3 : 2);
	if (dictionary)
		thrift_element_int(t, PLAIN);
	thrift_element_int(t, RLE);
	thrift_element_int(t, values->encoding);
	thrift_list(t, 3, THRIFT_BINARY, 1);
	thrift_element_text(t, name);
	thrift_int(t, 4, THRIFT_I32, ZSTD);
	thrift_int(t, 5, THRIFT_I64, values->rows);
	thrift_int(t, 6, THRIFT_I64, (int64_t)values->plain);
	thrift_int(t, 7, THRIFT_I64, (int64_t)values->compressed);
	thrift_int(t, 9, THRIFT_I64, (int64_t)data);
	if (dictionary)
		thrift_int(t, 11, THRIFT_I64, (int64_t)at);
	describe_statistics(t, values);
	thrift_close(t);
	thrift_close(t);
}

static void forget_column(struct values *values)
{
	values->dictionary.used = values->page.used = 0;
	values->ndistinct = values->n = 0;
	values->plain = values->compressed = 0;
}

static int put_column(struct lake_file *file, struct values *values, const char *name,
		      struct thrift *t)
{
	uint64_t at = file->size, data = at;
	int err = 0;

	forget_column(values);
	encode_values(values);
	if (values->ndistinct) {
		err = put_page(file, values, DICTIONARY_PAGE, &values->dictionary);
		data = file->size;
	}
	if (!err)
		err = put_page(file, values, DATA_PAGE, &values->page);
	if (!err)
		describe_column(t, values, name, at, data);
	return err;
}

static void values_fini(struct values *values)
{
	free(values->room);
	free(values->indexes);
	free(values->distinct);
	text_fini(&values->dictionary);
	text_fini(&values->page);
	text_fini(&values->packed);
}

static unsigned int count_columns(const struct rowset *rowset)
{
	return rowset->ncolumns - 2; /* is_in_path() */
}

/* The number of a column among those that are not in the path. */
static int column_number(int column)
{
	return column > ROWS_NODE ? column - 2 : column;
}

/* The end of a RowGroup, after its columns. */
static void end_group(struct thrift *t, const struct lake_file *file, uint64_t from, uint64_t plain)
{
	thrift_int(t, 2, THRIFT_I64, (int64_t)plain);
	thrift_int(t, 3, THRIFT_I64, file->rowset.rows);
	thrift_list(t, 4, THRIFT_STRUCT, 1);
	thrift_open(t, 0);
	thrift_int(t, 1, THRIFT_I32, column_number(file->rowset.order));
	thrift_bool(t, 2, false); /* descending */
	thrift_bool(t, 3, true);  /* NULL first */
	thrift_close(t);
	thrift_int(t, 5, THRIFT_I64, (int64_t)from);
	thrift_int(t, 6, THRIFT_I64, (int64_t)(file->size - from));
	thrift_close(t);
}

static int put_group(struct lake_file *file)
{
	struct rowset *rowset = &file->rowset;
	struct values values = { .rows = rowset->rows };
	struct thrift t = { .to = &file->notes };
	uint64_t from = file->size, plain = 0;
	int err = 0;

	values.room = malloc(rowset->rows * sizeof(*values.room));
	values.indexes = malloc(rowset->rows * sizeof(*values.indexes));
	values.distinct = malloc(ROWSET_WORDS * sizeof(*values.distinct));
	if (!values.room || !values.indexes || !values.distinct)
		err = -ENOMEM;
	thrift_open(&t, 0);
	thrift_list(&t, 1, THRIFT_STRUCT, count_columns(rowset));
	for (unsigned int c = 0; c < rowset->ncolumns && !err; c++) {
		if (is_in_path(c))
			continue;
		values.from = &rowset->columns[c];
		err = put_column(file, &values, file->table->columns[c].name, &t);
		plain += values.plain;
	}
	end_group(&t, file, from, plain);
	file->nnotes++;
	values_fini(&values);
	return file->notes.failed ? -ENOMEM : err;
}

/* SchemaElement. */
static void describe_type(struct thrift *t, const struct made_column *column, bool text)
{
	thrift_open(t, 0);
	thrift_int(t, 1, THRIFT_I32, text ? BYTE_ARRAY : INT64);
	thrift_int(t, 3, THRIFT_I32, OPTIONAL);
	thrift_text(t, 4, column->name);
	if (text) {
		thrift_int(t, 6, THRIFT_I32, UTF8);
		thrift_open(t, 10); /* LogicalType: STRING */
		thrift_open(t, 1);
		thrift_close(t);
		thrift_close(t);
	}
	thrift_close(t);
}

static void describe_schema(struct thrift *t, const struct lake_file *file)
{
	const struct rowset *rowset = &file->rowset;

	thrift_list(t, 2, THRIFT_STRUCT, 1 + count_columns(rowset));
	thrift_open(t, 0);
	thrift_text(t, 4, file->table->name);
	thrift_int(t, 5, THRIFT_I32, count_columns(rowset));
	thrift_close(t);
	for (unsigned int c = 0; c < rowset->ncolumns; c++)
		if (!is_in_path(c))
			describe_type(t, &file->table->columns[c], rowset->columns[c].text);
}

/* FileMetaData. */
static void describe_file(struct thrift *t, const struct lake_file *file)
{
	thrift_int(t, 1, THRIFT_I32, 2); /* version */
	describe_schema(t, file);
	thrift_int(t, 3, THRIFT_I64, (int64_t)file->rows);
	thrift_list(t, 4, THRIFT_STRUCT, file->nnotes);
	text_add(t->to, file->notes.at ? file->notes.at : "", file->notes.used);
	thrift_text(t, 6, "verbatim version " VERBATIM_VERSION);
	/* ColumnOrder: TYPE_ORDER; without it the bounds would not be used */
	thrift_list(t, 7, THRIFT_STRUCT, count_columns(&file->rowset));
	for (unsigned int c = 0; c < count_columns(&file->rowset); c++) {
		thrift_open(t, 0);
		thrift_open(t, 1);
		thrift_close(t);
		thrift_close(t);
	}
	thrift_end(t);
}

static void begin_parquet(struct lake_file *file)
{
	lake_write(file, magic, strlen(magic));
}

static int end_parquet(struct lake_file *file)
{
	struct text metadata = { 0 };
	struct thrift t = { .to = &metadata };

	describe_file(&t, file);
	if (metadata.failed) {
		text_fini(&metadata);
		return -ENOMEM;
	}
	encode_plain(&metadata, metadata.used, 4);
	text_add(&metadata, magic, strlen(magic));
	lake_write(file, metadata.at, metadata.used);
	text_fini(&metadata);
	return 0;
}

const struct lake_format parquet_format = {
	.suffix = ".parquet",
	.paths = true,
	.put = put_group,
	.begin = begin_parquet,
	.end = end_parquet,
};
