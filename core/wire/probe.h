#pragma once
/*
 * Failures that programs expect: they ask in this way what a device can do.
 *
 * Constant data; any thread, also in a signal handler.
 */
#include <stdbool.h>
#include <stdint.h>

#include "core/wire/desc.h"

/* Gets the argument @field of @call; false where it is not known. */
typedef bool probe_argument(const void *call, const struct field_info *field, int64_t *ret_value);

/* Is a call of @verb that fails with @error such a question? */
bool probe_is_expected(enum verb verb, int error, probe_argument *argument, const void *call);
