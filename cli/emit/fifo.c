/*
 * Queues of numbered elements
 *
 * The elements are consecutive in an array, after the free cells of dropped ones. If the array is
 * full and at least half free, they move to its beginning, else it doubles.
 */
#include "cli/emit/fifo.h"

#include <stdlib.h>
#include <string.h>

enum { FIRST_ROOM = 16 };

static int make_room(struct fifo *fifo, size_t each)
{
	size_t size = fifo->size ? 2 * fifo->size : FIRST_ROOM;
	char *at;

	if (fifo->from > fifo->size / 2) {
		memmove(fifo->at, fifo->at + fifo->from * each, fifo->n * each);
		fifo->from = 0;
		return 0;
	}
	at = reallocarray(fifo->at, size, each);
	if (!at)
		return -1;
	fifo->at = at;
	fifo->size = size;
	return 0;
}

void *fifo_add(struct fifo *fifo, size_t each)
{
	char *place;

	if (fifo->from + fifo->n == fifo->size && make_room(fifo, each))
		return NULL;
	place = fifo->at + (fifo->from + fifo->n++) * each;
	return memset(place, 0, each);
}

void *fifo_get(const struct fifo *fifo, size_t each, uint64_t number)
{
	if (number < fifo->dropped || number - fifo->dropped >= fifo->n)
		return NULL;
	return fifo->at + (fifo->from + (size_t)(number - fifo->dropped)) * each;
}

void fifo_drop(struct fifo *fifo, uint64_t number)
{
	uint64_t all = number > fifo->dropped ? number - fifo->dropped : 0;
	size_t n = all < fifo->n ? (size_t)all : fifo->n;

	fifo->dropped += n;
	fifo->n -= n;
	fifo->from = fifo->n ? fifo->from + n : 0;
}

void fifo_fini(struct fifo *fifo)
{
	free(fifo->at);
	*fifo = (struct fifo){ 0 };
}
