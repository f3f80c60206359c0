/*
 * The arguments of a control verb as C
 *
 * A field is printed if it is not 0 or is essential to the call. Values that only the device or
 * another thread knows have functions of their own: addresses of ports, numbers of queue pairs,
 * memory.
 */
#include "cli/emit/arguments.h"

#include <errno.h>
#include <stdio.h>
#include <inttypes.h>
#include <string.h>
#include <infiniband/verbs.h>

#include "cli/emit/names.h"
#include "core/base/vec.h"
#include "core/store/db/args_walk.h"
#include "core/wire/log.h"

/* The value that is printed, and its place. */
struct place_in {
	const struct call *call;
	const struct struct_info *of;
	const struct json_node *json; /* the structure */
	int depth;
	bool as_is; /* the call failed: its numbers stay as recorded */
};

static int add_struct(struct maker *maker, const struct place_in *in);

static int64_t number_of(const struct json_node *json, enum arg arg)
{
	const struct json_node *node = args_member(json, arg);

	return node && (node->kind == JSON_INT || node->kind == JSON_BOOL) ? node->number : 0;
}

uint32_t arguments_object(const struct maker *maker, enum object_kind kind, uint64_t handle)
{
	const struct program *program = maker->program;
	const struct object *o = !handle ? NULL
					 : trace_object_at(program->trace, program->process, kind,
							   handle, program->time);

	return o ? o->id : 0;
}

static int64_t enum_value(const struct field_info *field, const struct json_node *value)
{
	for (unsigned int i = 0; value->kind == JSON_TEXT && i < field->names->nvalues; i++)
		if (!strcmp(field->names->values[i].name, value->text))
			return field->names->values[i].value;
	return value->kind == JSON_INT ? value->number : 0;
}

/* A newer recorder may have names that are not known to us: another value would change the call. */
static int check_enum(struct maker *maker, const struct field_info *field,
		      const struct json_node *value)
{
	if (field->kind != FIELD_ENUM || value->kind != JSON_TEXT)
		return 0;
	for (unsigned int i = 0; i < field->names->nvalues; i++)
		if (!strcmp(field->names->values[i].name, value->text))
			return 0;
	return program_refuse(maker->program, "%s is not a known value of %s", field->name,
			      field->names->name);
}

/* The variable with the number of the peer. */
static void add_peer(struct maker *maker, const struct place_in *in, int64_t number)
{
	struct phrase *phrase = &maker->program->phrase;
	uint32_t qp = in->call->object;
	uint32_t peer = qp ? links_find(&maker->links, qp, in->call->begin) : 0;
	char name[NAME_TEXT];

	if (!peer || in->as_is) {
		phrase_addf(phrase, "0x%" PRIx64, number);
		return;
	}
	maker->program->objects[peer].number = true;
	phrase_addf(phrase, "%s_num", names_variable(maker->program, peer, name));
}

/* The path to the port: its LID and GID are those of the device at run time. */
static int add_path(struct maker *maker, const struct json_node *value)
{
	struct phrase *phrase = &maker->program->phrase;

	maker->program->helpers |= HELPER_PATH;
	phrase_addf(phrase,
		    number_of(value, ARG(attr.ah_attr.is_global)) ? "path(1, " : "path(0, ");
	phrase_addf(phrase, "%" PRId64 ")", number_of(value, ARG(attr.ah_attr.sl)));
	return 0;
}

/* Is it a multicast group, whose address is the same on any device? */
static bool is_group(const struct json_node *value)
{
	const struct json_node *grh = args_member(value, ARG(attr.ah_attr.grh));
	const struct json_node *gid = grh ? args_member(grh, ARG(attr.ah_attr.grh.dgid)) : NULL;

	gid = gid ? args_member(gid, ARG(attr.ah_attr.grh.dgid.raw)) : NULL;
	return number_of(value, ARG(attr.ah_attr.is_global)) && gid && gid->kind == JSON_TEXT &&
	       !strncmp(gid->text, "ff", 2);
}

static void add_bytes(struct phrase *phrase, const struct json_node *value)
{
	phrase_addf(phrase, "{ ");
	for (size_t i = 0; value->kind == JSON_TEXT && i + 1 < value->length; i += 2)
		phrase_addf(phrase, i ? ", 0x%.2s" : "0x%.2s", value->text + i);
	phrase_addf(phrase, " }");
}

/* Does a structure contain nothing but zeros? Bytes are text. */
static bool has_zeros(const struct json_node *value)
{
	bool zeros = true;

	switch (value->kind) {
	case JSON_NULL:
		return true;
	case JSON_INT:
	case JSON_BOOL:
		return !value->number;
	case JSON_TEXT:
		return strspn(value->text, "0") == value->length;
	case JSON_OBJECT:
		for (const struct json_node *n = json_first(value); n && zeros; n = json_next(n))
			zeros = has_zeros(n);
		return zeros;
	default:
		return false;
	}
}

