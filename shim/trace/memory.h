#pragma once
/*
 * Queries and reports of libverbatim-memory.so to the recorder. Both are exported by
 * libverbatim.so. Any thread, signal handlers too; errno is preserved.
 */
#include <stdbool.h>
#include <stddef.h>

#include "core/wire/event.h"

/* Do these bytes overlap a registered region; @whole: contain one completely? */
bool verbatim_memory_holds(const void *addr, size_t length, bool whole);

/* Pages were mapped at @addr (@huge: huge ones), or a mapping there was removed. */
void verbatim_memory_mapped(const void *addr, size_t length, bool huge);

/* The pages were released, or are about to be. */
void verbatim_memory_gone(enum event_memory_what what, const void *addr, size_t length);
