#pragma once
/*
 * The objects that a user names: qp1, qp1/2, b.db:qp1/2 (core/store/db/object_name.h), or an id of
 * table object. Not thread-safe.
 */
#include <stdbool.h>

struct object;
struct trace;

/* Does @object have the given name? Several objects may have it: each process may have a qp1. */
bool objects_is(const struct trace *trace, const struct object *object, const char *name);

/* Report, as cli_misuse(), that @trace has no object @name, with the most similar name. */
int objects_refuse(const char *command, struct trace *trace, const char *name);
