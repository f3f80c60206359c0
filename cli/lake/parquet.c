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
 * value in SQL may be NULL. Pages are compressed by zstd. The job and the node are in the path.
 *
 * Not here: which values a column has, and how they are encoded (parquet_values.c), the form of
 * metadata (thrift.c).
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/lake/encode.h"
#include "cli/lake/lake.h"
#include "cli/lake/parquet_values.h"
#include "cli/lake/thrift.h"
#include "core/store/chunk/frame.h"
#include "core/wire/log.h"

/* Numbers from parquet.thrift. */
enum { INT64 = 2, BYTE_ARRAY = 6 };
enum { OPTIONAL = 1, UTF8 = 0, ZSTD = 6, DATA_PAGE = 0, DICTIONARY_PAGE = 2 };

static const char magic[] = "PAR1";

enum { SHOWN_MAX = 64 }; /* bytes of a least text */

/*
 * The level of zstd: higher ones take longer than all else, and save less than a tenth of a column
 * of numbers, and half a percent of a table by its texts.
 */
enum { LEVEL = 1 };

/* Shared by all files: reused memory. */
static struct zstd_frame frame;

static bool is_in_path(unsigned int column)
{
	return column == ROWS_JOB || column == ROWS_NODE;
}

static void describe_data(struct thrift *t, const struct values *values)
{
	thrift_open(t, 5);
	thrift_put_int(t, 1, THRIFT_I32, values->rows);
	thrift_put_int(t, 2, THRIFT_I32, values->encoding);
	thrift_put_int(t, 3, THRIFT_I32, RLE);
	thrift_put_int(t, 4, THRIFT_I32, RLE);
	thrift_close(t);
}

static void describe_dictionary(struct thrift *t, const struct values *values)
{
	thrift_open(t, 7);
	thrift_put_int(t, 1, THRIFT_I32, (int64_t)values->ndistinct);
	thrift_put_int(t, 2, THRIFT_I32, PLAIN);
	thrift_close(t);
}

static void share_page(struct values *values, const struct text *head, uint64_t plain)
{
	struct shared_page *same = values->same;

	text_add(&same->page, head->at, head->used);
	text_add(&same->page, values->packed.at, values->packed.used);
	if (same->page.failed)
		same->page.used = 0;
	same->plain = head->used + plain;
}

/* Write the page that the column has in common with another one. */
static void put_shared_page(struct lake_file *file, struct values *values)
{
	lake_write(file, values->same->page.at, values->same->page.used);
	values->plain += values->same->plain;
	values->compressed += values->same->page.used;
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
	thrift_put_int(&t, 1, THRIFT_I32, type);
	thrift_put_int(&t, 2, THRIFT_I32, (int64_t)bytes->used);
	thrift_put_int(&t, 3, THRIFT_I32, (int64_t)values->packed.used);
	if (type == DATA_PAGE)
		describe_data(&t, values);
	else
		describe_dictionary(&t, values);
	thrift_end(&t);
	if (!head.failed) {
		lake_write(file, head.at, head.used);
		lake_write(file, values->packed.at, values->packed.used);
		if (type == DATA_PAGE && values->same)
			share_page(values, &head, bytes->used);
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
		thrift_put_bytes(t, id, &bound, sizeof(bound));
		return;
	}
	word = word_at(&values->from->words, (uint64_t)bound, &n);
	if (n <= SHOWN_MAX)
		thrift_put_bytes(t, id, word, n);
}

