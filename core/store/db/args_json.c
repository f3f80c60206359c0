/*
 * The codec's words (core/wire/codec.h) as JSON
 *
 * The codec visits fields and elements; this module tracks the position in the text and in the
 * path. A level is a field with elements: objects, or plain values if the type is a scalar.
 *
 * Damaged or truncated words may end the visit anywhere: a name or a scalar without a value gets
 * null.
 *
 * Not here: reading JSON (args.c).
 */
#include "core/store/db/args_json.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "core/store/db/sockaddr.h"

enum { LEVELS = sizeof(((struct args_writer *)0)->path_ends) / sizeof(size_t) };

static bool is_array(const struct field_info *field)
{
	return field->kind == FIELD_OBJS || (field->kind == FIELD_PTR && field->count != COUNT_ONE);
}

static bool is_scalar(const struct field_info *field)
{
	return field->kind == FIELD_PTR && field->type->scalar;
}

static void put_comma(struct args_writer *json)
{
	if (json->comma)
		text_char(json->out, ',');
	json->comma = true;
}

static void put_name(struct args_writer *json, const char *name)
{
	put_comma(json);
	text_char(json->out, '"');
	text_add(json->out, name, strlen(name));
	text_add(json->out, "\":", 2);
	json->bare = true;
}

static void put_bare_null(struct args_writer *json)
{
	if (json->bare)
		text_add(json->out, "null", 4);
	json->bare = false;
}

/* Write the field's name, unless its parent's name is used instead. */
static void put_field_name(struct args_writer *json, const struct field_info *field)
{
	if (!json->scalar)
		put_name(json, field->name);
}

static void push_path(struct args_writer *json, const char *name)
{
	if (json->depth < LEVELS)
		json->path_ends[json->depth] = json->path.used;
	json->depth++;
	if (json->path.used && *name && *name != '[')
		text_char(&json->path, '.');
	text_add(&json->path, name, strlen(name));
}

static void pop_path(struct args_writer *json)
{
	json->depth--;
	if (json->depth < LEVELS)
		text_cut(&json->path, json->path_ends[json->depth]);
}

static void print_number(struct args_writer *json, const struct field_info *field, int64_t value)
{
	if (!json->visit)
		return;
	if (!json->scalar)
		push_path(json, field->name);
	if (!json->path.failed && json->path.at)
		json->visit(json->arg, json->path.at, field, value);
	if (!json->scalar)
		pop_path(json);
}

/*
 * Write a decimal number. Ten times as fast as text_addf(): a replay writes each result of a verb.
 */
static void put_decimal(struct text *out, int64_t value)
{
	char digits[24], *end = digits + sizeof(digits), *at = end;
	uint64_t left = value < 0 ? -(uint64_t)value : (uint64_t)value;

	do
		*--at = (char)('0' + left % 10);
	while (left /= 10);
	if (value < 0)
		*--at = '-';
	text_add(out, at, (size_t)(end - at));
}

static void put_number(void *arg, const struct field_info *field, int64_t value)
{
	struct args_writer *json = arg;
	const char *name = field->kind == FIELD_ENUM ? enum_name(field->names, value) : NULL;

	put_field_name(json, field);
	if (name)
		text_addf(json->out, "\"%s\"", name);
	else
		put_decimal(json->out, value);
	json->bare = false;
	print_number(json, field, value);
}

static void put_hex(struct text *out, const char *bytes, size_t n)
{
	text_char(out, '"');
	for (size_t i = 0; i < n; i++)
		text_addf(out, "%02x", (unsigned char)bytes[i]);
	text_char(out, '"');
}

static void put_bytes(void *arg, const struct field_info *field, const char *bytes, size_t n)
{
	struct args_writer *json = arg;

	char address[SOCKADDR_TEXT];

	put_field_name(json, field);
	if (field->kind == FIELD_SOCKADDR) {
		sockaddr_text(bytes, n, address);
		text_json(json->out, address, strlen(address));
	} else if (field->kind == FIELD_BYTES || field->kind == FIELD_BLOB)
		put_hex(json->out, bytes, n);
	else
		text_json(json->out, bytes, n);
	json->bare = false;
}

