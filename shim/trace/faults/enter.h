#pragma once
/*
 * Code at the beginning of a verb that a fault may make fail. Any thread.
 */
#include <stdint.h>

#include "core/wire/desc.h"

/*
 * Inject the fault for this call of @verb, if there is one. 0, after the fault's delay if it is
 * one; or the errno with which the call fails.
 */
int enter_call(enum verb verb);

/* Set errno to @error, and return what @verb returns when it has failed with that error. */
int64_t enter_fail(enum verb verb, int error);
