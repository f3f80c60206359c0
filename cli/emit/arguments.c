/*
 * The arguments of a control verb as C
 *
 * A field is printed if it is not 0 or is essential to the call. Values that only the device or
 * another thread of the program knows are printed by separate functions: addresses of ports,
 * numbers of queue pairs, memory.
 */
#include "cli/emit/arguments.h"

#include <errno.h>
#include <stdio.h>
#include <inttypes.h>
#include <string.h>
#include <infiniband/verbs.h>

#include "cli/emit/names.h"
#include "core/base/vec.h"
#include "core/store/db/args_visit.h"
#include "core/wire/log.h"

/* The call whose arguments are printed. */
struct argument_writer {
	struct maker *maker;
	const struct call *call;
	int depth;  /* of structures */
	bool as_is; /* the call failed: its numbers stay as recorded */
};

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

/* Refuse names that a newer recorder may have: guessing a value would change the call. */
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
static void add_peer(const struct argument_writer *w, int64_t number)
{
	struct program *program = w->maker->program;
	uint32_t qp = w->call->object;
	uint32_t peer = qp ? links_find(&w->maker->links, qp, w->call->begin) : 0;
	char name[NAME_TEXT];

	if (!peer || w->as_is) {
		phrase_addf(&program->phrase, "0x%" PRIx64, number);
		return;
	}
	program->objects[peer].number = true;
	phrase_addf(&program->phrase, "%s_num", names_variable(program, peer, name));
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

/* Is @value the address of a multicast group, which is the same on any device? */
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
	return maker->program->objects[call->object].events && args_is(field, ARG(cq_context));
}

enum { READS_EVERYWHERE = 16 }; /* at a time: every adapter has so many */

/* Does the field have more outstanding reads than some adapters? */
static bool is_many_reads(const struct field_info *field, const struct json_node *value)
{
	return (args_is(field, ARG(attr.max_rd_atomic)) ||
		args_is(field, ARG(attr.max_dest_rd_atomic))) &&
	       value->kind == JSON_INT && value->number > READS_EVERYWHERE;
}

