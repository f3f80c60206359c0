#pragma once
/*
 * A queue of elements numbered from 0: old elements are dropped when they are not needed any more.
 *
 * All zero: empty. Not thread-safe.
 */
#include <stddef.h>
#include <stdint.h>

struct fifo {
	char *at;
	size_t size, from, n; /* in elements: capacity, number of the first, count */
	uint64_t dropped;
};

/* Add a zeroed element of @each bytes, the same in all calls. NULL: no memory. */
void *fifo_add(struct fifo *fifo, size_t each);

/* Element @number, or NULL if it was dropped, or was not added yet. */
void *fifo_get(const struct fifo *fifo, size_t each, uint64_t number);

/* Drop the elements before @number. */
void fifo_drop(struct fifo *fifo, uint64_t number);
void fifo_fini(struct fifo *fifo);

/* The number of elements ever added. */
static inline uint64_t fifo_count(const struct fifo *fifo)
{
	return fifo->dropped + fifo->n;
}