/* Write private data: its bytes if it is complete, else an object with its length. */
static void put_private(void *arg, const struct field_info *field, const struct codec_private *p)
{
	struct args_writer *json = arg;

	put_field_name(json, field);
	json->bare = false;
	if (p->nbytes == p->length) {
		put_hex(json->out, p->bytes, p->nbytes);
		return;
	}
	text_addf(json->out, "{\"length\":%zu", p->length);
	if (p->hashed)
		text_addf(json->out, ",\"hash\":\"%016" PRIx64 "\"", p->hash);
	if (p->nbytes) {
		text_addf(json->out, ",\"first\":");
		put_hex(json->out, p->bytes, p->nbytes);
	}
	text_char(json->out, '}');
}

static void put_null(void *arg, const struct field_info *field)
{
	struct args_writer *json = arg;

	put_field_name(json, field);
	json->bare = true;
	put_bare_null(json);
}

static void begin_field(void *arg, const struct field_info *field, size_t count)
{
	struct args_writer *json = arg;

	(void)count;
	put_field_name(json, field);
	push_path(json, json->scalar ? "" : field->name);
	if (is_array(field)) {
		text_char(json->out, '[');
		json->bare = false;
	}
	json->comma = false;
}

static void begin_element(void *arg, const struct field_info *field, size_t index)
{
	struct args_writer *json = arg;
	char name[32];

	snprintf(name, sizeof(name), "[%zu]", index);
	push_path(json, is_array(field) ? name : "");
	if (is_array(field) && index)
		text_char(json->out, ',');
	if (!is_scalar(field))
		text_char(json->out, '{');
	json->bare = is_scalar(field);
	json->scalar = is_scalar(field);
	json->comma = false;
}

static void end_element(void *arg, const struct field_info *field)
{
	struct args_writer *json = arg;

	pop_path(json);
	put_bare_null(json);
	if (!is_scalar(field))
		text_char(json->out, '}');
	json->scalar = false;
	json->comma = true;
}

static void end_field(void *arg, const struct field_info *field)
{
	struct args_writer *json = arg;

	pop_path(json);
	put_bare_null(json);
	if (is_array(field))
		text_char(json->out, ']');
	json->comma = true;
}

static struct codec_visitor make_visitor(struct args_writer *json)
{
	return (struct codec_visitor){ .number = put_number,
				       .text = put_bytes,
				       .private = put_private,
				       .null = put_null,
				       .begin = begin_field,
				       .element = begin_element,
				       .element_end = end_element,
				       .end = end_field,
				       .arg = json };
}

ssize_t args_write_members(struct args_writer *json, const uint64_t *words, size_t nwords,
			   const struct struct_info *info)
{
	struct codec_visitor v = make_visitor(json);

	return codec_visit(words, nwords, info, &v);
}

static void open_member(struct args_writer *json, const char *name)
{
	put_name(json, name);
	text_char(json->out, '{');
	json->bare = false;
	push_path(json, name);
	json->comma = false;
}

static void close_member(struct args_writer *json)
{
	pop_path(json);
	text_char(json->out, '}');
	json->comma = true;
}

ssize_t args_write_made(struct args_writer *json, const struct field_info *ret,
			const uint64_t *words, size_t nwords)
{
	struct codec_visitor v = make_visitor(json);
	ssize_t used;

	if (ret->kind == FIELD_OBJS)
		return codec_visit_objects(words, nwords, ret, &v);
	open_member(json, ret->name);
	used = args_write_members(json, words, nwords, &object_infos[ret->object]);
	close_member(json);
	return used;
}

ssize_t args_write_changed(struct args_writer *json, const struct struct_info *args,
			   const uint64_t *words, size_t nwords)
{
	for (unsigned int i = 0; i < args->nfields && nwords; i++)
		if (args->fields[i].after)
			return args_write_made(json, &args->fields[i], words, nwords);
	return 0;
}

void args_writer_fini(struct args_writer *json)
{
	text_fini(&json->path);
}
