#pragma once
/*
 * Calls control verbs by their number.
 */
#include <stdbool.h>
#include <stdint.h>

#include "core/wire/desc.h"

/*
 * Call @verb. errno is the value that the verb set, or 0. -EOPNOTSUPP: it is a data verb.
 */
int64_t dispatch_call(enum verb verb, const uint64_t *args);

/*
 * Make dispatch_call() try @route first, which returns true if it has called the verb; NULL: no
 * route. Not while another thread is in dispatch_call().
 */
void dispatch_set_route(bool (*route)(enum verb verb, const uint64_t *args, int64_t *ret));

/* The verb that destroys objects of @kind (not imported objects); -1: there is none. */
int dispatch_destroyer(enum object_kind kind);

/* Destroy the object that creation @verb has just returned as @ret. */
void dispatch_undo(enum verb verb, int64_t ret);

/*
 * The number of calls of this process that the software device's memory limit refused; 0 on other
 * devices.
 */
unsigned int dispatch_refused(void);
