#pragma once
/*
 * Failures that programs expect: such calls test which features a device has.
 *
 * Constant data; any thread, also in a signal handler.
 */
#include <stdbool.h>
#include <stdint.h>

#include "core/wire/desc.h"

/* Returns argument @field of @call in *@ret_value; false if it is not known. */
typedef bool probe_argument(const void *call, const struct field_info *field, int64_t *ret_value);

/* Is a call of @verb that fails with @error such a test? */
bool probe_is_expected(enum verb verb, int error, probe_argument *argument, const void *call);
