#pragma once
/*
 * A trace that consists of its objects: in place of core/store/read, for tests of what asks for no
 * more than these. Included once by a test.
 */
#include "core/store/read/trace.h"

enum { OBJECTS_MOST = 24 };

static struct object objects[OBJECTS_MOST]; /* by id; a kind of 0 and no name: none */
static uint32_t nobjects;

static inline struct object *add_object(enum object_kind kind, uint32_t process, uint64_t handle)
{
	struct object *o = &objects[++nobjects];

	*o = (struct object){ .id = nobjects,
			      .kind = kind,
			      .process = process,
			      .handle = handle,
			      .name = "object",
			      .destroyed_at = INT64_MAX };
	return o;
}

const struct object *trace_object(struct trace *trace, uint32_t id)
{
	(void)trace;
	return id && id <= nobjects ? &objects[id] : NULL;
}

const struct object *trace_object_at(struct trace *trace, uint32_t process, enum object_kind kind,
				     uint64_t handle, int64_t time)
{
	(void)trace;
	for (const struct object *o = objects + 1; o <= objects + nobjects; o++)
		if (o->kind == kind && o->process == process && o->handle == handle &&
		    o->created_at <= time && time < o->destroyed_at)
			return o;
	return NULL;
}