static bool is_zero(const struct field_info *field, const struct json_node *value)
{
	if (value->kind == JSON_NULL)
		return true;
	if (field->kind == FIELD_ENUM)
		return !enum_value(field, value) && !strstr(field->name, "state");
	if (field->kind == FIELD_BYTES)
		return value->kind != JSON_TEXT || strspn(value->text, "0") == value->length;
	if (field->kind == FIELD_STRUCT)
		return has_zeros(value);
	return value->kind == JSON_INT && !value->number;
}

/* The variable in which a CQ's events are counted. */
static void add_context(struct maker *maker, uint32_t cq)
{
	char name[NAME_TEXT];

	phrase_addf(&maker->program->phrase, "&%s_events",
		    names_variable(maker->program, cq, name));
}

static bool is_counted(const struct maker *maker, const struct call *call,
		       const struct field_info *field)
{
	return maker->program->objects[call->object].events && !strcmp(field->name, "cq_context");
}

/* Add a field whose value is not the recorded one: true if one was added. */
static bool add_special(struct maker *maker, const struct place_in *in,
			const struct field_info *field, const struct json_node *value)
{
	struct phrase *phrase = &maker->program->phrase;
	bool qp_attr = !strcmp(in->of->name, "struct ibv_qp_attr");
	bool bind = !strcmp(in->of->name, "struct ibv_mw_bind_info");

	if (!strcmp(in->of->name, "struct ibv_xrcd_init_attr") && !strcmp(field->name, "fd")) {
		phrase_addf(phrase, "-1");
		return true;
	}
	if (bind && !strcmp(field->name, "addr")) {
		uint32_t mr = arguments_object(
			maker, OBJECT_mr, (uint64_t)number_of(in->json, ARG(mw_bind.bind_info.mr)));

		memory_add_address(&maker->memory, maker->program,
				   mr ? memory_of(&maker->memory, mr, maker->program->time) : NULL,
				   maker->program->process, (uint64_t)value->number, false);
		return true;
	}
	if (qp_attr && !strcmp(field->name, "dest_qp_num")) {
		add_peer(maker, in, value->number);
		return true;
	}
	if (in->as_is)
		return false;
	if (qp_attr && !strcmp(field->name, "path_mtu")) {
		maker->program->helpers |= HELPER_MTU;
		phrase_addf(phrase, "mtu(");
		names_add_enum(&phrase->text, field->names, enum_value(field, value));
		phrase_addf(phrase, ")");
		return true;
	}
	if (!strcmp(field->name, "port_num") || !strcmp(field->name, "alt_port_num")) {
		phrase_addf(phrase, "port");
		return true;
	}
	if (field->kind == FIELD_STRUCT && !strcmp(field->type->name, "struct ibv_ah_attr") &&
	    !is_group(value))
		return !add_path(maker, value);
	return false;
}

/* Add an integer, cut to its type. */
static void add_integer(struct phrase *phrase, const struct field_info *field, int64_t value)
{
	bool sign = field->kind == FIELD_INT;

	if (field->size == 1)
		value = sign ? (int8_t)value : (uint8_t)value;
	else if (field->size == 2)
		value = sign ? (int16_t)value : (uint16_t)value;
	else if (field->size == 4)
		value = sign ? (int32_t)value : (int64_t)(uint32_t)value;
	if (value == INT64_MIN)
		phrase_addf(phrase, "INT64_MIN");
	else
		phrase_number(phrase, 'd', value);
}

static int add_value(struct maker *maker, const struct place_in *in, const struct field_info *field,
		     const struct json_node *value)
{
	struct phrase *phrase = &maker->program->phrase;
	struct place_in inner = *in;

	switch (field->kind) {
	case FIELD_ENUM:
		names_add_enum(&phrase->text, field->names, enum_value(field, value));
		return 0;
	case FIELD_FLAGS:
		names_add_flags(&phrase->text, field->names, value->number);
		return 0;
	case FIELD_OBJ:
		names_add_handle(maker->program, &phrase->text,
				 arguments_object(maker, field->object, (uint64_t)value->number));
		return 0;
	case FIELD_BYTES:
		add_bytes(phrase, value);
		return 0;
	case FIELD_STRUCT:
		inner.of = field->type;
		inner.json = value;
		inner.depth++;
		return add_struct(maker, &inner);
	case FIELD_INT:
	case FIELD_UINT:
	case FIELD_BE:
		if (field->kind == FIELD_BE)
			phrase_addf(phrase, field->size == 2   ? "htobe16("
					    : field->size == 4 ? "htobe32("
							       : "htobe64(");
		add_integer(phrase, field, value->kind == JSON_INT ? value->number : 0);
		if (field->kind == FIELD_BE)
			phrase_addf(phrase, ")");
		return 0;
	default:
		return program_refuse(maker->program,
				      "%s: %s has a %s, which a program cannot contain",
				      verb_infos[in->call->verb].name, in->of->name, field->name);
	}
}

static void add_tabs(struct phrase *phrase, int depth)
{
	for (int i = 0; i < depth; i++)
		phrase_addf(phrase, "\t");
}

