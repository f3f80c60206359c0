/*
 * Writing control verbs of one thread as a block, by columns
 *
 * Calls that repeat differ in a few numbers. The shape of a call is all the rest: its verb, stack,
 * the paths of its references, and the JSON of its arguments and outputs with a hole for each
 * number and each string value:
 *
 * 	{"mr":93980,"length":4096}   ->   {"mr":#,"length":#}   93980, 4096
 *
 * A block has each shape once. The values of each hole of a shape are a column, and so are the
 * handles of each reference; the order, numbers and times are columns of all calls. A string is a
 * number, too: that of the string in the block. So a block is read without the list of verbs.
 *
 * 	version, calls, bytes of the rest before compression       byte, varint, varint
 * 	one zstd frame of:
 * 		number of strings; each: length, bytes
 * 		number of shapes; each: length, bytes (put_key() below)
 * 		the columns of all calls (CALL_SHAPE ...)
 * 		for each shape: CALL_RET ..., a column for each hole, two for each reference
 *
 * 	a column:   0, zigzag(base), zigzag(step)      linear
 * 	            1, bytes, that many bytes          column.c has the format
 *
 * Not here: reading (call_block.c).
 */
#include "core/store/chunk/call_batch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>

#include "core/base/vec.h"
#include "core/wire/hash.h"

enum { LEVEL = 1, DIGITS = 19 };

/* Texts that are numbered in the order in which they first come. */
struct index {
	struct text bytes; /* all of them, one after the other */
	struct indexed {
		uint64_t hash;
		size_t at, length;
	} * list;
	size_t count, size;
	uint32_t *slots; /* 1 + index of the list; a power of two of them */
	size_t nslots;
};

/* The columns of one shape. */
struct shape_rows {
	size_t first, count;
};

struct call_batch {
	struct call_extent extent;
	struct index shapes, strings;
	struct shape_rows *rows; /* by shape */
	size_t nrows, rows_size;
	struct column common[CALL_COMMON];
	struct column *columns; /* of all shapes; those from @ncolumns on are empty */
	size_t ncolumns, columns_size, columns_made;
	size_t nvalues;
};

/* Shapes */

static int add_value(struct call_shape *shape, const char *text, uint64_t number)
{
	if (vec_reserve(shape->values, shape->size, shape->nvalues + 1))
		return -ENOMEM;
	shape->values[shape->nvalues++] = (struct call_value){ text, number };
	return 0;
}

/* The number at @at, if it is one that call_block.c writes in the same way; its length, or 0. */
static size_t read_number(const char *at, uint64_t *ret_number)
{
	bool minus = *at == '-';
	const char *first = at + minus, *end = first;
	uint64_t n = 0;

	while (*end >= '0' && *end <= '9' && end - first < DIGITS)
		n = n * 10 + (uint64_t)(*end++ - '0');
	if (end == first || n > INT64_MAX || (*first == '0' && (minus || end - first > 1)) ||
	    (*end >= '0' && *end <= '9') || *end == '.' || *end == 'e' || *end == 'E')
		return 0;
	*ret_number = minus ? -n : n;
	return (size_t)(end - at);
}

/* The character after the string that begins at @at; its end, if it has none. */
static const char *end_string(const char *at)
{
	for (at++; *at && *at != '"'; at++)
		if (*at == '\\' && at[1])
			at++;
	return *at ? at + 1 : at;
}

/* A name stays in the template, a value leaves a hole. */
static int add_string(struct call_shape *shape, const char *at, const char *end)
{
	if (*end == ':' || end[-1] != '"' || end - at < 2) {
		text_add(&shape->key, at, (size_t)(end - at));
		return 0;
	}
	text_char(&shape->key, CALL_STRING);
	return add_value(shape, at + 1, (uint64_t)(end - at) - 2);
}

/* Would a reader take a byte of @json for a hole? JSON has none such. */
static bool has_holes(const char *json)
{
	static const char holes[] = { CALL_NUMBER, CALL_STRING, '\0' };

	return strpbrk(json, holes);
}

/* Copy the next byte of the template, or all of a number that has no column. */
static const char *put_literal(struct call_shape *shape, const char *json)
{
	size_t n = strspn(json, "+-.eE0123456789");

	text_add(&shape->key, json, n ? n : 1);
	return json + (n ? n : 1);
}

