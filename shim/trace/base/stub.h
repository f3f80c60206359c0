#pragma once
/*
 * Functions that report a call, then jump to another function: x86-64.
 */
#include <stdbool.h>

#include "shim/trace/base/callback.h"

enum { STUBS = 512 };

/* The stub of @index, which jumps to @next from now on. */
void *stub_to(unsigned int index, void *next);

bool stub_is(const void *at);

/* Stub @index is called. May change errno. import.c. */
CALLBACK(void, stub_called, (unsigned int index));
