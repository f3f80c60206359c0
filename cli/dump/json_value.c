/*
 * A value of a verb's argument as JSON
 *
 * The texts of values.c are used for names.
 */
#include "cli/dump/json_value.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/dump/names.h"
#include "core/store/db/args_visit.h"

enum { NAME = 128 };

int json_values_init(struct json_values *jv, struct trace *trace, struct names *names,
		     struct text *out)
{
	*jv = (struct json_values){ .json = { .out = out } };
	jv->values = (struct values){ .trace = trace, .names = names };
	jv->values.out = open_memstream(&jv->scratch, &jv->size);
	return jv->values.out ? 0 : -ENOMEM;
}

void json_values_fini(struct json_values *jv)
{
	if (jv->values.out)
		fclose(jv->values.out);
	free(jv->scratch);
}

const char *json_values_get_text(struct json_values *jv)
{
	fputc('\0', jv->values.out);
	fflush(jv->values.out);
	rewind(jv->values.out);
	return jv->scratch ? jv->scratch : "";
}

void json_values_put_printed(struct json_values *jv, const char *name)
{
	const char *text = json_values_get_text(jv);
	size_t n = strlen(text);
	bool quoted = n > 1 && text[0] == '<' && text[n - 1] == '>';

	if (!n)
		return;
	json_put_name(&jv->json, name);
	text_json(jv->json.out, text + quoted, n - 2 * quoted);
}

void json_values_put_object(struct json_values *jv, const char *name, const struct object *object)
{
	const struct values *v = &jv->values;
	char beside[NAME];

	json_put_text(&jv->json, name, object ? object->name : NULL);
	if (!jv->beside || !name)
		return;
	names_print_object(v->names, v->out, object, v->time);
	snprintf(beside, sizeof(beside), "%s_is", name);
	json_values_put_printed(jv, beside);
}

void json_values_put_handle(struct json_values *jv, const char *name, enum object_kind kind,
			    uint64_t handle)
{
	const struct values *v = &jv->values;
	const struct object *object = NULL;
	char address[24];

	if (handle)
		object = trace_object_at(v->trace, v->process, kind, handle, v->time);
	if (object || !handle) {
		json_values_put_object(jv, name, object);
		return;
	}
	snprintf(address, sizeof(address), "0x%llx", (unsigned long long)handle);
	json_put_text(&jv->json, name, address);
}

void json_values_put_flags(struct json_values *jv, const char *name, const char *of, uint64_t value)
{
	values_print_flags(jv->values.out, enum_find(of), value);
	json_values_put_printed(jv, name);
}

void json_values_put_enum(struct json_values *jv, const char *name, const struct enum_info *of,
			  int64_t value)
{
	if (enum_name(of, value))
		json_put_text(&jv->json, name, enum_name(of, value));
	else
		json_put_int(&jv->json, name, value);
}

/* Write a value as in the trace: its type is not known. */
static void put_node(struct json_values *jv, const char *name, const struct json_node *node)
{
	bool array = node->kind == JSON_ARRAY;

	switch (node->kind) {
	case JSON_OBJECT:
	case JSON_ARRAY:
		json_open(&jv->json, name, array ? '[' : '{');
		for (const struct json_node *at = json_first(node); at; at = json_next(at))
			put_node(jv, array ? NULL : at->name, at);
		json_close(&jv->json, array ? ']' : '}');
		break;
	case JSON_TEXT:
		json_put_name(&jv->json, name);
		text_json(jv->json.out, node->text, node->length);
		break;
	default:
		json_put_name(&jv->json, name);
		if (node->raw)
			text_add(jv->json.out, node->raw, node->raw_length);
		else
			text_number(jv->json.out, node->number);
	}
}

/* "<process 2 qp1>" beside the number of a peer's queue pair. */
static void put_peer(struct json_values *jv, const struct field_info *field, uint64_t number)
{
	struct values *v = &jv->values;

	if (!args_is(field, ARG(attr.dest_qp_num)))
		return;
	names_print_peer(v->names, v->out, v->queue, (uint32_t)number, v->time);
	json_values_put_printed(jv, "dest_qp");
}

static void put_number(struct json_values *jv, const char *name, const struct field_info *field,
		       int64_t value)
{
	uint64_t number = values_unsigned(field, value);

	switch (field->kind) {
	case FIELD_OBJ:
	case FIELD_OBJS:
		json_values_put_handle(jv, name, field->object, (uint64_t)value);
		break;
	case FIELD_FLAGS:
		values_print_flags(jv->values.out, field->names, number);
		json_values_put_printed(jv, name);
		break;
	case FIELD_ADDR:
	case FIELD_UINT:
	case FIELD_BE:
		json_put_uint(&jv->json, name, number);
		if (name)
			put_peer(jv, field, number);
		break;
	default:
		json_put_int(&jv->json, name, value);
	}
}

/* Bytes that are a GID are printed as a GID. */
static void put_text(struct json_values *jv, const char *name, const struct field_info *field,
		     const struct json_node *value)
{
	if (field->kind != FIELD_BYTES || !value->length) {
		put_node(jv, name, value);
		return;
	}
	values_print_field(&jv->values, field, value);
	json_values_put_printed(jv, name);
}

static int put_value(void *arg, const struct args_place *place)
{
	const struct json_node *value = place->value;
	struct json_values *jv = arg;

	if (values_is_outside(&jv->values, place))
		return 0;
	if (!place->field)
		put_node(jv, place->name, value);
	else if (value->kind == JSON_TEXT)
		put_text(jv, place->name, place->field, value);
	else if (value->kind == JSON_NULL)
		json_put_text(&jv->json, place->name, NULL);
	else
		put_number(jv, place->name, place->field,
			   value->kind == JSON_INT ? value->number : strtoll(value->raw, NULL, 10));
	return 0;
}

static int open_value(void *arg, const struct args_place *place)
{
	const struct json_node *raw = values_raw(place);
	struct json_values *jv = arg;

	if (values_is_outside(&jv->values, place))
		return ARGS_SKIP;
	if (raw) {
		json_values_put_field(jv, place->name, &place->type->fields[0], raw);
		return ARGS_SKIP;
	}
	json_open(&jv->json, place->name, place->value->kind == JSON_ARRAY ? '[' : '{');
	return 0;
}

static int close_value(void *arg, const struct args_place *place)
{
	struct json_values *jv = arg;

	json_close(&jv->json, place->value->kind == JSON_ARRAY ? ']' : '}');
	return 0;
}

void json_values_put_field(struct json_values *jv, const char *name, const struct field_info *field,
			   const struct json_node *value)
{
	static const struct args_visitor visitor = {
		.value = put_value, .open = open_value, .close = close_value, .unknown = true
	};

	args_visit(&visitor, jv, name, field, value);
}
