/*
 * A value of a verb's argument as JSON
 *
 * Walks the value as values.c does, whose texts are used for names.
 */
#include "cli/dump/json_value.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "cli/dump/names.h"
#include "core/store/db/args_walk.h"

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

const char *json_values_take(struct json_values *jv)
{
	fputc('\0', jv->values.out);
	fflush(jv->values.out);
	rewind(jv->values.out);
	return jv->scratch ? jv->scratch : "";
}

void json_values_put_printed(struct json_values *jv, const char *name)
{
	const char *text = json_values_take(jv);
	size_t n = strlen(text);
	bool quoted = n > 1 && text[0] == '<' && text[n - 1] == '>';

	if (!n)
		return;
	json_put_name(&jv->json, name);
	text_json(jv->json.out, text + quoted, n - 2 * quoted);
}

void json_values_object(struct json_values *jv, const char *name, const struct object *object)
{
	const struct values *v = &jv->values;
	char beside[NAME];

	json_put_text(&jv->json, name, object ? object->name : NULL);
	if (!jv->beside || !name)
		return;
	names_object(v->names, v->out, object, v->time);
	snprintf(beside, sizeof(beside), "%s_is", name);
	json_values_put_printed(jv, beside);
}

void json_values_handle(struct json_values *jv, const char *name, enum object_kind kind,
			uint64_t handle)
{
	const struct values *v = &jv->values;
	const struct object *object = NULL;
	char address[24];

	if (handle)
		object = trace_object_at(v->trace, v->process, kind, handle, v->time);
	if (object || !handle) {
		json_values_object(jv, name, object);
		return;
	}
	snprintf(address, sizeof(address), "0x%llx", (unsigned long long)handle);
	json_put_text(&jv->json, name, address);
}

void json_values_flags(struct json_values *jv, const char *name, const char *of, uint64_t value)
{
	values_flags(jv->values.out, enum_find(of), value);
	json_values_put_printed(jv, name);
}

void json_values_enum(struct json_values *jv, const char *name, const struct enum_info *of,
		      int64_t value)
{
	if (enum_name(of, value))
		json_put_text(&jv->json, name, enum_name(of, value));
	else
		json_put_int(&jv->json, name, value);
}

/* As in the trace, if the type is not known. */
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
		text_add(jv->json.out, node->raw, node->raw_length);
	}
}

/* "<process 2 qp1>" beside the number of a peer's queue pair. */
static void put_peer(struct json_values *jv, const struct field_info *field, uint64_t number)
{
	struct values *v = &jv->values;

	if (strcmp(field->name, "dest_qp_num"))
		return;
	names_peer(v->names, v->out, v->queue, (uint32_t)number, v->time);
	json_values_put_printed(jv, "dest_qp");
}

static void put_number(struct json_values *jv, const char *name, const struct field_info *field,
		       int64_t value)
{
	uint64_t number = values_unsigned(field, value);

	switch (field->kind) {
	case FIELD_OBJ:
	case FIELD_OBJS:
		json_values_handle(jv, name, field->object, (uint64_t)value);
		break;
	case FIELD_FLAGS:
		values_flags(jv->values.out, field->names, number);
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

static void put_struct(struct json_values *jv, const char *name, const struct struct_info *info,
		       const struct json_node *object)
{
	const struct json_node *value = args_member(object, ARG(gid.raw));

	if (values_is_raw(info) && value) {
		json_values_field(jv, name, &info->fields[0], value);
		return;
	}
	json_open(&jv->json, name, '{');
	for (value = json_first(object); value; value = json_next(value)) {
		const struct field_info *field =
			values_find_field(info, value->name, value->name_length);

		if (field && values_is_outside(&jv->values, info, field))
			continue;
		if (field)
			json_values_field(jv, value->name, field, value);
		else
			put_node(jv, value->name, value);
	}
	json_close(&jv->json, '}');
}

static void put_array(struct json_values *jv, const char *name, const struct field_info *field,
		      const struct json_node *array)
{
	json_open(&jv->json, name, '[');
	for (const struct json_node *at = json_first(array); at; at = json_next(at)) {
		if (at->kind == JSON_ARRAY) /* no argument has arrays of arrays */
			put_node(jv, NULL, at);
		else
			json_values_field(jv, NULL, field, at);
	}
	json_close(&jv->json, ']');
}

/* Bytes that are a GID are printed as a GID. */
static void put_text(struct json_values *jv, const char *name, const struct field_info *field,
		     const struct json_node *value)
{
	if (values_pointed(field)->kind != FIELD_BYTES || !value->length) {
		put_node(jv, name, value);
		return;
	}
	values_field(&jv->values, field, value);
	json_values_put_printed(jv, name);
}

void json_values_field(struct json_values *jv, const char *name, const struct field_info *field,
		       const struct json_node *value)
{
	const struct struct_info *type = field->kind == FIELD_OBJS ? &object_infos[field->object]
								   : values_pointed(field)->type;

	switch (value->kind) {
	case JSON_ARRAY:
		put_array(jv, name, field, value);
		break;
	case JSON_OBJECT:
		put_struct(jv, name, type, value);
		break;
	case JSON_TEXT:
		put_text(jv, name, field, value);
		break;
	case JSON_NULL:
		json_put_text(&jv->json, name, NULL);
		break;
	default:
		put_number(jv, name, values_pointed(field),
			   value->kind == JSON_INT ? value->number : strtoll(value->raw, NULL, 10));
	}
}
