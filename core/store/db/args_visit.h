#pragma once
/*
 * The values of arguments and results, by their descriptors: traversal of the arguments of one
 * call, or of two calls side by side; search for single members.
 *
 * Any thread.
 */
#include <stdbool.h>

#include "core/base/json_tree.h"
#include "core/store/db/args.h"
#include "core/wire/desc.h"

/* A value, and its position in the arguments. */
struct args_place {
	/* the structure or array that contains it; NULL: it is the value passed to args_visit() */
	const struct args_place *in;
	/* the field or array that contains the value; NULL: unknown */
	const struct field_info *member;
	const struct field_info *field; /* the same, or the scalar that it points to */
	/* type of the value or of its elements; NULL: no structure */
	const struct struct_info *type;
	const struct json_node *value; /* NULL: the arguments lack it */
	const struct json_node *other; /* in the second structure; NULL: it lacks the value */
	const char *name;              /* NULL: an element */
	size_t index;                  /* index of an element */
};

enum { ARGS_SKIP = 1 };

/* Each function returns 0, or another value, which args_visit() returns at once. */
struct args_visitor {
	/*
	 * called for a number, a text or null; and for a value without descriptor: `field` is NULL
	 */
	int (*value)(void *arg, const struct args_place *place);
	/*
	 * called before and after the contents of a structure or array; if @open returns ARGS_SKIP,
	 * the contents are not visited, and @close is not called
	 */
	int (*open)(void *arg, const struct args_place *place);
	int (*close)(void *arg, const struct args_place *place); /* may be NULL */
	bool unknown; /* also visit members that have no descriptor, after the others */
	bool absent;  /* also visit members that the arguments lack */
};

/*
 * Visit the parts of @value, in the order of their descriptors. @name: the name of @value, or NULL.
 */
int args_visit(const struct args_visitor *visitor, void *arg, const char *name,
	       const struct field_info *field, const struct json_node *value);

/*
 * Called for each value: @path is its path in the trace, such as "attr.ah_attr.dlid" or
 * "entries[2].gid.raw". An array of scalars is one value. @other: the value in the second
 * structure, or NULL; not called for two numbers that are equal. Returns 0, or a result that
 * args_visit_values() returns at once.
 */
typedef int args_value_visitor(void *arg, const struct field_info *field, const char *path,
			       const struct json_node *value, const struct json_node *other);

/*
 * Visit @json, a structure of type @info; and next to it @other, if that is not NULL. @prefix is
 * put before each path.
 */
int args_visit_values(const struct struct_info *info, const struct json_node *json,
		      const struct json_node *other, const char *prefix, args_value_visitor *visit,
		      void *arg);

/* Visit one @field with its @value, as args_visit_values() does. */
int args_visit_field(const struct field_info *field, const struct json_node *value,
		     const struct json_node *other, const char *path, args_value_visitor *visit,
		     void *arg);

/*
 * The member of @structure whose name is the last part of @arg, whatever argument @structure
 * belongs to: ARG(attr.ah_attr.sl) finds "sl" in any address vector. Or NULL.
 */
const struct json_node *args_member(const struct json_node *structure, enum arg arg);

/* Is @field's name the last part of the name of @arg? */
bool args_is(const struct field_info *field, enum arg arg);
