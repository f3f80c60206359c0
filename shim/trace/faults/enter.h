#pragma once
/*
 * The beginning of a verb that may be made to fail. Any thread.
 */
#include <stdint.h>

#include "core/wire/desc.h"

/*
 * Make the fault for this call of @verb, if there is one: 0, after a delay if it has one; or the
 * errno with which it fails.
 */
int enter_call(enum verb verb);

/* Set errno to @error, and return what @verb returns when it has failed with it. */
int64_t enter_fail(enum verb verb, int error);
