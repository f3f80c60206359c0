#pragma once
/*
 * A control verb by its number.
 */
#include <stdint.h>

#include "core/wire/desc.h"

/* Call it; errno is what it left, 0 if it left none. Of a data verb: -EOPNOTSUPP. */
int64_t dispatch_call(enum verb verb, const uint64_t *args);