/* Add a member, as a phrase of its own, if it is not the default. */
static int add_member(struct maker *maker, const struct place_in *in,
		      const struct field_info *field)
{
	const struct json_node *value =
		json_find_member(in->json, field->name, strlen(field->name));
	struct phrase *phrase = &maker->program->phrase;
	bool counted = is_counted(maker, in->call, field);
	int err = value ? check_enum(maker, field, value) : 0;

	if (err || !(counted || (value && field->kind != FIELD_ADDR && !is_zero(field, value))))
		return err;
	phrase_addf(phrase, "\n");
	add_tabs(phrase, in->depth + 1);
	phrase_addf(phrase, ".%s = ", field->name);
	if (counted)
		add_context(maker, in->call->object);
	else if (!add_special(maker, in, field, value))
		err = add_value(maker, in, field, value);
	phrase_addf(phrase, ",");
	return err;
}

/* "{ ... }", a member a phrase. */
static int add_struct(struct maker *maker, const struct place_in *in)
{
	struct phrase *phrase = &maker->program->phrase;
	size_t before;
	int err = 0;

	phrase_addf(phrase, "{");
	before = phrase->text.used;
	for (unsigned int i = 0; !err && i < in->of->nfields; i++)
		err = add_member(maker, in, &in->of->fields[i]);
	if (phrase->text.used == before) {
		phrase_addf(phrase, " 0 }");
		return err;
	}
	phrase_addf(phrase, "\n");
	add_tabs(phrase, in->depth);
	phrase_addf(phrase, "}");
	return err;
}

static int add_pointer(struct maker *maker, const struct place_in *in,
		       const struct field_info *field, const struct json_node *value)
{
	struct phrase *phrase = &maker->program->phrase;
	struct place_in inner = *in;

	if (!(field->dir & DIR_IN)) {
		phrase_addf(phrase, "&(%s){ 0 }", field->type->name);
		return 0;
	}
	if (!value || value->kind == JSON_NULL) {
		phrase_addf(phrase, "NULL");
		return 0;
	}
	if (value->kind != JSON_OBJECT)
		return program_refuse(maker->program, "%s: %s is an array",
				      verb_infos[in->call->verb].name, field->name);
	if (!strcmp(field->type->name, "struct ibv_ah_attr") && !in->as_is && !is_group(value)) {
		phrase_addf(phrase, "(struct ibv_ah_attr[]){ ");
		add_path(maker, value);
		phrase_addf(phrase, " }");
		return 0;
	}
	inner.of = field->type;
	inner.json = value;
	phrase_addf(phrase, "&(%s)", field->type->name);
	return add_struct(maker, &inner);
}

int arguments_add(struct maker *maker, const struct call *call, const struct field_info *field)
{
	const struct json_node *value = args_field(call->args, field);
	const struct struct_info *args = &verb_infos[call->verb].args;
	struct place_in in = {
		.call = call, .of = args, .json = args_root(call->args), .as_is = call->failed
	};
	struct phrase *phrase = &maker->program->phrase;

	if (field->kind == FIELD_PTR)
		return add_pointer(maker, &in, field, value);
	if (field->kind == FIELD_ADDR) {
		if (is_counted(maker, call, field))
			add_context(maker, call->object);
		else
			phrase_addf(phrase, "NULL");
		return 0;
	}
	if (!value)
		return program_refuse(maker->program, "%s: %s is not in the trace", args->name,
				      field->name);
	if (check_enum(maker, field, value))
		return -ENOTSUP;
	if (add_special(maker, &in, field, value))
		return 0;
	return add_value(maker, &in, field, value);
}

/* An object that was made with another one is destroyed before it. */
static int add_needed(struct maker *maker, const struct call *call, uint32_t object)
{
	struct named *needed = &maker->needed[call->object];
	uint32_t *place;

	if (!call->object || call->failed || verb_infos[call->verb].effect != EFFECT_CREATE ||
	    !object)
		return 0;
	place = vec_push(needed->objects, needed->n);
	if (!place)
		return log_err(-ENOMEM, "emit");
	*place = object;
	return 0;
}

struct ordering {
	struct maker *maker;
	const struct call *call;
};

/* Order the object that an argument names. */
static int order_value(void *arg, const struct field_info *field, const char *path,
		       const struct json_node *value, const struct json_node *other)
{
	const struct ordering *o = arg;
	struct maker *maker = o->maker;
	uint32_t object;
	int err;

	(void)path;
	(void)other;
	if (field->kind != FIELD_OBJ || value->kind != JSON_INT)
		return 0;
	object = arguments_object(maker, field->object, (uint64_t)value->number);
	err = order_read(&maker->order, object, ROLE_STATE);
	if (!err)
		err = order_touch(&maker->order, object, ROLE_STATE);
	return err ? err : add_needed(maker, o->call, object);
}

int arguments_order(struct maker *maker, const struct call *call)
{
	struct ordering ordering = { maker, call };

	return args_walk(&verb_infos[call->verb].args, args_root(call->args), NULL, "", order_value,
			 &ordering);
}
