#pragma once
/*
 * A choice: some objects, with all their dependencies. Not thread-safe.
 */
#include "core/store/excerpt/excerpt.h"

struct excerpt_only;

/* No object is chosen at first. 0 or -errno after log_err(). */
int excerpt_only_new(struct trace *trace, struct excerpt_only **ret_only);

/* Accepts NULL. */
void excerpt_only_free(struct excerpt_only *only);

/* Add all objects of @process; add object @id, which must exist. */
void excerpt_only_process(struct excerpt_only *only, uint32_t process);
void excerpt_only_object(struct excerpt_only *only, uint32_t id);

/*
 * Find the dependencies. Call it after the last object was added. Reads the trace if included queue
 * pairs share a receive queue with others; memory grows with the requests that the others consumed
 * from it. 0 or -errno after log_err().
 */
int excerpt_only_complete(struct excerpt_only *only);

/* For excerpt.has; @only is a struct excerpt_only. */
bool excerpt_only_has(void *only, const struct excerpt_item *item);
