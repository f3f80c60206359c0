#pragma once
/*
 * Failures that programs expect: such calls test which features a device has.
 *
 * Constant data; any thread.
 */
#include "core/store/read/trace.h"

/* Is this call, which returned @error, such a test? */
bool probe_is(const struct call *call, int error);
