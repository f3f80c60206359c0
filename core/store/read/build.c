/*
 * Rebuilding the arguments of a recorded call in memory
 *
 * Each value of the JSON is stored at the offset of its field, and an embedded structure at its
 * offset. The target of a pointer gets separate memory, whose address is stored at the offset. All
 * of that memory is in one list, freed together.
 */
#include "core/store/read/build.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/store/db/args.h"
#include "core/store/db/args_json.h"
#include "core/wire/codec.h"
#include "core/wire/log.h"

enum { SIZE_MAX_SENSIBLE = 1 << 16 }; /* of a structure, bytes */

struct memory_piece {
	struct memory_piece *next;
	_Alignas(16) char bytes[];
};

struct args_build {
	struct memory_piece *pieces;
	char *at, *end; /* free part of the provided memory; NULL: the heap */
	build_resolve *resolve;
	void *arg;
	bool failed; /* out of memory */
};

static void put_struct(struct args_build *build, const struct struct_info *info, char *base,
		       const struct json_node *from);

static _Thread_local struct {
	char *at;
	size_t size;
} lent;

void build_lend(void *at, size_t size)
{
	lent.at = at;
	lent.size = size;
}

static void *take_lent_memory(struct args_build *build, size_t bytes)
{
	char *at = build->at;

	bytes = (bytes + 15) & ~(size_t)15;
	if (bytes > (size_t)(build->end - at)) {
		build->failed = true;
		return NULL;
	}
	build->at += bytes;
	memset(at, 0, bytes);
	return at;
}

static void *take_memory(struct args_build *build, size_t bytes)
{
	struct memory_piece *piece = build->at ? NULL : calloc(1, sizeof(*piece) + bytes);

	if (build->at)
		return take_lent_memory(build, bytes);
	if (!piece) {
		build->failed = true;
		return NULL;
	}
	piece->next = build->pieces;
	build->pieces = piece;
	return piece->bytes;
}

static void store_number(const struct field_info *field, char *at, uint64_t value)
{
	if (field->kind == FIELD_BE)
		value = __builtin_bswap64(value) >> (64 - 8 * field->size);
	memcpy(at, &value, field->size < 8 ? field->size : 8); /* little endian */
}

static int64_t get_int(const struct json_node *value)
{
	return value->kind == JSON_INT ? value->number : 0;
}

static const char *get_text(const struct json_node *value)
{
	return value->kind == JSON_TEXT ? value->text : NULL;
}

static int64_t read_number(const struct field_info *field, const struct json_node *value)
{
	if (value->kind != JSON_TEXT)
		return get_int(value);
	for (unsigned int i = 0; field->names && i < field->names->nvalues; i++)
		if (!strcmp(field->names->values[i].name, value->text))
			return field->names->values[i].value;
	return 0;
}

static unsigned int hex_digit(char c)
{
	return (unsigned int)(c <= '9' ? c - '0' : (c | 32) - 'a' + 10) & 15;
}

static void put_hex(const struct field_info *field, char *at, const char *hex)
{
	for (size_t i = 0; hex && i < field->size && hex[2 * i] && hex[2 * i + 1]; i++)
		at[i] = (char)(hex_digit(hex[2 * i]) << 4 | hex_digit(hex[2 * i + 1]));
}

static void put_text(struct args_build *build, char *at, const char *text)
{
	char *copy = text ? take_memory(build, strlen(text) + 1) : NULL;

	if (copy)
		strcpy(copy, text);
	memcpy(at, &copy, sizeof(copy));
}

static void put_element(struct args_build *build, const struct struct_info *type, char *at,
			const struct json_node *from)
{
	if (!type->scalar)
		put_struct(build, type, at, from);
	else
		store_number(&type->fields[0], at, (uint64_t)read_number(&type->fields[0], from));
}

/*
 * Store a pointer to the elements of the JSON, with space for at least @more elements, which
 * another argument counts.
 */
static void put_pointer(struct args_build *build, const struct field_info *field, char *at,
			const struct json_node *from, size_t more)
{
	bool many = from->kind == JSON_ARRAY;
	size_t n = many ? from->count : 1, room = n > more ? n : more;
	char *memory =
		from->kind == JSON_NULL ? NULL : take_memory(build, room * field->type->size);
	const struct json_node *one = many ? json_first(from) : from;

	for (size_t i = 0; memory && i < n; i++, one = many ? json_next(one) : one)
		put_element(build, field->type, memory + i * field->type->size, one);
	memcpy(at, &memory, sizeof(memory));
}

/* The value of the field that counts @field, limited as by the recorder: it may be damaged. */
static size_t count_elements(const struct struct_info *info, const struct field_info *field,
			     char *base)
{
	const struct field_info *count = &info->fields[field->count];
	uint64_t n = 0, max = field->shift ? 12 : CODEC_ELEMENTS; /* 1 << 12 is CODEC_ELEMENTS */

	memcpy(&n, base + count->offset, count->size < 8 ? count->size : 8);
	if (n > max) {
		n = max;
		store_number(count, base + count->offset, n);
	}
	return field->shift ? (size_t)1 << n : n;
}