static void describe_statistics(struct thrift *t, const struct values *values)
{
	thrift_open(t, 12);
	thrift_put_int(t, 3, THRIFT_I64, values->rows - values->n);
	if (values->n && values->bounded) {
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
	thrift_put_int(t, 2, THRIFT_I64, (int64_t)at);
	thrift_open(t, 3);
	thrift_put_int(t, 1, THRIFT_I32, values->from->text ? BYTE_ARRAY : INT64);
	thrift_list(t, 2, THRIFT_I32, dictionary ? 3 : 2);
	if (dictionary)
		thrift_put_element_int(t, PLAIN);
	thrift_put_element_int(t, RLE);
	thrift_put_element_int(t, values->encoding);
	thrift_list(t, 3, THRIFT_BINARY, 1);
	thrift_put_element_text(t, name);
	thrift_put_int(t, 4, THRIFT_I32, ZSTD);
	thrift_put_int(t, 5, THRIFT_I64, values->rows);
	thrift_put_int(t, 6, THRIFT_I64, (int64_t)values->plain);
	thrift_put_int(t, 7, THRIFT_I64, (int64_t)values->compressed);
	thrift_put_int(t, 9, THRIFT_I64, (int64_t)data);
	if (dictionary)
		thrift_put_int(t, 11, THRIFT_I64, (int64_t)at);
	describe_statistics(t, values);
	thrift_close(t);
	thrift_close(t);
}

static int put_column(struct lake_file *file, struct values *values, const char *name,
		      struct thrift *t)
{
	uint64_t at = file->size, data = at;
	int err = 0;

	values_clear(values);
	values_encode(values);
	if (values->ndistinct) {
		err = put_page(file, values, DICTIONARY_PAGE, &values->dictionary);
		data = file->size;
	}
	if (!err && values->same && values->same->page.used)
		put_shared_page(file, values);
	else if (!err)
		err = put_page(file, values, DATA_PAGE, &values->page);
	if (!err)
		describe_column(t, values, name, at, data);
	return err;
}

static unsigned int count_columns(const struct rowset *rowset)
{
	return rowset->ncolumns - 2; /* two columns are in the path of the file: is_in_path() */
}

/* The number of a column among those that are not in the path. */
static int column_number(int column)
{
	return column > ROWS_NODE ? column - 2 : column;
}

/* The end of a RowGroup, after its columns. */
static void end_group(struct thrift *t, const struct lake_file *file, uint64_t from, uint64_t plain)
{
	thrift_put_int(t, 2, THRIFT_I64, (int64_t)plain);
	thrift_put_int(t, 3, THRIFT_I64, file->rowset.rows);
	thrift_list(t, 4, THRIFT_STRUCT, 1);
	thrift_open(t, 0);
	thrift_put_int(t, 1, THRIFT_I32, column_number(file->rowset.order));
	thrift_put_bool(t, 2, false); /* descending */
	thrift_put_bool(t, 3, true);  /* NULL first */
	thrift_close(t);
	thrift_put_int(t, 5, THRIFT_I64, (int64_t)from);
	thrift_put_int(t, 6, THRIFT_I64, (int64_t)(file->size - from));
	thrift_close(t);
}

static int put_group(struct lake_file *file)
{
	struct rowset *rowset = &file->rowset;
	struct values values;
	struct thrift t = { .to = &file->notes };
	uint64_t from = file->size, plain = 0;
	int err = values_init(&values, rowset);

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
static void describe_type(struct thrift *t, const struct computed_column *column, bool text)
{
	thrift_open(t, 0);
	thrift_put_int(t, 1, THRIFT_I32, text ? BYTE_ARRAY : INT64);
	thrift_put_int(t, 3, THRIFT_I32, OPTIONAL);
	thrift_put_text(t, 4, column->name);
	if (text) {
		thrift_put_int(t, 6, THRIFT_I32, UTF8);
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
	thrift_put_text(t, 4, file->table->name);
	thrift_put_int(t, 5, THRIFT_I32, count_columns(rowset));
	thrift_close(t);
	for (unsigned int c = 0; c < rowset->ncolumns; c++)
		if (!is_in_path(c))
			describe_type(t, &file->table->columns[c], rowset->columns[c].text);
}

/* FileMetaData. */
static void describe_file(struct thrift *t, const struct lake_file *file)
{
	thrift_put_int(t, 1, THRIFT_I32, 2); /* version */
	describe_schema(t, file);
	thrift_put_int(t, 3, THRIFT_I64, (int64_t)file->rows);
	thrift_list(t, 4, THRIFT_STRUCT, file->nnotes);
	text_add(t->to, file->notes.at ? file->notes.at : "", file->notes.used);
	thrift_put_text(t, 6, "verbatim version " VERBATIM_VERSION);
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
