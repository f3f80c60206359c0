#pragma once
/*
 * What libverbatim-memory.so asks of the recorder, and tells it. Both are exported by
 * libverbatim.so. Any thread, signal handlers too; errno is kept.
 */
#include <stdbool.h>
#include <stddef.h>

#include "core/wire/event.h"

/* Is a region registered in these bytes; @whole: as a whole? */
bool verbatim_memory_holds(const void *addr, size_t length, bool whole);

/* Huge pages were mapped there; or whatever was mapped there is gone. */
void verbatim_memory_mapped(const void *addr, size_t length, bool huge);

/* They went away, or are about to. */
void verbatim_memory_gone(enum event_memory_what what, const void *addr, size_t length);