static int put_holes(struct call_shape *shape, const char *json)
{
	int err = 0;

	while (*json && !err) {
		uint64_t number;
		size_t digits;
		const char *end;

		if (*json == '"') {
			end = end_string(json);
			err = add_string(shape, json, end);
			json = end;
		} else if ((digits = read_number(json, &number))) {
			text_char(&shape->key, CALL_NUMBER);
			err = add_value(shape, NULL, number);
			json += digits;
		} else {
			json = put_literal(shape, json);
		}
	}
	return err;
}

/* A null pointer, a template, or one hole for all of it. */
static int put_template(struct call_shape *shape, const char *json)
{
	bool odd = json && has_holes(json);
	int err = 0;

	text_char(&shape->key, !json ? CALL_NO_TEXT : odd ? CALL_WHOLE_TEXT : CALL_TEMPLATE);
	if (odd)
		err = add_value(shape, json, strlen(json));
	else if (json)
		err = put_holes(shape, json);
	text_char(&shape->key, '\0');
	return err;
}

static void put_varint(struct text *to, uint64_t value)
{
	char *at = text_space(to, 10);

	if (at)
		to->used += varint_put((uint8_t *)at, value);
}

static void put_word(struct text *to, const char *word)
{
	text_add(to, word, strlen(word) + 1);
}

static int put_key(struct call_shape *shape, const struct call_row *row)
{
	struct text *key = &shape->key;
	int err;

	put_varint(key, row->depth);
	put_varint(key, row->stack);
	put_varint(key, row->failed | (uint64_t)row->ours << 1);
	put_varint(key, row->nrefs);
	put_word(key, row->verb);
	err = put_template(shape, row->args) ?: put_template(shape, row->out);
	for (size_t i = 0; i < row->nrefs; i++) {
		put_word(key, row->refs[i].path);
		put_word(key, row->refs[i].kind);
	}
	return err ? err : key->failed ? -ENOMEM : 0;
}

int call_shape_read(struct call_shape *shape, const struct call_row *row)
{
	int err;

	text_cut(&shape->key, 0);
	shape->nvalues = 0;
	err = put_key(shape, row);
	if (!err)
		shape->hash = hash_of(shape->key.at, shape->key.used, 0);
	return err;
}

void call_shape_fini(struct call_shape *shape)
{
	text_fini(&shape->key);
	free(shape->values);
	*shape = (struct call_shape){ 0 };
}

/* Texts with numbers */

static int grow_slots(struct index *index)
{
	size_t n = index->nslots ? index->nslots * 2 : 16;
	uint32_t *slots = calloc(n, sizeof(*slots));

	if (!slots)
		return -ENOMEM;
	for (size_t i = 0; i < index->count; i++) {
		size_t at = index->list[i].hash & (n - 1);

		while (slots[at])
			at = (at + 1) & (n - 1);
		slots[at] = (uint32_t)i + 1;
	}
	free(index->slots);
	index->slots = slots;
	index->nslots = n;
	return 0;
}

static bool is_text(const struct index *index, size_t i, uint64_t hash, const char *text, size_t n)
{
	const struct indexed *at = &index->list[i];

	return at->hash == hash && at->length == n &&
	       (!n || !memcmp(index->bytes.at + at->at, text, n));
}

/* The number of the text, a new one if need be. 0 or -ENOMEM. */
static int number_text(struct index *index, uint64_t hash, const char *text, size_t n,
		       size_t *ret_number)
{
	size_t at;

	if (index->count * 2 >= index->nslots && grow_slots(index))
		return -ENOMEM;
	for (at = hash & (index->nslots - 1); index->slots[at]; at = (at + 1) & (index->nslots - 1))
		if (is_text(index, index->slots[at] - 1, hash, text, n)) {
			*ret_number = index->slots[at] - 1;
			return 0;
		}
	if (vec_reserve(index->list, index->size, index->count + 1))
		return -ENOMEM;
	index->list[index->count] = (struct indexed){ hash, index->bytes.used, n };
	text_add(&index->bytes, text, n);
	*ret_number = index->count;
	index->slots[at] = (uint32_t)++index->count;
	return index->bytes.failed ? -ENOMEM : 0;
}

