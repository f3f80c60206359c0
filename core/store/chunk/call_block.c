/*
 * Reading a block of control verbs
 *
 * Everything is checked when the block is decoded: the sizes against the limits of call_row.h
 * before memory is allocated, the numbers of shapes and strings, and that each column has a value
 * for each call. Then rows are read without further checks.
 */
#include "core/store/chunk/call_block.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/vec.h"
#include "core/store/chunk/call_times.h"

/* A shape, decoded. */
struct call_pattern {
	uint32_t depth, stack, flags;
	const char *verb;
	struct pattern_json {
		uint8_t kind; /* CALL_NO_TEXT, CALL_TEMPLATE or CALL_WHOLE_TEXT */
		const char *text, *end;
		uint32_t holes;
	} json[2];        /* args, out */
	const char *refs; /* path and kind of each reference, one after the other */
	size_t nrefs;
	uint32_t calls, columns;
	size_t first; /* its first column, in block->values */
};

static void get_json(struct shapes_input *in, struct pattern_json *json)
{
	const char *kind = shapes_get_bytes(in, 1);

	json->kind = kind ? (uint8_t)*kind : CALL_NO_TEXT;
	json->text = shapes_get_word(in);
	json->end = json->text + strlen(json->text);
	in->bad |= json->kind > CALL_WHOLE_TEXT;
	json->holes = json->kind == CALL_WHOLE_TEXT;
	for (const char *at = json->text; json->kind == CALL_TEMPLATE && at < json->end; at++)
		json->holes += *at == CALL_NUMBER || *at == CALL_STRING;
}

static int read_shape(struct call_block *block, struct shapes_input *from)
{
	struct shapes_text text = shapes_get_text(from);
	struct shapes_input in = { .at = (const uint8_t *)text.at,
				   .end = (const uint8_t *)text.at + text.length,
				   .bad = from->bad };
	struct call_pattern p = { .depth = (uint32_t)shapes_get_varint(&in, UINT32_MAX),
				  .stack = (uint32_t)shapes_get_varint(&in, UINT32_MAX),
				  .flags = (uint32_t)shapes_get_varint(&in, 3),
				  .nrefs = shapes_get_varint(&in, text.length / 2) };

	p.verb = shapes_get_word(&in);
	get_json(&in, &p.json[0]);
	get_json(&in, &p.json[1]);
	p.refs = (const char *)in.at;
	for (size_t i = 0; i < p.nrefs && !in.bad; i++) {
		shapes_get_word(&in);
		shapes_get_word(&in);
	}
	if (in.bad || in.at != in.end)
		return -EBADMSG;
	p.columns = (uint32_t)(CALL_OWN + p.json[0].holes + p.json[1].holes + 2 * p.nrefs);
	if (vec_reserve(block->shapes, block->shapes_size, block->nshapes + 1))
		return -ENOMEM;
	block->shapes[block->nshapes++] = p;
	return 0;
}

/* Is the text the same inside a JSON string? */
static bool is_plain(struct shapes_text text)
{
	for (size_t i = 0; i < text.length; i++)
		if (text.at[i] < ' ' || text.at[i] > '~' || text.at[i] == '"' || text.at[i] == '\\')
			return false;
	return true;
}

static int read_strings(struct call_block *block, struct shapes_input *in)
{
	size_t n = shapes_get_varint(in, (uint64_t)(in->end - in->at));

	if (vec_reserve(block->strings, block->strings_size, n + 1) ||
	    vec_reserve(block->plain_strings, block->plain_size, n + 1))
		return -ENOMEM;
	for (block->nstrings = 0; block->nstrings < n && !in->bad; block->nstrings++) {
		block->strings[block->nstrings] = shapes_get_text(in);
		block->plain_strings[block->nstrings] = is_plain(block->strings[block->nstrings]);
	}
	return 0;
}

static int read_texts(struct call_block *block, struct shapes_input *in)
{
	int err = read_strings(block, in);
	size_t n;

	if (err)
		return err;
	n = shapes_get_varint(in, block->calls);
	for (size_t i = 0; i < n && !in->bad && !err; i++)
		err = read_shape(block, in);
	return in->bad ? -EBADMSG : err;
}

static int reserve_values(struct call_block *block, size_t n)
{
	block->nvalues += n;
	if (block->nvalues > (size_t)CALL_VALUES_MAX)
		return -EBADMSG;
	return vec_reserve(block->values, block->values_size, block->nvalues);
}

