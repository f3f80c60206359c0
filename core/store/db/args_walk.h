#pragma once
/*
 * The values of arguments and results, by their descriptors: traverses those of one trace's
 * arguments, or of two side by side; finds single members.
 *
 * Any thread.
 */
#include <stdbool.h>

#include "core/base/json_tree.h"
#include "core/store/db/args.h"
#include "core/wire/desc.h"

/* A value and its place. */
struct args_place {
	const struct args_place *in; /* the structure or array; NULL: the value that was given */
	const struct field_info *member; /* the field, or array, that has it; NULL: not known */
	const struct field_info *field;  /* the same, or the scalar that it points to */
	const struct struct_info *type;  /* of the value or its elements; NULL: no structure */
	const struct json_node *value;   /* NULL: the arguments do not have it */
	const struct json_node *other;   /* in the second structure; NULL: it does not have it */
	const char *name;                /* NULL: an element */
	size_t index;                    /* of an element */
};

enum { ARGS_SKIP = 1 };

/* Each function returns 0, or another value, which args_visit() returns at once. */
struct args_visitor {
	/* a number, a text, null; or what has no descriptor, with a `field` of NULL */
	int (*value)(void *arg, const struct args_place *place);
	/*
	 * before and after the contents of a structure or array; @open may return ARGS_SKIP:
	 * neither contents nor @close
	 */
	int (*open)(void *arg, const struct args_place *place);
	int (*close)(void *arg, const struct args_place *place); /* may be NULL */
	bool unknown; /* members that have no descriptor are visited, after the others */
	bool absent;  /* members that the arguments do not have are visited */
};

/*
 * Visit the parts of @value, in the order of their descriptors. @name: that of @value; may be NULL.
 */
int args_visit(const struct args_visitor *visitor, void *arg, const char *name,
	       const struct field_info *field, const struct json_node *value);

/*
 * Called for each value: @path is that in the trace, "attr.ah_attr.dlid", "entries[2].gid.raw". An
 * array of scalars is one value. @other: the same in the second structure, or NULL. Returns 0, or a
 * result that args_walk() returns at once.
 */
typedef int args_walker(void *arg, const struct field_info *field, const char *path,
			const struct json_node *value, const struct json_node *other);

/* @json, and @other if it is not NULL, have fields of @info; their paths begin with @prefix. */
int args_walk(const struct struct_info *info, const struct json_node *json,
	      const struct json_node *other, const char *prefix, args_walker *visit, void *arg);

/* The same for @field with @value. */
int args_walk_field(const struct field_info *field, const struct json_node *value,
		    const struct json_node *other, const char *path, args_walker *visit, void *arg);

/*
 * The member of @structure, a value within arguments, that has the last part of the name @arg, in
 * whichever argument it is: ARG(attr.ah_attr.sl) for the "sl" of any address. Or NULL.
 */
const struct json_node *args_member(const struct json_node *structure, enum arg arg);

/* Is @field's name the last part of the name of @arg? */
bool args_is(const struct field_info *field, enum arg arg);
