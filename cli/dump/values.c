/*
 * A value of a verb's argument, decoded by its descriptor
 *
 * The JSON contains the values, the descriptor their types: a structure becomes {name=value, ...},
 * flags and handles become names.
 *
 * Not here: the traversal of a value (core/store/db/args_visit.c).
 */
#include "cli/dump/values.h"

#include <arpa/inet.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/dump/names.h"
#include "core/base/hex.h"
#include "core/base/printable.h"
#include "core/base/style.h"
#include "core/store/db/args_visit.h"

void values_print_flags(FILE *out, const struct enum_info *names, uint64_t value)
{
	const char *sep = "";

	for (unsigned int i = 0; names && i < names->nvalues; i++) {
		uint64_t bit = (uint64_t)names->values[i].value;

		if (!bit || (value & bit) != bit)
			continue;
		fputs(sep, out);
		fputs(names->values[i].name, out);
		value &= ~bit;
		sep = "|";
	}
	if (value || !*sep)
		fprintf(out, value ? "%s0x%" PRIx64 : "%s%" PRIu64, sep, value);
}

void values_print_enum(FILE *out, const struct enum_info *names, int64_t value)
{
	const char *name = enum_name(names, value);

	if (name)
		fputs(name, out);
	else
		fprintf(out, "%" PRId64, value);
}

void values_print_object(const struct values *v, const struct object *object)
{
	style_put(v->out, STYLE_NAME);
	print_untrusted(v->out, object->name);
	style_put(v->out, STYLE_PLAIN);
	if (v->beside)
		names_print_object(v->names, v->out, object, v->time);
}

void values_print_handle(const struct values *v, enum object_kind kind, uint64_t handle)
{
	const struct object *object = NULL;

	if (handle)
		object = trace_object_at(v->trace, v->process, kind, handle, v->time);
	if (object)
		values_print_object(v, object);
	else if (handle)
		fprintf(v->out, "0x%" PRIx64, handle);
	else
		fputs("NULL", v->out);
}

uint64_t values_unsigned(const struct field_info *field, int64_t value)
{
	return field->size < 8 && field->size ? (uint64_t)value & ((1ull << 8 * field->size) - 1)
					      : (uint64_t)value;
}

static void put_number(const struct values *v, const struct field_info *field, int64_t value)
{
	uint64_t number = values_unsigned(field, value);

	switch (field->kind) {
	case FIELD_OBJ:
	case FIELD_OBJS:
		values_print_handle(v, field->object, (uint64_t)value);
		break;
	case FIELD_FLAGS:
		values_print_flags(v->out, field->names, number);
		break;
	case FIELD_ADDR:
		fprintf(v->out, value ? "0x%" PRIx64 : "NULL", number);
		break;
	case FIELD_UINT:
	case FIELD_BE:
		fprintf(v->out, hex_is_usual_for(field->name) ? "0x%" PRIx64 : "%" PRIu64, number);
		if (args_is(field, ARG(attr.dest_qp_num)))
			names_print_peer(v->names, v->out, v->queue, (uint32_t)number, v->time);
		break;
	default:
		fprintf(v->out, "%" PRId64, value);
	}
}

/* Print a text of the trace, with or without quotes. */
static void put_string(FILE *out, const struct json_node *value, bool quoted)
{
	if (quoted)
		print_untrusted_bytes(out, value->raw, value->raw_length);
	else
		print_untrusted_bytes(out, value->raw + 1, value->raw_length - 2);
}

/* Read two digits; sscanf() would scan the whole text each time. */
static bool read_byte(const char *text, unsigned char *ret_byte)
{
	const char digits[3] = { text[0], text[1], '\0' };
	char *end;

	*ret_byte = (unsigned char)strtoul(digits, &end, 16);
	return end == digits + 2;
}

