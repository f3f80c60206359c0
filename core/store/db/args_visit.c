/*
 * The values of arguments and results, by their descriptors
 *
 * The only traversal of arguments as JSON: the text and the JSON of `dump`, the C of `emit`,
 * comparisons and hashes are visitors.
 *
 * Not here: arguments in memory: reading them (core/wire/codec.c), building them
 * (core/store/read/build.c).
 */
#include "core/store/db/args_visit.h"

#include <stdio.h>
#include <string.h>

enum { PATH = 256 };

struct traversal {
	const struct args_visitor *visitor;
	void *arg;
};

static int visit_place(const struct traversal *t, const struct args_place *place);

/* The target of a pointer to a single value; else @field. */
static const struct field_info *find_pointed(const struct field_info *field)
{
	return field->type && field->type->scalar ? &field->type->fields[0] : field;
}

static const struct struct_info *find_type(const struct field_info *field)
{
	return field->kind == FIELD_OBJS ? &object_infos[field->object] : find_pointed(field)->type;
}

static struct args_place make_place(const struct args_place *in, const struct field_info *field,
				    const struct json_node *value, const struct json_node *other)
{
	return (struct args_place){ .in = in,
				    .member = field,
				    .field = find_pointed(field),
				    .type = find_type(field),
				    .value = value,
				    .other = other };
}

static int visit_elements(const struct traversal *t, const struct args_place *in)
{
	size_t i = 0;
	int err = 0;

	for (const struct json_node *n = json_first(in->value); n && !err; n = json_next(n), i++) {
		struct args_place place = *in;

		place.in = in;
		place.value = n;
		place.other = json_find_element(in->other, i);
		place.name = NULL;
		place.index = i;
		if (n->kind == JSON_ARRAY) { /* no argument has arrays of arrays */
			place.member = place.field = NULL;
			place.type = NULL;
		}
		err = visit_place(t, &place);
	}
	return err;
}

static bool has_field(const struct struct_info *type, const struct json_node *member)
{
	for (unsigned int i = 0; type && i < type->nfields; i++)
		if (strlen(type->fields[i].name) == member->name_length &&
		    !memcmp(type->fields[i].name, member->name, member->name_length))
			return true;
	return false;
}

static int visit_unknown(const struct traversal *t, const struct args_place *in)
{
	int err = 0;

	for (const struct json_node *n = json_first(in->value); n && !err; n = json_next(n)) {
		struct args_place place = { .in = in, .value = n, .name = n->name };

		if (!has_field(in->type, n))
			err = visit_place(t, &place);
	}
	return err;
}

static int visit_members(const struct traversal *t, const struct args_place *in)
{
	unsigned int nfields = in->type ? in->type->nfields : 0;
	uint32_t found = 0;
	int err = 0;

	for (unsigned int i = 0; i < nfields && !err; i++) {
		const struct field_info *field = &in->type->fields[i];
		size_t n = strlen(field->name);
		const struct json_node *value = json_find_member(in->value, field->name, n);
		struct args_place place;

		found += value != NULL;
		if (!value && !t->visitor->absent)
			continue;
		place = make_place(in, field, value, json_find_member(in->other, field->name, n));
		place.name = field->name;
		err = visit_place(t, &place);
	}
	return !err && t->visitor->unknown && found < in->value->count ? visit_unknown(t, in) : err;
}

static int visit_place(const struct traversal *t, const struct args_place *place)
{
	const struct args_visitor *visitor = t->visitor;
	bool array = place->value && place->value->kind == JSON_ARRAY;
	int err;

	if (!place->field || !place->value || (!array && place->value->kind != JSON_OBJECT))
		return visitor->value(t->arg, place);
	err = visitor->open(t->arg, place);
	if (err)
		return err == ARGS_SKIP ? 0 : err;
	err = array ? visit_elements(t, place) : visit_members(t, place);
	return err || !visitor->close ? err : visitor->close(t->arg, place);
}

int args_visit(const struct args_visitor *visitor, void *arg, const char *name,
	       const struct field_info *field, const struct json_node *value)
{
	const struct traversal t = { visitor, arg };
	struct args_place place = make_place(NULL, field, value, NULL);

	place.name = name;
	return visit_place(&t, &place);
}

/* The visitor of args_visit_values(), which passes on only values and their paths. */
struct path_visit {
	const char *prefix;
	args_value_visitor *visit;
	void *arg;
};

/* Add @text behind the first @n bytes of @path, as much as fits; returns the new length. */
static size_t put_text(char path[PATH], size_t n, const char *text)
{
	size_t length = strlen(text), room = PATH - 1 - n;

	length = length < room ? length : room;
	memcpy(path + n, text, length);
	path[n + length] = '\0';
	return n + length;
}

/* Add the path of @place to @path; returns its length. */
static size_t put_path(const struct path_visit *paths, const struct args_place *place,
		       char path[PATH])
{
	size_t n;

	if (!place->in)
		return put_text(path, 0, paths->prefix);
	n = put_path(paths, place->in, path);
	if (place->name)
		return put_text(path, n ? put_text(path, n, ".") : 0, place->name);
	n += (size_t)snprintf(path + n, PATH - n, "[%zu]", place->index);
	return n < PATH ? n : PATH - 1;
}

static bool is_equal(const struct json_node *a, const struct json_node *b)
{
	return b && a->kind == JSON_INT && b->kind == JSON_INT && a->number == b->number;
}

static int visit_leaf(const struct path_visit *paths, const struct args_place *place)
{
	char path[PATH];

	if (is_equal(place->value, place->other))
		return 0;
	put_path(paths, place, path);
	return paths->visit(paths->arg, place->field, path, place->value, place->other);
}

static int visit_value(void *arg, const struct args_place *place)
{
	return place->field && !place->field->type ? visit_leaf(arg, place) : 0;
}

/* Visit a handle with its fields, and an array of scalars, as one value each. */
static int visit_opening(void *arg, const struct args_place *place)
{
	int err;

	if (place->field->type)
		return 0;
	err = visit_leaf(arg, place);
	return err ? err : ARGS_SKIP;
}

static const struct args_visitor value_visitor = { .value = visit_value, .open = visit_opening };

int args_visit_field(const struct field_info *field, const struct json_node *value,
		     const struct json_node *other, const char *path, args_value_visitor *visit,
		     void *arg)
{
	struct path_visit paths = { path, visit, arg };
	const struct traversal t = { &value_visitor, &paths };
	struct args_place place = make_place(NULL, field, value, other);

	return visit_place(&t, &place);
}

int args_visit_values(const struct struct_info *info, const struct json_node *json,
		      const struct json_node *other, const char *prefix, args_value_visitor *visit,
		      void *arg)
{
	struct path_visit paths = { prefix, visit, arg };
	const struct traversal t = { &value_visitor, &paths };
	const struct args_place whole = { .type = info, .value = json, .other = other };

	return json ? visit_members(&t, &whole) : 0;
}

const struct json_node *args_member(const struct json_node *structure, enum arg arg)
{
	return json_find_member(structure, arg_name(arg), strlen(arg_name(arg)));
}

bool args_is(const struct field_info *field, enum arg arg)
{
	return !strcmp(field->name, arg_name(arg));
}
