/*
 * Where the arguments of each verb name an object, by path
 *
 * Found by walking the descriptors once. Not here: arrays of handles. There is
 * only one, ibv_rwq_ind_table_init_attr.ind_tbl: control.c.
 */
#include "analyzer/model/handles.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DEPTH = 4 };

static int add_handle(struct handle_list *list, const char *path, enum object_kind kind)
{
	struct handle_path *more;

	more = realloc(list->paths, (list->n + 1) * sizeof(*more));
	if (!more)
		return -ENOMEM;
	list->paths = more;
	more += list->n++;
	snprintf(more->path, sizeof(more->path), "%s", path);
	more->kind = kind;
	return 0;
}

static bool goes_down(const struct field_info *field)
{
	if (!field->type || field->type->scalar)
		return false;
	return field->kind == FIELD_STRUCT ||
	       (field->kind == FIELD_PTR && field->count == COUNT_ONE);
}

static int walk_struct(struct handle_list *list, const struct struct_info *info, const char *prefix,
		       unsigned int dir, int depth)
{
	char path[HANDLE_PATH];
	int err = 0;

	for (unsigned int i = 0; i < info->nfields && !err && depth < DEPTH; i++) {
		const struct field_info *field = &info->fields[i];

		if (dir && !(field->dir & dir))
			continue;
		if (snprintf(path, sizeof(path), "%s%s", prefix, field->name) >= HANDLE_PATH - 1)
			continue;
		if (field->kind == FIELD_OBJ)
			err = add_handle(list, path, field->object);
		if (goes_down(field))
			err = walk_struct(list, field->type, strcat(path, "."), 0, depth + 1);
	}
	return err;
}

int handles_init(struct handles *handles)
{
	int err = 0;

	memset(handles, 0, sizeof(*handles));
	for (int verb = 0; verb < VERB_COUNT && !err; verb++)
		err = walk_struct(&handles->args[verb], &verb_infos[verb].args, "", DIR_IN, 0);
	for (int kind = 0; kind < OBJECT_COUNT && !err; kind++)
		err = walk_struct(&handles->made[kind], &object_infos[kind], "ret.", 0, 0);
	if (err)
		handles_fini(handles);
	return err;
}

void handles_fini(struct handles *handles)
{
	for (int verb = 0; verb < VERB_COUNT; verb++)
		free(handles->args[verb].paths);
	for (int kind = 0; kind < OBJECT_COUNT; kind++)
		free(handles->made[kind].paths);
	memset(handles, 0, sizeof(*handles));
}

const char *handles_self(enum verb verb)
{
	const struct verb_info *info = &verb_infos[verb];

	return info->self < 0 ? NULL : info->args.fields[info->self].name;
}