/* Sixteen bytes are nearly always a GID. */
static void put_bytes(FILE *out, const struct json_node *value)
{
	unsigned char bytes[16];
	char text[INET6_ADDRSTRLEN];
	bool gid = value->raw_length == 2 + 32;

	for (size_t i = 0; i < 16 && gid; i++)
		gid = read_byte(value->raw + 1 + 2 * i, &bytes[i]);
	if (gid)
		fputs(inet_ntop(AF_INET6, bytes, text, sizeof(text)), out);
	else
		put_string(out, value, false);
}

static void put_text(const struct values *v, const struct field_info *field,
		     const struct json_node *value)
{
	if (field->kind == FIELD_BYTES)
		put_bytes(v->out, value);
	else
		put_string(v->out, value,
			   field->kind != FIELD_BLOB && field->kind != FIELD_SOCKADDR &&
				   field->kind != FIELD_ENUM);
}

static bool is_raw(const struct struct_info *info)
{
	return info && info->nfields == 1 && !strcmp(info->fields[0].name, "raw");
}

const struct json_node *values_raw(const struct args_place *place)
{
	return is_raw(place->type) ? args_member(place->value, ARG(gid.raw)) : NULL;
}

static void put_raw(FILE *out, const struct json_node *value)
{
	if (value->raw)
		print_untrusted_bytes(out, value->raw, value->raw_length);
	else
		fprintf(out, "%" PRId64, value->number);
}

uint64_t values_outside(const struct call *call)
{
	const struct verb_info *verb = &verb_infos[call->verb];
	const struct json_node *mask = args_find(call->args, ARG(attr_mask));

	if (verb->effect != EFFECT_QUERY || !mask || mask->kind != JSON_INT)
		return 0;
	return ~(uint64_t)mask->number;
}

bool values_is_outside(const struct values *v, const struct args_place *place)
{
	const struct struct_info *of = place->in ? place->in->type : NULL;

	return place->name && place->field && of && of->mask < 0 && place->field->when &&
	       !(place->field->when & ~v->outside);
}

/* The text of a value, while its parts are visited. */
struct printer {
	const struct values *values;
	const char *sep;
};

/* Print what is before a part: "name=", separators. */
static void put_separator(struct printer *p, const struct args_place *place)
{
	FILE *out = p->values->out;

	if (!place->in)
		return;
	fputs(p->sep, out);
	p->sep = ", ";
	if (place->name) {
		print_untrusted(out, place->name);
		fputc('=', out);
	}
}

static int put_value(void *arg, const struct args_place *place)
{
	const struct json_node *value = place->value;
	struct printer *p = arg;
	const struct values *v = p->values;

	if (values_is_outside(v, place))
		return 0;
	put_separator(p, place);
	if (!place->field)
		put_raw(v->out, value);
	else if (value->kind == JSON_TEXT)
		put_text(v, place->field, value);
	else if (value->kind == JSON_NULL)
		fputs("NULL", v->out);
	else
		put_number(v, place->field,
			   value->kind == JSON_INT ? value->number : strtoll(value->raw, NULL, 10));
	return 0;
}

static int open_value(void *arg, const struct args_place *place)
{
	const struct json_node *raw = values_raw(place);
	struct printer *p = arg;

	if (values_is_outside(p->values, place))
		return ARGS_SKIP;
	put_separator(p, place);
	if (raw) {
		values_print_field(p->values, &place->type->fields[0], raw);
		return ARGS_SKIP;
	}
	fputc(place->value->kind == JSON_ARRAY ? '[' : '{', p->values->out);
	p->sep = "";
	return 0;
}

static int close_value(void *arg, const struct args_place *place)
{
	struct printer *p = arg;

	fputc(place->value->kind == JSON_ARRAY ? ']' : '}', p->values->out);
	p->sep = ", ";
	return 0;
}

void values_print_field(const struct values *v, const struct field_info *field,
			const struct json_node *value)
{
	static const struct args_visitor visitor = {
		.value = put_value, .open = open_value, .close = close_value, .unknown = true
	};
	struct printer printer = { v, "" };

	args_visit(&visitor, &printer, NULL, field, value);
}
