#pragma once
/*
 * A control verb by its number.
 */
#include <stdint.h>

#include "core/wire/desc.h"

/* Call it; errno is what it left, 0 if it left none. Of a data verb: -EOPNOTSUPP. */
int64_t dispatch_call(enum verb verb, const uint64_t *args);

/* Destroy what creation @verb has just made, and returned as @ret. */
void dispatch_undo(enum verb verb, int64_t ret);
