#pragma once
/*
 * A control verb by its number.
 */
#include <stdbool.h>
#include <stdint.h>

#include "core/wire/desc.h"

/* Call it; errno is what it left, 0 if it left none. Of a data verb: -EOPNOTSUPP. */
int64_t dispatch_call(enum verb verb, const uint64_t *args);

/*
 * Let dispatch_call() ask @route first, which returns true where it has called the verb; NULL: not
 * any more. Not while another thread calls.
 */
void dispatch_through(bool (*route)(enum verb verb, const uint64_t *args, int64_t *ret));

/* The verb that destroys objects of that kind, which were not imported; -1: none does. */
int dispatch_destroyer(enum object_kind kind);

/* Destroy what creation @verb has just made, and returned as @ret. */
void dispatch_undo(enum verb verb, int64_t ret);

/* Calls of this process that the software device's limit of memory refused; of others 0. */
unsigned int dispatch_refused(void);
