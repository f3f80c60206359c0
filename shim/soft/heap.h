#pragma once
/*
 * Pages of our own segment, for rings. Callers hold the object mutex.
 */
#include <stdint.h>

/* An offset in the segment of @size zeroed bytes, or 0 if it is full. */
uint64_t heap_alloc(uint64_t size);
/* Accepts offset 0. */
void heap_free(uint64_t off, uint64_t size);

/*
 * Make sure that memory stands behind [@at, @at + @size) of our segment, so
 * that it can be written without SIGBUS. 0 or -ENOMEM. Without the mutex.
 */
int heap_reserve(void *at, uint64_t size);

void heap_forget(void);
/* In a child: the lists may have been in the middle of a change. */
void heap_forget_inherited(void);
