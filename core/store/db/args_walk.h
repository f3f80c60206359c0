#pragma once
/*
 * The values of a structure, by its descriptor: visits those of one trace's arguments, or of two
 * side by side; finds single members.
 *
 * Any thread.
 */
#include "core/base/json_tree.h"
#include "core/store/db/args.h"
#include "core/wire/desc.h"

/*
 * Called for each value, in the order of the fields: @path is that in the trace,
 * "attr.ah_attr.dlid", "entries[2].gid.raw". @other: the same in the second structure, or NULL.
 * Returns 0, or a result that args_walk() returns at once.
 */
typedef int args_visit(void *arg, const struct field_info *field, const char *path,
		       const struct json_node *value, const struct json_node *other);

/* @json, and @other if it is not NULL, have fields of @info; their paths begin with @prefix. */
int args_walk(const struct struct_info *info, const struct json_node *json,
	      const struct json_node *other, const char *prefix, args_visit *visit, void *arg);

/* The same for @field with @value. */
int args_walk_field(const struct field_info *field, const struct json_node *value,
		    const struct json_node *other, const char *path, args_visit *visit, void *arg);

/*
 * The member of @structure, a value within arguments, that has the last part of the name @arg, in
 * whichever argument it is: ARG(attr.ah_attr.sl) for the "sl" of any address. Or NULL.
 */
const struct json_node *args_member(const struct json_node *structure, enum arg arg);
