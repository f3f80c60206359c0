/*
 * The only two requests of a queue that were outstanding at once with one wr_id
 *
 * Not a mistake are
 *
 *	wr_ids that each stand for one request kind	others of its kind have the same
 *	wr_ids which are lengths			as those of rsockets
 *	the parts of one message	one list, or one part behind the other in memory
 *
 * Requests whose buffers follow each other in memory, each with a wr_id of its own, are not the
 * parts of one message.
 */
#include "analyzer/model/same_wr_id.h"

#include <stdlib.h>

#include "analyzer/model/queue.h"

enum {
	LEAST_OTHERS = 4,   /* requests that were outstanding with other numbers */
	LEAST_REQUESTS = 8, /* outstanding requests in all */
};

/* Does @b begin where @a ends, with as many bytes? */
static bool is_adjacent(const struct queue *queue, const struct queue_request *a,
			const struct queue_request *b)
{
	const struct sge *from = queue_sge(queue, a, 0), *to = queue_sge(queue, b, 0);

	return from->addr + from->length == to->addr && from->length == to->length;
}

static bool is_one_message(const struct queue *queue, uint32_t at)
{
	const struct queue_request *earlier = queue_at(queue, at);
	const struct queue_request *later = queue_at(queue, queue->count - 1), *before;

	if (earlier->thread == later->thread && earlier->n == later->n)
		return true;
	if (!is_adjacent(queue, earlier, later))
		return earlier->remote_addr &&
		       earlier->remote_addr + queue_sge(queue, earlier, 0)->length ==
			       later->remote_addr;
	before = at ? queue_at(queue, at - 1) : NULL;
	return !before || before->nsge != 1 || before->wr_id == earlier->wr_id ||
	       !is_adjacent(queue, before, earlier);
}

static bool is_wr_id_length(const struct queue *queue, const struct queue_request *request)
{
	uint64_t bytes = 0;

	for (uint32_t i = 0; i < request->nsge; i++)
		bytes += queue_sge(queue, request, i)->length;
	return request->wr_id == bytes;
}

/* Do @a and @b have the same shape, and different buffers? */
static bool is_alike(const struct queue *queue, const struct queue_request *a,
		     const struct queue_request *b)
{
	return a->opcode == b->opcode && a->nsge == 1 && b->nsge == 1 &&
	       queue_sge(queue, a, 0)->addr != queue_sge(queue, b, 0)->addr;
}

/*
 * The position of the first request with the wr_id of the last request; the last position if there
 * is no other.
 */
static uint32_t find_earlier(const struct queue *queue)
{
	const struct queue_request *later = queue_at(queue, queue->count - 1), *request;
	uint32_t at = 0;

	for (; at + 1 < queue->count; at++) {
		request = queue_at(queue, at);
		if (!request->done && request->signalled && request->wr_id == later->wr_id)
			break;
	}
	return at;
}

bool same_wr_id_is_message(const struct queue *queue)
{
	const struct queue_request *later = queue_at(queue, queue->count - 1);
	uint32_t at = find_earlier(queue);

	return at + 1 < queue->count && is_alike(queue, queue_at(queue, at), later) &&
	       is_one_message(queue, at);
}

void same_wr_id_note(struct queue *queue)
{
	const struct queue_request *later = queue_at(queue, queue->count - 1), *earlier;
	uint32_t at;

	if (queue->doubt || !queue->owner || !later->wr_id || queue->signalled < LEAST_OTHERS + 2 ||
	    (queue->poller && queue->poller != queue->poster))
		return;
	at = find_earlier(queue);
	earlier = queue_at(queue, at);
	if (earlier == later || !is_alike(queue, earlier, later) || is_one_message(queue, at) ||
	    (is_wr_id_length(queue, earlier) && is_wr_id_length(queue, later)) ||
	    !(queue->twice = calloc(1, sizeof(*queue->twice))))
		return;
	*queue->twice = (struct same_wr_id){ .wr_id = later->wr_id,
					     .earlier = queue_moment(queue, earlier),
					     .later = queue_moment(queue, later),
					     .index = later->index,
					     .others = queue->signalled - 2 };
}

const struct same_wr_id *same_wr_id_of(const struct queue *queue)
{
	return queue->wr_ids.off || queue->doubt || queue->stats.signalled < LEAST_REQUESTS
		       ? NULL
		       : queue->twice;
}
