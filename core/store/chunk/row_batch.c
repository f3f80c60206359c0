/*
 * Writing rows of a table as a block, by columns
 *
 * Rows of objects that a program creates again and again differ in numbers only, including the
 * number at the end of a name. The shape of a row is the rest:
 *
 *	(18, 1, 'mr', 15, 'mr15', 93980, NULL)  ->  # # 'mr' # 'mr'# # NULL    18, 1, 15, 15, 93980
 *
 * A block stores each shape once; each # of a shape is a column of the numbers of its rows.
 *
 *	number of columns of the table
 *	the shapes, as texts (put_value() below)
 *	the column of the shapes of all rows
 *	for each shape its columns
 *
 * Not here: how these are packed (shapes.c), reading (row_block.c).
 */
#include "core/store/chunk/row_batch.h"

#include <errno.h>
#include <string.h>

#include "core/wire/hash.h"

enum { DIGITS = 18 };

/* The length of the decimal number at the end of a text, without leading zeros; 0: none. */
static size_t count_digits(const struct row_value *value)
{
	size_t n = 0;
	const char *end = value->text + value->length;

	while (n < value->length && n < DIGITS && end[-1 - (ptrdiff_t)n] >= '0' &&
	       end[-1 - (ptrdiff_t)n] <= '9')
		n++;
	while (n > 1 && end[-(ptrdiff_t)n] == '0')
		n--;
	return n;
}

static int64_t read_digits(const char *at, size_t n)
{
	int64_t number = 0;

	while (n--)
		number = number * 10 + (*at++ - '0');
	return number;
}

/* Add a value to the key. Returns 1 if a number of it, *@number, belongs in a column; else 0. */
static size_t put_value(struct text *key, const struct row_value *value, int64_t *number)
{
	size_t digits = value->kind == ROW_TEXT ? count_digits(value) : 0;

	text_char(key, (char)(digits ? ROW_NUMBERED : value->kind));
	if (value->kind == ROW_TEXT) {
		shapes_put_varint(key, value->length - digits);
		text_add(key, value->text, value->length - digits);
	}
	if (digits)
		*number = read_digits(value->text + value->length - digits, digits);
	else
		*number = value->number;
	return digits || value->kind == ROW_NUMBER;
}

int row_batch_add(struct row_batch *batch, const struct row_value *values, uint32_t columns)
{
	int64_t numbers[ROW_COLUMNS_MAX];
	struct column *to;
	bool times[ROW_COLUMNS_MAX];
	size_t n = 0, shape;

	text_cut(&batch->key, 0);
	for (uint32_t i = 0; i < columns; i++) {
		times[n] = batch->times >> i & 1;
		n += put_value(&batch->key, &values[i], &numbers[n]);
	}
	if (batch->key.failed ||
	    shapes_find_or_add(&batch->shapes, hash_of(batch->key.at, batch->key.used, 0),
			       &batch->key, n, &shape))
		return -ENOMEM;
	column_put(&batch->shape, shape);
	to = shapes_columns(&batch->shapes, shape);
	for (size_t i = 0; i < n; i++) {
		to[i].times = times[i];
		column_put(to + i, (uint64_t)numbers[i]);
	}
	batch->columns = columns;
	batch->rows++;
	return 0;
}

bool row_batch_is_full(const struct row_batch *batch)
{
	return batch->rows >= ROWS_MAX || batch->shapes.keys.bytes.used >= ROWS_TEXT_FULL;
}

int row_batch_pack(const struct row_batch *batch, struct shapes_packer *packer)
{
	shapes_pack_begin(packer);
	shapes_put_varint(&packer->plain, batch->columns);
	shapes_put_texts(&packer->plain, &batch->shapes.keys);
	shapes_put_column(&packer->plain, &batch->shape);
	shapes_put_columns(packer, &batch->shapes);
	return batch->shape.failed ? -ENOMEM : shapes_pack(packer, batch->rows);
}

void row_batch_clear(struct row_batch *batch)
{
	column_clear(&batch->shape);
	shapes_clear(&batch->shapes);
	batch->rows = 0;
}

void row_batch_fini(struct row_batch *batch)
{
	column_fini(&batch->shape);
	shapes_fini(&batch->shapes);
	text_fini(&batch->key);
	*batch = (struct row_batch){ 0 };
}
