#pragma once
/*
 * Failures that programs expect: they ask in this way what a device can do.
 *
 * Constant data; any thread.
 */
#include "core/store/read/trace.h"

/* Is this call, which returned @error, such a question? */
bool probe_is(const struct call *call, int error);