static void clear_index(struct index *index)
{
	text_cut(&index->bytes, 0);
	index->count = 0;
	if (index->nslots)
		memset(index->slots, 0, index->nslots * sizeof(*index->slots));
}

static void free_index(struct index *index)
{
	text_fini(&index->bytes);
	free(index->list);
	free(index->slots);
}

/* The batch */

struct call_batch *call_batch_new(void)
{
	return calloc(1, sizeof(struct call_batch));
}

void call_batch_free(struct call_batch *batch)
{
	if (!batch)
		return;
	for (int i = 0; i < CALL_COMMON; i++)
		column_fini(&batch->common[i]);
	for (size_t i = 0; i < batch->columns_made; i++)
		column_fini(&batch->columns[i]);
	free_index(&batch->shapes);
	free_index(&batch->strings);
	free(batch->columns);
	free(batch->rows);
	free(batch);
}

void call_batch_clear(struct call_batch *batch)
{
	for (int i = 0; i < CALL_COMMON; i++)
		column_clear(&batch->common[i]);
	for (size_t i = 0; i < batch->ncolumns; i++)
		column_clear(&batch->columns[i]);
	clear_index(&batch->shapes);
	clear_index(&batch->strings);
	batch->extent = (struct call_extent){ 0 };
	batch->nrows = batch->ncolumns = batch->nvalues = 0;
}

uint64_t call_verb_bit(const char *verb)
{
	return UINT64_C(1) << hash_of(verb, strlen(verb), 0) % 63;
}

/* Columns for a new shape. */
static int add_rows(struct call_batch *batch, size_t count, const char *verb)
{
	if (vec_reserve(batch->rows, batch->rows_size, batch->nrows + 1) ||
	    vec_reserve(batch->columns, batch->columns_size, batch->ncolumns + count))
		return -ENOMEM;
	for (; batch->columns_made < batch->ncolumns + count; batch->columns_made++)
		batch->columns[batch->columns_made] = (struct column){ 0 };
	batch->rows[batch->nrows++] = (struct shape_rows){ batch->ncolumns, count };
	batch->ncolumns += count;
	batch->extent.verbs |= call_verb_bit(verb);
	return 0;
}

static void note_extent(struct call_extent *extent, const struct call_row *row)
{
	if (!extent->calls++) {
		extent->first_n = row->n;
		extent->begin = row->begin;
		extent->end = row->end;
	}
	extent->last_n = row->n;
	extent->begin = row->begin < extent->begin ? row->begin : extent->begin;
	extent->end = row->end > extent->end ? row->end : extent->end;
	if (row->object && (!extent->least || row->object < extent->least))
		extent->least = row->object;
	extent->most = row->object > extent->most ? row->object : extent->most;
}

static void put_common(struct column *common, size_t shape, const struct call_row *row)
{
	column_put(&common[CALL_SHAPE], shape);
	column_put(&common[CALL_N], row->n);
	column_put(&common[CALL_BEGIN], (uint64_t)row->begin);
	column_put(&common[CALL_LASTED], (uint64_t)row->end - (uint64_t)row->begin);
	column_put(&common[CALL_RETURNED], row->end_n - row->n);
}

static int put_own(struct call_batch *batch, struct column *to, const struct call_shape *shape,
		   const struct call_row *row)
{
	column_put(&to[CALL_RET], (uint64_t)row->ret);
	column_put(&to[CALL_ERROR], (uint64_t)row->error);
	column_put(&to[CALL_HANDLE], row->handle);
	column_put(&to[CALL_OBJECT], row->object);
	to += CALL_OWN;
	for (size_t i = 0; i < shape->nvalues; i++) {
		const struct call_value *value = &shape->values[i];
		size_t number = value->number;

		if (value->text &&
		    number_text(&batch->strings, hash_of(value->text, value->number, 0),
				value->text, value->number, &number))
			return -ENOMEM;
		column_put(to++, value->text ? number : value->number);
	}
	for (size_t i = 0; i < row->nrefs; i++) {
		column_put(to++, row->refs[i].handle);
		column_put(to++, row->refs[i].object);
	}
	return 0;
}

