#pragma once
/*
 * Places in programs: the same stack in two processes of the same program is one place, although
 * the addresses differ.
 *
 * Not thread-safe.
 */
#include "core/store/read/trace.h"

/* A key of the call stack @stack by its modules and offsets in them; 0 for stack 0. */
uint64_t place_key(struct trace *trace, uint32_t stack);
