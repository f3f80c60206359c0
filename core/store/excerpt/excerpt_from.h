#pragma once
/*
 * A choice: all events from one event on, and the earlier events that determine the state of the
 * objects that are alive at that event. Not thread-safe.
 */
#include "core/store/excerpt/excerpt.h"

struct excerpt_from;

/*
 * Read @trace up to @place. Memory grows with objects, and with the requests outstanding at @place.
 * 0 or -errno after log_err().
 */
int excerpt_from_new(struct trace *trace, struct excerpt_place place,
		     struct excerpt_from **ret_from);

/* Accepts NULL. */
void excerpt_from_free(struct excerpt_from *from);

/* For excerpt.has; @from is a struct excerpt_from. */
bool excerpt_from_has(void *from, const struct excerpt_item *item);