/* An event has at most 65,535 words, so a block never is too large for its readers. */
static bool is_too_large(const struct call_shape *shape, size_t values)
{
	uint64_t bytes = shape->key.used;

	for (size_t i = 0; i < shape->nvalues; i++)
		bytes += shape->values[i].text ? shape->values[i].number : 0;
	return values > CALL_VALUES_FULL || bytes > CALL_TEXT_FULL;
}

int call_batch_add(struct call_batch *batch, const struct call_shape *shape,
		   const struct call_row *row)
{
	size_t values = CALL_OWN + shape->nvalues + 2 * row->nrefs, number;

	if (is_too_large(shape, values))
		return -E2BIG;
	if (number_text(&batch->shapes, shape->hash, shape->key.at, shape->key.used, &number) ||
	    (number == batch->nrows && add_rows(batch, values, row->verb)) ||
	    put_own(batch, batch->columns + batch->rows[number].first, shape, row))
		return -ENOMEM;
	put_common(batch->common, number, row);
	note_extent(&batch->extent, row);
	batch->nvalues += values;
	return 0;
}

const struct call_extent *call_batch_extent(const struct call_batch *batch)
{
	return &batch->extent;
}

bool call_batch_is_full(const struct call_batch *batch)
{
	return batch->extent.calls >= CALL_ROWS_MAX || batch->nvalues >= CALL_VALUES_FULL ||
	       batch->shapes.bytes.used + batch->strings.bytes.used >= CALL_TEXT_FULL;
}

/* Packing */

static void put_texts(struct text *to, const struct index *index)
{
	put_varint(to, index->count);
	for (size_t i = 0; i < index->count; i++) {
		put_varint(to, index->list[i].length);
		text_add(to, index->bytes.at + index->list[i].at, index->list[i].length);
	}
}

static void put_column(struct text *to, const struct column *column)
{
	text_char(to, column->bent ? COLUMN_RAW : COLUMN_LINEAR);
	if (column->bent) {
		put_varint(to, column->used);
		text_add(to, (const char *)column->bytes, column->used);
		return;
	}
	put_varint(to, zigzag_encode(column->base));
	put_varint(to, zigzag_encode(column->step));
}

static bool has_failed(const struct call_batch *batch)
{
	for (int i = 0; i < CALL_COMMON; i++)
		if (batch->common[i].failed)
			return true;
	for (size_t i = 0; i < batch->ncolumns; i++)
		if (batch->columns[i].failed)
			return true;
	return false;
}

void call_packer_fini(struct call_packer *packer)
{
	ZSTD_freeCCtx(packer->context);
	text_fini(&packer->plain);
	text_fini(&packer->block);
	packer->context = NULL;
}

/* Append @plain to the block as one frame. 0 or -ENOMEM. */
static int compress_plain(struct call_packer *packer)
{
	const struct text *plain = &packer->plain;
	size_t bound = ZSTD_compressBound(plain->used), n;
	char *at = text_space(&packer->block, bound);

	if (!packer->context)
		packer->context = ZSTD_createCCtx();
	if (!packer->context || !at)
		return -ENOMEM;
	n = ZSTD_compressCCtx(packer->context, at, bound, plain->at, plain->used, LEVEL);
	if (ZSTD_isError(n))
		return -ENOMEM; /* there is space enough */
	packer->block.used += n;
	return 0;
}

int call_batch_pack(const struct call_batch *batch, struct call_packer *packer)
{
	struct text *plain = &packer->plain, *to = &packer->block;

	text_cut(plain, 0);
	put_texts(plain, &batch->strings);
	put_texts(plain, &batch->shapes);
	for (int i = 0; i < CALL_COMMON; i++)
		put_column(plain, &batch->common[i]);
	for (size_t i = 0; i < batch->ncolumns; i++)
		put_column(plain, &batch->columns[i]);
	text_cut(to, 0);
	text_char(to, CALL_BLOCK_VERSION);
	put_varint(to, batch->extent.calls);
	put_varint(to, plain->used);
	if (has_failed(batch) || plain->failed || to->failed)
		return -ENOMEM;
	return compress_plain(packer);
}
