#pragma once
/*
 * A queue of elements that have numbers, from 0, in the order in which they came: the first are
 * dropped when nobody asks for them any more.
 *
 * Zeroed it is empty. One thread.
 */
#include <stddef.h>
#include <stdint.h>

struct fifo {
	char *at;
	size_t size, from, n; /* in elements: room, the first, how many there are */
	uint64_t dropped;
};

/* Room for one more at the end, zeroed, of @each bytes, the same in all calls. NULL: no memory. */
void *fifo_add(struct fifo *fifo, size_t each);

/* Element @number, or NULL where it was dropped, or is not there yet. */
void *fifo_get(const struct fifo *fifo, size_t each, uint64_t number);

/* Those before @number are not needed. */
void fifo_drop(struct fifo *fifo, uint64_t number);
void fifo_fini(struct fifo *fifo);

/* All that were added. */
static inline uint64_t fifo_count(const struct fifo *fifo)
{
	return fifo->dropped + fifo->n;
}
