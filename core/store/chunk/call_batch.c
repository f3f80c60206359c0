/*
 * Writing control verbs of one thread as a block, by columns
 *
 * Calls that repeat differ in a few numbers. The shape of a call is all the rest: its verb, stack,
 * the paths of its references, and the JSON of its arguments and outputs with a hole for each
 * number and each string value:
 *
 *	{"mr":93980,"length":4096}   ->   {"mr":#,"length":#}   93980, 4096
 *
 * A block stores each shape once. The values of each hole of a shape are a column, and so are the
 * handles of each reference; the order, numbers and times are columns of all calls. A string is
 * stored as a number, too: its index among the strings of the block. So a block is read without the
 * list of verbs.
 *
 *	the strings, as texts
 *	the shapes, as texts (put_key() below)
 *	the columns of all calls (CALL_SHAPE ...), begins and ends as one (call_times.c)
 *	for each shape: CALL_RET ..., a column for each hole, two for each reference
 *
 * Not here: how these are packed (shapes.c), reading (call_block.c).
 */
#include "core/store/chunk/call_batch.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/vec.h"
#include "core/store/chunk/call_times.h"
#include "core/wire/hash.h"

enum { DIGITS = 19 };

struct call_batch {
	struct call_extent extent;
	struct shapes shapes;
	struct text_index strings;
	struct column common[CALL_COMMON];
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

/* Read the number at @at, if call_block.c would write it the same way. Returns its length, or 0. */
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

/* Returns the character after the string that begins at @at, or the NUL if it does not end. */
static const char *end_string(const char *at)
{
	for (at++; *at && *at != '"'; at++)
		if (*at == '\\' && at[1])
			at++;
	return *at ? at + 1 : at;
}

/* Add a string: a name becomes part of the template, a value becomes a hole. */
static int add_string(struct call_shape *shape, const char *at, const char *end)
{
	if (*end == ':' || end[-1] != '"' || end - at < 2) {
		text_add(&shape->key, at, (size_t)(end - at));
		return 0;
	}
	text_char(&shape->key, CALL_STRING);
	return add_value(shape, at + 1, (uint64_t)(end - at) - 2);
}

/* Does @json contain a byte that readers would take for a hole? Valid JSON does not. */
static bool has_holes(const char *json)
{
	static const char holes[] = { CALL_NUMBER, CALL_STRING, '\0' };

	return strpbrk(json, holes);
}

/* Copy the next byte, or a whole number that gets no column, into the template. */
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

/*
 * Put @json into the shape: as CALL_NO_TEXT for NULL, as a template, or as one hole for the whole
 * text.
 */
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

static void put_word(struct text *to, const char *word)
{
	text_add(to, word, strlen(word) + 1);
}

static int put_key(struct call_shape *shape, const struct call_row *row)
{
	struct text *key = &shape->key;
	int err;

	shapes_put_varint(key, row->depth);
	shapes_put_varint(key, row->stack);
	shape->body = key->used;
	shapes_put_varint(key, row->failed | (uint64_t)row->ours << 1);
	shapes_put_varint(key, row->nrefs);
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
	shapes_fini(&batch->shapes);
	text_index_fini(&batch->strings);
	free(batch);
}

void call_batch_clear(struct call_batch *batch)
{
	for (int i = 0; i < CALL_COMMON; i++)
		column_clear(&batch->common[i]);
	shapes_clear(&batch->shapes);
	text_index_clear(&batch->strings);
	batch->extent = (struct call_extent){ 0 };
	batch->nvalues = 0;
}

uint64_t call_verb_bit(const char *verb)
{
	return UINT64_C(1) << hash_of(verb, strlen(verb), 0) % 63;
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
		    text_index_number(&batch->strings, hash_of(value->text, value->number, 0),
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

/*
 * Would the batch be too large? Events have at most 65,535 words: readers accept what this allows.
 */
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
	if (shapes_find_or_add(&batch->shapes, shape->hash, &shape->key, values, &number) ||
	    put_own(batch, shapes_columns(&batch->shapes, number), shape, row))
		return -ENOMEM;
	batch->extent.verbs |= call_verb_bit(row->verb);
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
	       batch->shapes.keys.bytes.used + batch->strings.bytes.used >= CALL_TEXT_FULL;
}

static int put_common_columns(const struct call_batch *batch, struct shapes_packer *packer)
{
	uint32_t calls = batch->extent.calls;
	uint64_t *common =
		shapes_reserve_words(packer, (size_t)calls * (CALL_COMMON + CALL_TIMES_WORDS));
	bool failed = !common;

	for (size_t i = 0; i < CALL_COMMON && !failed; i++) {
		if (i != CALL_BEGIN && i != CALL_LASTED)
			shapes_put_column(&packer->plain, &batch->common[i]);
		failed = batch->common[i].failed ||
			 column_values(&batch->common[i], common + i * calls);
	}
	if (failed)
		return -ENOMEM;
	call_times_put(packer, common, calls, common + (size_t)calls * CALL_COMMON);
	return 0;
}

int call_batch_pack(const struct call_batch *batch, struct shapes_packer *packer)
{
	struct text *plain = &packer->plain;
	int err;

	shapes_pack_begin(packer);
	shapes_put_texts(plain, &batch->strings);
	shapes_put_texts(plain, &batch->shapes.keys);
	err = put_common_columns(batch, packer);
	if (err)
		return err;
	shapes_put_columns(packer, &batch->shapes);
	return shapes_pack(packer, batch->extent.calls);
}