/* Count the calls of each shape, and number each call within its shape. */
static int count_shapes(struct call_block *block)
{
	if (vec_reserve(block->ranks, block->ranks_size, block->calls))
		return -ENOMEM;
	for (uint32_t i = 0; i < block->calls; i++) {
		uint64_t shape = block->values[i];

		if (shape >= block->nshapes)
			return -EBADMSG;
		block->ranks[i] = block->shapes[shape].calls++;
	}
	return 0;
}

/*
 * Read the times of the calls. The scratch memory is freed at once, since readers hold several
 * blocks.
 */
static int read_times(struct call_block *block, struct shapes_input *in)
{
	uint64_t *words = calloc(block->calls + 1, CALL_TIMES_WORDS * sizeof(*words));
	int err = words ? call_times_get(in, block->values, block->calls, words) : -ENOMEM;

	free(words);
	return err;
}

static int read_common(struct call_block *block, struct shapes_input *in)
{
	int err = reserve_values(block, (size_t)block->calls * CALL_COMMON);

	for (int i = 0; i < CALL_COMMON && !err; i++)
		if (in->version == 1 || (i != CALL_BEGIN && i != CALL_LASTED))
			err = shapes_get_column(in, block->values + (size_t)i * block->calls,
						block->calls);
	if (!err && in->version > 1)
		err = read_times(block, in);
	for (uint32_t i = 1; i < block->calls && !err; i++)
		if (call_block_n(block, i) <= call_block_n(block, i - 1))
			err = -EBADMSG;
	return err ? err : count_shapes(block);
}

static bool has_string(const struct call_block *block, uint64_t number)
{
	return number < block->nstrings;
}

/* Does the block have all strings to which the holes for strings refer? */
static int check_strings(const struct call_block *block, const struct call_pattern *p)
{
	size_t column = p->first + (size_t)CALL_OWN * p->calls;

	for (int side = 0; side < 2; side++) {
		const struct pattern_json *json = &p->json[side];
		const char *at = json->kind == CALL_WHOLE_TEXT ? "\2" : json->text;

		if (json->kind == CALL_NO_TEXT)
			continue;
		for (; *at; at++) {
			if (*at != CALL_NUMBER && *at != CALL_STRING)
				continue;
			for (uint32_t i = 0; i < p->calls && *at == CALL_STRING; i++)
				if (!has_string(block, block->values[column + i]))
					return -EBADMSG;
			column += p->calls;
		}
	}
	return 0;
}

static int read_own(struct call_block *block, struct shapes_input *in, struct call_pattern *p)
{
	int err;

	p->first = block->nvalues;
	err = reserve_values(block, (size_t)p->columns * p->calls);
	for (uint32_t i = 0; i < p->columns && !err; i++)
		err = shapes_get_column(in, block->values + p->first + (size_t)i * p->calls,
					p->calls);
	return err ? err : check_strings(block, p);
}

static int decode_block(struct call_block *block, struct shapes_input *in)
{
	int err = read_texts(block, in);

	block->texts = (size_t)((const char *)in->at - block->plain.bytes);
	if (!err)
		err = read_common(block, in);
	for (size_t i = 0; i < block->nshapes && !err; i++)
		err = read_own(block, in, &block->shapes[i]);
	return err ? err : shapes_at_end(in) ? 0 : -EBADMSG;
}

int call_block_read(struct call_block *block, const void *data, size_t size)
{
	struct shapes_input in;
	int err = shapes_open(&block->plain, data, size, CALL_ROWS_MAX, &block->calls, &in);

	block->nshapes = block->nstrings = block->nvalues = 0;
	if (!err)
		err = decode_block(block, &in);
	if (err)
		block->calls = 0;
	return err;
}

void call_block_fini(struct call_block *block)
{
	shapes_plain_fini(&block->plain);
	free(block->strings);
	free(block->plain_strings);
	free(block->shapes);
	free(block->values);
	free(block->ranks);
	*block = (struct call_block){ 0 };
}

static bool is_column_within(const struct call_block *block, const struct call_pattern *p,
			     size_t column, uint32_t most)
{
	const uint64_t *values = &block->values[p->first + column * p->calls];

	for (uint32_t i = 0; i < p->calls; i++)
		if ((uint32_t)values[i] > most)
			return false;
	return true;
}

