#pragma once
/*
 * Pages of this process's segment, for rings. Callers hold the object mutex.
 */
#include <stdint.h>

#include "shim/soft/fabric/shared.h"

/* Allocate @size zeroed bytes. Returns their offset in the segment, or 0 if it is full. */
uint64_t heap_alloc(uint64_t size);

/* As heap_alloc(), but only address space: call segment_reserve_in() before using it. */
uint64_t heap_alloc_bare(uint64_t size);

/* The number of allocations that failed because of VERBATIM_SOFT_MEMORY. Any thread. */
unsigned int heap_count_refused(void);

/* Accepts offset 0. */
void heap_free(uint64_t off, uint64_t size);

/* The same for an address; accepts NULL. Peers can change an offset, but not an address. */
void heap_free_at(void *at, uint64_t size);

void heap_forget(void);
/* In a child: reset the lists, since the parent may have been changing them during fork(). */
void heap_forget_inherited(void);
