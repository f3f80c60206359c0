#pragma once
/*
 * Functions of libverbatim.so that libverbatim-memory.so calls for queries and reports. Any thread,
 * also in signal handlers; errno is preserved.
 */
#include <stdbool.h>
#include <stddef.h>

#include "core/wire/event.h"

/* Do these bytes overlap a registered region? @whole: do they contain one completely? */
bool verbatim_memory_holds(const void *addr, size_t length, bool whole);

/* Pages were mapped at @addr (@huge: huge ones), or a mapping there was removed. */
void verbatim_memory_mapped(const void *addr, size_t length, bool huge);

/* The pages were released, or will be. */
void verbatim_memory_gone(enum event_memory_what what, const void *addr, size_t length);
