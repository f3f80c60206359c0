#pragma once
/*
 * The places in the code that call verbs. Not thread-safe.
 */
#include "analyzer/profile/profiler.h"

/*
 * The index of the place of @verb at @stack, which @process calls, created if needed; SIZE_MAX
 * if out of memory.
 */
size_t place_index(struct profiler *p, enum verb verb, uint32_t stack, uint32_t process);

void place_table_fini(struct profiler *p);
