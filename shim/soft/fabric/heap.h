#pragma once
/*
 * Pages of this process's segment, for rings. Callers hold the object mutex.
 */
#include <stdint.h>

#include "shim/soft/fabric/shared.h"

/* The offset in the segment of @size zeroed bytes, or 0 if it is full. */
uint64_t heap_alloc(uint64_t size);

/* The same without memory behind it: call segment_reserve_in() before use. */
uint64_t heap_alloc_bare(uint64_t size);

/* The number of allocations that failed because of VERBATIM_SOFT_MEMORY. Any thread. */
unsigned int heap_refused(void);

/* Accepts offset 0. */
void heap_free(uint64_t off, uint64_t size);

/* The same by address; accepts NULL. Unlike an offset, an address cannot be changed by peers. */
void heap_free_at(void *at, uint64_t size);

void heap_forget(void);
/* In a child: reset the lists, which the parent may have been changing. */
void heap_forget_inherited(void);