bool call_block_is_within(const struct call_block *block, uint32_t stack, uint32_t object)
{
	for (size_t i = 0; i < block->nshapes; i++) {
		const struct call_pattern *p = &block->shapes[i];
		size_t refs = CALL_OWN + p->json[0].holes + p->json[1].holes;

		if (p->stack > stack || !is_column_within(block, p, CALL_OBJECT, object))
			return false;
		for (size_t ref = 0; ref < p->nrefs; ref++)
			if (!is_column_within(block, p, refs + 2 * ref + 1, object))
				return false;
	}
	return true;
}

size_t call_block_bytes(const struct call_block *block)
{
	return block->plain.size + block->values_size * sizeof(*block->values) +
	       block->ranks_size * sizeof(*block->ranks) +
	       block->strings_size * sizeof(*block->strings) + block->plain_size +
	       block->shapes_size * sizeof(*block->shapes);
}

/* Rows */

static const struct call_pattern *shape_of(const struct call_block *block, uint32_t i)
{
	return &block->shapes[block->values[i]];
}

static uint64_t common_value(const struct call_block *block, int column, uint32_t i)
{
	return block->values[(size_t)column * block->calls + i];
}

static uint64_t own_value(const struct call_block *block, const struct call_pattern *p,
			  size_t column, uint32_t i)
{
	return block->values[p->first + column * p->calls + block->ranks[i]];
}

void call_block_row(const struct call_block *block, uint32_t i, struct call_row *row)
{
	const struct call_pattern *p = shape_of(block, i);

	*row = (struct call_row){
		.n = call_block_n(block, i),
		.begin = call_block_begin(block, i),
		.depth = p->depth,
		.stack = p->stack,
		.object = (uint32_t)own_value(block, p, CALL_OBJECT, i),
		.failed = p->flags & 1,
		.ours = p->flags & 2,
		.verb = p->verb,
		.ret = (int64_t)own_value(block, p, CALL_RET, i),
		.error = (int64_t)own_value(block, p, CALL_ERROR, i),
		.handle = own_value(block, p, CALL_HANDLE, i),
		.nrefs = p->nrefs,
	};
	row->end = (int64_t)((uint64_t)row->begin + common_value(block, CALL_LASTED, i));
	row->end_n = row->n + common_value(block, CALL_RETURNED, i);
}

/* Write the JSON text of a call. *@ret_at: offset in @to of the value of each hole; or NULL. */
static void fill_template(const struct call_block *block, const struct pattern_json *json,
			  const uint64_t *value, size_t step, struct text *to, size_t *ret_at)
{
	const char *from = json->text;

	/* limit @to: a damaged block may have a long string in many holes */
	for (const char *at = from; at < json->end && to->used <= CALL_ARGS_MAX; at++) {
		const struct shapes_text *string;

		if (*at != CALL_NUMBER && *at != CALL_STRING)
			continue;
		text_add(to, from, (size_t)(at - from));
		from = at + 1;
		if (ret_at)
			*ret_at++ = to->used;
		if (*at == CALL_NUMBER) {
			text_number(to, (int64_t)*value);
		} else {
			string = &block->strings[*value];
			text_char(to, '"');
			text_add(to, string->at, string->length);
			text_char(to, '"');
		}
		value += step;
	}
	text_add(to, from, (size_t)(json->end - from));
}

/* The first hole's value of a call; the value of each further hole is @p->calls elements later. */
static const uint64_t *hole_values(const struct call_block *block, uint32_t i, bool out)
{
	const struct call_pattern *p = shape_of(block, i);
	size_t column = CALL_OWN + (out ? p->json[0].holes : 0);

	return &block->values[p->first + column * p->calls + block->ranks[i]];
}

const char *call_block_args(const struct call_block *block, uint32_t i, bool out, struct text *to)
{
	const struct call_pattern *p = shape_of(block, i);
	const struct pattern_json *json = &p->json[out];
	const uint64_t *value = hole_values(block, i, out);

	text_cut(to, 0);
	if (json->kind == CALL_NO_TEXT)
		return NULL;
	if (json->kind == CALL_TEMPLATE)
		fill_template(block, json, value, p->calls, to, NULL);
	else
		text_add(to, block->strings[*value].at, block->strings[*value].length);
	return to->failed ? NULL : to->at ? to->at : "";
}

bool call_block_holes(const struct call_block *block, uint32_t i, bool out,
		      struct call_holes *ret_holes)
{
	const struct call_pattern *p = shape_of(block, i);

