/*
 * Outstanding requests and completions of a queue
 *
 *	cells   | . | . | r | r | d | r | . |     r under way, d done
 *	                 head             tail
 *
 * Requests and completions are in rings that double when they are full. They begin small: a program
 * of thousands of queue pairs has few requests on each, and each cell that is used is fetched into
 * the processor's cache.
 */
#include "replay/state/queue.h"

#include <errno.h>
#include <stdlib.h>

enum { FIRST_CELLS = 4 };

/* Copy a ring to one of twice the size, each element to its index by the new mask. */
static void *double_cells(const void *cells, size_t each, uint32_t size, uint32_t head,
			  uint32_t tail)
{
	uint32_t bigger = size ? size * 2 : FIRST_CELLS;
	char *to = calloc(bigger, each);

	if (!to)
		return NULL;
	for (uint32_t at = head; at != tail; at++)
		__builtin_memcpy(to + (at & (bigger - 1)) * each,
				 (const char *)cells + (at & (size - 1)) * each, each);
	return to;
}

int requests_grow(struct requests *r)
{
	struct request *cells = double_cells(r->cells, sizeof(*cells), r->size, r->head, r->tail);

	if (!cells)
		return -ENOMEM;
	free(r->cells);
	r->cells = cells;
	r->size = r->size ? r->size * 2 : FIRST_CELLS;
	return 0;
}

int requests_put(struct requests *r, const struct request *request, uint32_t *ret_number)
{
	struct request *cell = requests_add(r);

	if (!cell)
		return -ENOMEM;
	*cell = *request;
	*ret_number = r->tail - 1;
	return 0;
}

void requests_undo(struct requests *r, uint32_t n)
{
	r->tail -= n < requests_count(r) ? n : requests_count(r);
}

const struct request *requests_get(const struct requests *r, uint32_t number)
{
	const struct request *request;

	if (number - r->head >= r->tail - r->head)
		return NULL;
	request = &r->cells[number & (r->size - 1)];
	return request->done ? NULL : request;
}

void requests_clear(struct requests *r)
{
	r->head = r->tail;
}

bool requests_next(struct requests *r, struct request *ret_request)
{
	if (!requests_count(r))
		return false;
	*ret_request = r->cells[r->head & (r->size - 1)];
	requests_complete(r, r->head, false);
	return true;
}

static bool same_event(struct event_id a, struct event_id b)
{
	return a.thread == b.thread && a.n == b.n;
}

bool requests_has(const struct requests *r, struct event_id event, uint32_t index)
{
	for (uint32_t at = r->head; at != r->tail; at++) {
		const struct request *request = &r->cells[at & (r->size - 1)];

		if (!request->done && request->index == index && same_event(request->event, event))
			return true;
	}
	return false;
}

bool requests_await(const struct requests *r, struct event_id event, uint32_t index, uint64_t wr_id,
		    bool signaled)
{
	for (uint32_t at = r->head; at != r->tail; at++) {
		const struct request *request = &r->cells[at & (r->size - 1)];

		if (request->done || (signaled && !request->signaled))
			continue;
		if (request->wr_id == wr_id ||
		    (request->index == index && same_event(request->event, event)))
			return true;
	}
	return false;
}

const struct request *requests_oldest(const struct requests *r, bool signaled)
{
	for (uint32_t at = r->head; at != r->tail; at++) {
		const struct request *request = &r->cells[at & (r->size - 1)];

		if (!request->done && (!signaled || request->signaled))
			return request;
	}
	return NULL;
}

void requests_fini(struct requests *r)
{
	free(r->cells);
	*r = (struct requests){ 0 };
}

int arrivals_grow(struct arrivals *a)
{
	struct arrival *cells = double_cells(a->cells, sizeof(*cells), a->size, a->head, a->tail);

	if (!cells)
		return -ENOMEM;
	free(a->cells);
	a->cells = cells;
	a->size = a->size ? a->size * 2 : FIRST_CELLS;
	return 0;
}

int arrivals_put(struct arrivals *a, const struct arrival *arrival)
{
	struct arrival *cell = arrivals_add(a);

	if (!cell)
		return -ENOMEM;
	*cell = *arrival;
	return 0;
}

const struct arrival *arrivals_first(const struct arrivals *a)
{
	return a->head == a->tail ? NULL : &a->cells[a->head & (a->size - 1)];
}

void arrivals_drop(struct arrivals *a)
{
	if (a->head != a->tail)
		a->head++;
}

const struct arrival *arrivals_find(const struct arrivals *a, struct event_id event, uint32_t index)
{
	for (uint32_t at = a->head; at != a->tail; at++) {
		const struct arrival *arrival = &a->cells[at & (a->size - 1)];

		if (arrival->request.index == index && same_event(arrival->request.event, event))
			return arrival;
	}
	return NULL;
}

/* Remove an element: earlier elements move up by one. */
void arrivals_remove(struct arrivals *a, const struct arrival *arrival)
{
	uint32_t at = a->head;

	while (&a->cells[at & (a->size - 1)] != arrival)
		at++;
	for (; at != a->head; at--)
		a->cells[at & (a->size - 1)] = a->cells[(at - 1) & (a->size - 1)];
	a->head++;
}

void arrivals_fini(struct arrivals *a)
{
	free(a->cells);
	*a = (struct arrivals){ 0 };
}
