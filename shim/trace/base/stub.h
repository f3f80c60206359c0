#pragma once
/*
 * Functions that report a call, then jump to another function: x86-64.
 */
#include <stdbool.h>

#include "shim/trace/base/callback.h"

enum { STUBS = 512 };

/* The stub with @index, which from now on jumps to @next. */
void *stub_to(unsigned int index, void *next);

bool stub_is(const void *at);

/* Called when stub @index is called. May change errno. Defined in import.c. */
CALLBACK(void, stub_called, (unsigned int index));