	if (p->json[out].kind != CALL_TEMPLATE)
		return false;
	*ret_holes = (struct call_holes){ .block = block,
					  .form = 2 * block->values[i] + out,
					  .n = p->json[out].holes,
					  .calls = p->calls,
					  .values = hole_values(block, i, out),
					  .step = p->calls };
	return true;
}

void call_holes_fill(const struct call_holes *holes, struct text *to, size_t *ret_at)
{
	const struct call_pattern *p = &holes->block->shapes[holes->form / 2];

	text_cut(to, 0);
	fill_template(holes->block, &p->json[holes->form % 2], holes->values, holes->step, to,
		      ret_at);
}

struct ref_row call_block_ref(const struct call_block *block, uint32_t i, size_t ref)
{
	const struct call_pattern *p = shape_of(block, i);
	size_t column = CALL_OWN + p->json[0].holes + p->json[1].holes + 2 * ref;
	const char *path = p->refs;

	for (size_t k = 0; k < ref; k++) {
		path += strlen(path) + 1;
		path += strlen(path) + 1;
	}
	return (struct ref_row){ path, path + strlen(path) + 1, own_value(block, p, column, i),
				 (uint32_t)own_value(block, p, column + 1, i) };
}

/* Changes */

void call_block_set_object(struct call_block *block, uint32_t i, uint32_t object)
{
	const struct call_pattern *p = shape_of(block, i);

	block->values[p->first + (size_t)CALL_OBJECT * p->calls + block->ranks[i]] = object;
}

void call_block_set_ref(struct call_block *block, uint32_t i, size_t ref, uint32_t object)
{
	const struct call_pattern *p = shape_of(block, i);
	size_t column = CALL_OWN + p->json[0].holes + p->json[1].holes + 2 * ref + 1;

	block->values[p->first + column * p->calls + block->ranks[i]] = object;
}

/* Append @columns columns of @n values each. Returns false if out of memory. */
static bool pack_columns(struct text *to, struct column *column, const uint64_t *values,
			 size_t columns, uint32_t n)
{
	for (; columns && !column->failed; columns--, values += n) {
		column_clear(column);
		for (uint32_t i = 0; i < n; i++)
			column_put(column, values[i]);
		shapes_put_column(to, column);
	}
	return !column->failed;
}

static bool pack_common(const struct call_block *block, struct shapes_packer *packer,
			struct column *column)
{
	uint64_t *words = shapes_reserve_words(packer, (size_t)block->calls * CALL_TIMES_WORDS);

	for (size_t i = 0; i < CALL_COMMON && words; i++)
		if (i != CALL_BEGIN && i != CALL_LASTED &&
		    !pack_columns(&packer->plain, column, block->values + i * block->calls, 1,
				  block->calls))
			return false;
	if (words)
		call_times_put(packer, block->values, block->calls, words);
	return words;
}

/* The strings and shapes are packed unchanged: they contain no object. */
int call_block_pack(const struct call_block *block, struct shapes_packer *packer)
{
	struct text *to = &packer->plain;
	struct column column = { 0 };
	bool ok;

	shapes_pack_begin(packer);
	text_add(to, block->plain.bytes, block->texts);
	ok = pack_common(block, packer, &column);
	for (size_t i = 0; i < block->nshapes && ok; i++) {
		const struct call_pattern *p = &block->shapes[i];

		ok = pack_columns(to, &column, block->values + p->first, p->columns, p->calls);
	}
	column_fini(&column);
	return ok ? shapes_pack(packer, block->calls) : -ENOMEM;
}

int call_block_read_call(const struct call_block *block, uint32_t i, struct call_whole *whole)
{
	struct call_row *row = &whole->row;

	call_block_row(block, i, row);
	if (vec_reserve(whole->refs, whole->size, row->nrefs + 1))
		return -ENOMEM;
	for (size_t ref = 0; ref < row->nrefs; ref++)
		whole->refs[ref] = call_block_ref(block, i, ref);
	row->refs = whole->refs;
	row->args = call_block_args(block, i, false, &whole->args);
	row->out = call_block_args(block, i, true, &whole->out);
	return whole->args.failed || whole->out.failed ? -ENOMEM : 0;
}

void call_whole_fini(struct call_whole *whole)
{
	text_fini(&whole->args);
	text_fini(&whole->out);
	free(whole->refs);
	*whole = (struct call_whole){ 0 };
}