/* Add a field whose value is not the recorded one: true if one was added. */
static bool add_special(const struct argument_writer *w, const struct args_place *place)
{
	const struct field_info *field = place->member;
	const struct json_node *value = place->value;
	const char *of = place->in->type->name;
	struct maker *maker = w->maker;
	struct phrase *phrase = &maker->program->phrase;
	bool qp_attr = !strcmp(of, "struct ibv_qp_attr");
	bool bind = !strcmp(of, "struct ibv_mw_bind_info");

	if (!strcmp(of, "struct ibv_xrcd_init_attr") && args_is(field, ARG(xrcd_init_attr.fd))) {
		phrase_addf(phrase, "-1");
		return true;
	}
	if (bind && args_is(field, ARG(mw_bind.bind_info.addr))) {
		int64_t handle = number_of(place->in->value, ARG(mw_bind.bind_info.mr));
		uint32_t mr = arguments_object(maker, OBJECT_mr, (uint64_t)handle);

		memory_add_address(&maker->memory, maker->program,
				   mr ? memory_of(&maker->memory, mr, maker->program->time) : NULL,
				   maker->program->process, (uint64_t)value->number, false);
		return true;
	}
	if (qp_attr && args_is(field, ARG(attr.dest_qp_num))) {
		add_peer(w, value->number);
		return true;
	}
	if (w->as_is)
		return false;
	if (qp_attr && args_is(field, ARG(attr.path_mtu))) {
		maker->program->helpers |= HELPER_MTU;
		phrase_addf(phrase, "mtu(");
		names_add_enum(&phrase->text, field->names, enum_value(field, value));
		phrase_addf(phrase, ")");
		return true;
	}
	if (qp_attr && is_many_reads(field, value)) {
		maker->program->helpers |= HELPER_READS;
		phrase_addf(phrase, "reads(");
		names_add_handle(maker->program, &phrase->text, w->call->object);
		phrase_addf(phrase, ", ");
		phrase_number(phrase, 'd', value->number);
		phrase_addf(phrase, ")");
		return true;
	}
	if (args_is(field, ARG(port_num)) || args_is(field, ARG(attr.alt_port_num))) {
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

static int refuse_field(const struct argument_writer *w, const struct struct_info *of,
			const struct field_info *field)
{
	return program_refuse(w->maker->program, "%s: %s has a %s, which a program cannot contain",
			      verb_infos[w->call->verb].name, of->name, field->name);
}

static int add_value(const struct argument_writer *w, const struct struct_info *of,
		     const struct field_info *field, const struct json_node *value)
{
	struct program *program = w->maker->program;
	struct phrase *phrase = &program->phrase;

	switch (field->kind) {
	case FIELD_ENUM:
		names_add_enum(&phrase->text, field->names, enum_value(field, value));
		return 0;
	case FIELD_FLAGS:
		names_add_flags(&phrase->text, field->names, value->number);
		return 0;
	case FIELD_OBJ:
		names_add_handle(
			program, &phrase->text,
			arguments_object(w->maker, field->object, (uint64_t)value->number));
		return 0;
	case FIELD_BYTES:
		add_bytes(phrase, value);
		return 0;
	case FIELD_STRUCT: /* it has no members */
		phrase_addf(phrase, "{ 0 }");
		return 0;
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
		return refuse_field(w, of, field);
	}
}

static void add_tabs(struct phrase *phrase, int depth)
{
	for (int i = 0; i < depth; i++)
		phrase_addf(phrase, "\t");
}

/* Begin a member as a separate phrase; ARGS_SKIP if it is the default, or was added. */
static int begin_member(const struct argument_writer *w, const struct args_place *place)
{
	const struct field_info *field = place->member;
	const struct json_node *value = place->value;
	struct phrase *phrase = &w->maker->program->phrase;
	bool counted = is_counted(w->maker, w->call, field);
	int err = value ? check_enum(w->maker, field, value) : 0;

	if (err)
		return err;
	if (!counted && (!value || field->kind == FIELD_ADDR || is_zero(field, value)))
		return ARGS_SKIP;
	phrase_addf(phrase, "\n");
	add_tabs(phrase, w->depth + 1);
	phrase_addf(phrase, ".%s = ", field->name);
	if (counted)
		add_context(w->maker, w->call->object);
	else if (!add_special(w, place))
		return 0;
	phrase_addf(phrase, ",");
	return ARGS_SKIP;
}

static int put_member(void *arg, const struct args_place *place)
{
	const struct argument_writer *w = arg;
	int err = begin_member(w, place);

	if (err)
		return err == ARGS_SKIP ? 0 : err;
	err = add_value(w, place->in->type, place->member, place->value);
	phrase_addf(&w->maker->program->phrase, ",");
	return err;
}

static int open_struct(void *arg, const struct args_place *place)
{
	struct argument_writer *w = arg;
	int err = place->in ? begin_member(w, place) : 0;

	if (err)
		return err;
	if (place->in && (place->member->kind != FIELD_STRUCT || place->value->kind == JSON_ARRAY))
		return refuse_field(w, place->in->type, place->member);
	w->depth += place->in != NULL;
	phrase_addf(&w->maker->program->phrase, "{");
	return 0;
}

static int close_struct(void *arg, const struct args_place *place)
{
	struct argument_writer *w = arg;
	struct phrase *phrase = &w->maker->program->phrase;
	const struct text *text = &phrase->text;

	if (text->used && text->at[text->used - 1] == '{') {
		phrase_addf(phrase, " 0 }");
	} else {
		phrase_addf(phrase, "\n");
		add_tabs(phrase, w->depth);
		phrase_addf(phrase, "}");
	}
	w->depth -= place->in != NULL;
	if (place->in)
		phrase_addf(phrase, ",");
	return 0;
}

/* "{ ... }", with one phrase for each member. */
static int add_struct(struct argument_writer *w, const struct field_info *field,
		      const struct json_node *value)
{
	static const struct args_visitor visitor = {
		.value = put_member, .open = open_struct, .close = close_struct, .absent = true
	};

	if (value->kind == JSON_OBJECT)
		return args_visit(&visitor, w, NULL, field, value);
	phrase_addf(&w->maker->program->phrase, "{ 0 }");
	return 0;
}

static int add_pointer(struct argument_writer *w, const struct field_info *field,
		       const struct json_node *value)
{
	struct program *program = w->maker->program;
	struct phrase *phrase = &program->phrase;

	if (!(field->dir & DIR_IN)) {
		phrase_addf(phrase, "&(%s){ 0 }", field->type->name);
		return 0;
	}
	if (!value || value->kind == JSON_NULL) {
		phrase_addf(phrase, "NULL");
		return 0;
	}
	if (value->kind != JSON_OBJECT)
		return program_refuse(program, "%s: %s is an array", verb_infos[w->call->verb].name,
				      field->name);
	if (!strcmp(field->type->name, "struct ibv_ah_attr") && !w->as_is && !is_group(value)) {
		phrase_addf(phrase, "(struct ibv_ah_attr[]){ ");
		add_path(w->maker, value);
		phrase_addf(phrase, " }");
		return 0;
	}
	phrase_addf(phrase, "&(%s)", field->type->name);
	return add_struct(w, field, value);
}

int arguments_add(struct maker *maker, const struct call *call, const struct field_info *field)
{
	const struct json_node *value = args_field(call->args, field);
	const struct struct_info *args = &verb_infos[call->verb].args;
	const struct args_place all = { .type = args, .value = args_root(call->args) };
	const struct args_place place = { .in = &all, .member = field, .value = value };
	struct argument_writer w = { .maker = maker, .call = call, .as_is = call->failed };
	struct phrase *phrase = &maker->program->phrase;

	if (field->kind == FIELD_PTR)
		return add_pointer(&w, field, value);
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
	if (add_special(&w, &place))
		return 0;
	if (field->kind == FIELD_STRUCT) {
		w.depth = 1;
		return add_struct(&w, field, value);
	}
	return add_value(&w, args, field, value);
}

/* The object that the call creates needs @object, which must be destroyed later. */
static int add_needed(struct maker *maker, const struct call *call, uint32_t object)
{
	struct used_memory *needed = &maker->needed[call->object];
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

struct argument_order {
	struct maker *maker;
	const struct call *call;
};

/* Order the call after and before the other uses of the object that an argument names. */
static int order_value(void *arg, const struct field_info *field, const char *path,
		       const struct json_node *value, const struct json_node *other)
{
	const struct argument_order *o = arg;
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
		err = order_note_use(&maker->order, object, ROLE_STATE);
	return err ? err : add_needed(maker, o->call, object);
}

int arguments_order(struct maker *maker, const struct call *call)
{
	struct argument_order ordering = { maker, call };

	return args_visit_values(&verb_infos[call->verb].args, args_root(call->args), NULL, "",
				 order_value, &ordering);
}