static void put_field(struct args_build *build, const struct field_info *field, char *at,
		      const struct json_node *from)
{
	switch (field->kind) {
	case FIELD_STRUCT:
		put_struct(build, field->type, at, from);
		break;
	case FIELD_PTR:
		put_pointer(build, field, at, from, 0);
		break;
	case FIELD_STR:
		strncpy(at, get_text(from) ?: "", field->size - 1u);
		break;
	case FIELD_TEXT:
		put_text(build, at, get_text(from));
		break;
	case FIELD_BYTES:
		put_hex(field, at, get_text(from));
		break;
	case FIELD_SOCKADDR:
	case FIELD_BLOB:
	case FIELD_PRIVATE:
		break; /* only verbs of librdmacm use it, which a replay does not call */
	case FIELD_OBJ:
	case FIELD_ADDR:
		store_number(field, at, build->resolve(build->arg, field, (uint64_t)get_int(from)));
		break;
	default:
		store_number(field, at, (uint64_t)read_number(field, from));
	}
}

static const struct json_node *find_value(const struct json_node *from,
					  const struct field_info *field)
{
	return json_find_member(from, field->name, strlen(field->name));
}

static bool is_counted(const struct field_info *field)
{
	return field->kind == FIELD_PTR && field->count >= 0;
}

static void put_struct(struct args_build *build, const struct struct_info *info, char *base,
		       const struct json_node *from)
{
	for (unsigned int i = 0; i < info->nfields; i++) {
		const struct field_info *field = &info->fields[i];
		const struct json_node *value = find_value(from, field);

		if (value && !is_counted(field))
			put_field(build, field, base + field->offset, value);
	}
	/* pointers last: they need the values of the count fields */
	for (unsigned int i = 0; i < info->nfields; i++) {
		const struct field_info *field = &info->fields[i];
		const struct json_node *value = find_value(from, field);

		if (value && is_counted(field))
			put_pointer(build, field, base + field->offset, value,
				    count_elements(info, field, base));
	}
}

/* The number of elements that the verb may write: its argument, or else the limit. */
static size_t count_room(const struct struct_info *info, const struct field_info *field,
			 uint64_t *args)
{
	if (field->count == COUNT_RET)
		return CODEC_ELEMENTS;
	return field->count >= 0 ? count_elements(info, field, (char *)args) : 1;
}

/* Reserve memory for an argument that the verb only writes: the JSON has no value for it. */
static void reserve_out(struct args_build *build, const struct struct_info *info, uint64_t *args,
			unsigned int index)
{
	const struct field_info *field = &info->fields[index];
	size_t size = field->type->size;

	if (field->limit >= 0 && args[field->limit] >= SIZE_MAX_SENSIBLE)
		args[field->limit] = size;
	if (field->limit >= 0 && args[field->limit] > size)
		size = args[field->limit];
	args[index] = (uint64_t)(uintptr_t)take_memory(build, size * count_room(info, field, args));
}

static void put_out_arguments(struct args_build *build, const struct struct_info *info,
			      uint64_t *args)
{
	for (unsigned int i = 0; i < info->nfields; i++)
		if (info->fields[i].kind == FIELD_PTR && info->fields[i].dir == DIR_OUT)
			reserve_out(build, info, args, i);
}

int build_args(enum verb verb, const struct args *from, build_resolve *resolve, void *arg,
	       uint64_t args[BUILD_ARGS], struct args_build **ret_build)
{
	const struct struct_info *info = &verb_infos[verb].args;
	struct args_build *build;

	if (args_parse(from))
		return -ENOMEM;
	if (from && !args_root(from))
		return log_why(-EINVAL, "the arguments of %s are damaged", verb_infos[verb].name);
	build = calloc(1, sizeof(*build));
	if (!build)
		return -ENOMEM;
	build->resolve = resolve;
	build->arg = arg;
	build->at = lent.at;
	build->end = lent.at + lent.size;
	memset(args, 0, BUILD_ARGS * sizeof(*args));
	put_struct(build, info, (char *)args, args_root(from));
	put_out_arguments(build, info, args);
	if (build->failed) {
		build_free(build);
		return -ENOMEM;
	}
	*ret_build = build;
	return 0;
}

void build_free(struct args_build *build)
{
	while (build && build->pieces) {
		struct memory_piece *next = build->pieces->next;

		free(build->pieces);
		build->pieces = next;
	}
	free(build);
}

enum { OUT_WORDS = 8192 }; /* the maximum of an event in a ring */

static bool write_outs(struct args_writer *json, enum verb verb, const uint64_t *words,
		       size_t nwords)
{
	const struct verb_info *info = &verb_infos[verb];
	ssize_t used = args_write_members(json, words, nwords, &info->args), changed;

	if (used >= 0) {
		changed =
			args_write_changed(json, &info->args, words + used, nwords - (size_t)used);
		used = changed < 0 ? changed : used + changed;
	}
	if (used >= 0 && (size_t)used < nwords)
		used = args_write_made(json, &info->ret, words + used, nwords - (size_t)used);
	return used >= 0;
}

int args_out_json(enum verb verb, const uint64_t *args, int64_t ret, char **ret_json)
{
	struct text text = { 0 };
	struct args_writer json = { .out = &text };
	uint64_t *words = malloc(OUT_WORDS * sizeof(*words));
	struct codec_out out = { .words = words, .size = OUT_WORDS, .ret = ret };
	bool whole = words;

	text_char(&text, '{');
	if (words && !verb_failed(verb, ret)) {
		codec_put_outputs(&out, verb, args);
		whole = write_outs(&json, verb, words, out.used) && !out.cut;
	}
	text_char(&text, '}');
	args_writer_fini(&json);
	free(words);
	if (text.failed || !whole) {
		text_fini(&text);
		return words ? -ENOSPC : -ENOMEM;
	}
	*ret_json = text.at;
	return 0;
}
