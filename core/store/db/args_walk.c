/*
 * The values of a structure, by its descriptor
 *
 * Not here: arguments from memory (core/wire/codec.c) and into it (core/store/read/build.c).
 */
#include "core/store/db/args_walk.h"

#include <stdio.h>
#include <string.h>

enum { PATH = 256 };

static int walk_elements(const struct struct_info *info, const struct json_node *json,
			 const struct json_node *other, const char *path, args_visit *visit,
			 void *arg)
{
	char element[PATH];
	size_t i = 0;
	int err = 0;

	for (const struct json_node *n = json_first(json); n && !err; n = json_next(n), i++) {
		snprintf(element, sizeof(element), "%s[%zu]", path, i);
		err = args_walk(info, n, json_find_element(other, i), element, visit, arg);
	}
	return err;
}

int args_walk_field(const struct field_info *field, const struct json_node *value,
		    const struct json_node *other, const char *path, args_visit *visit, void *arg)
{
	const struct struct_info *type = field->type;

	if (!type)
		return visit(arg, field, path, value, other);
	if (type->scalar)
		return visit(arg, &type->fields[0], path, value, other);
	return value->kind == JSON_ARRAY ? walk_elements(type, value, other, path, visit, arg)
					 : args_walk(type, value, other, path, visit, arg);
}

int args_walk(const struct struct_info *info, const struct json_node *json,
	      const struct json_node *other, const char *prefix, args_visit *visit, void *arg)
{
	char path[PATH];
	int err = 0;

	for (unsigned int i = 0; i < info->nfields && !err; i++) {
		const struct field_info *field = &info->fields[i];
		size_t n = strlen(field->name);
		const struct json_node *value = json_find_member(json, field->name, n);

		snprintf(path, sizeof(path), "%s%s%s", prefix, *prefix ? "." : "", field->name);
		if (value)
			err = args_walk_field(field, value, json_find_member(other, field->name, n),
					      path, visit, arg);
	}
	return err;
}

const struct json_node *args_member(const struct json_node *structure, enum arg arg)
{
	return json_find_member(structure, arg_name(arg), strlen(arg_name(arg)));
}
