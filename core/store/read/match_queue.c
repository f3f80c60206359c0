/*
 * The outstanding requests of one queue
 *
 * Requests are in a ring that grows, oldest first. A request whose completion is not recorded (an
 * extended CQ, a lost event) is removed when more requests are posted than the queue holds.
 *
 * If the beginning of the trace is missing, a queue may hold unknown requests. If the program gives
 * all requests the same wr_id, their completions look like those of known requests. So such a queue
 * is `unsure` until as many requests as it can hold were posted, all with different wr_ids: from
 * then on a wr_id identifies its request. If a wr_id repeats, the queue stays unsure.
 */
#include "core/store/read/match_queue.h"

#include <errno.h>
#include <stdlib.h>

#include "core/base/map.h"

enum { UNKNOWN_MAX = 1 << 16, SMALL = 16 };

void match_queue_clear(struct match_queue *queue, bool unsure)
{
	free(queue->ring);
	free(queue->seen);
	queue->ring = NULL;
	queue->seen = NULL;
	queue->first = queue->count = queue->size = queue->nseen = queue->seen_size = 0;
	queue->unsure = unsure;
	queue->repeats = false;
}

static int grow_queue(struct match_queue *queue)
{
	uint32_t size = queue->size ? queue->size * 2 : SMALL;
	struct match_request *ring = malloc(size * sizeof(*ring));

	if (!ring)
		return -ENOMEM;
	for (uint32_t i = 0; i < queue->count; i++)
		ring[i] = *match_queue_at(queue, i);
	free(queue->ring);
	queue->ring = ring;
	queue->first = 0;
	queue->size = size;
	return 0;
}

static void stop_learning(struct match_queue *queue, bool repeats)
{
	free(queue->seen);
	queue->seen = NULL;
	queue->nseen = queue->seen_size = 0;
	queue->repeats = repeats;
	queue->unsure = repeats;
}

/* The entry of @wr_id in the hash table. @size is a power of two; one entry must be free. */
static uint64_t *seen_at(uint64_t *seen, uint32_t size, uint64_t wr_id)
{
	uint32_t at = (uint32_t)map_hash(wr_id) & (size - 1);

	while (seen[at] && seen[at] != wr_id + 1)
		at = (at + 1) & (size - 1);
	return &seen[at];
}

static int grow_seen(struct match_queue *queue)
{
	uint32_t size = queue->seen_size ? queue->seen_size * 2 : 4 * SMALL;
	uint64_t *more = calloc(size, sizeof(*more));

	if (!more)
		return -ENOMEM;
	for (uint32_t i = 0; i < queue->seen_size; i++)
		if (queue->seen[i])
			*seen_at(more, size, queue->seen[i] - 1) = queue->seen[i];
	free(queue->seen);
	queue->seen = more;
	queue->seen_size = size;
	return 0;
}

/* Count another request of a queue that is unsure, until the queue is sure. */
static int learn_wr_id(struct match_queue *queue, uint64_t wr_id)
{
	uint32_t enough = queue->asked && queue->asked < UNKNOWN_MAX ? queue->asked : UNKNOWN_MAX;
	uint64_t *at;

	if (queue->nseen >= queue->seen_size / 2 && grow_seen(queue))
		return -ENOMEM;
	at = seen_at(queue->seen, queue->seen_size, wr_id);
	if (*at || wr_id == UINT64_MAX) {
		stop_learning(queue, true);
		return 0;
	}
	*at = wr_id + 1;
	if (++queue->nseen > enough)
		stop_learning(queue, false);
	return 0;
}

struct match_request *match_queue_make_room(struct match_queue *queue, uint64_t wr_id)
{
	uint32_t max = queue->max ? queue->max : UNKNOWN_MAX;

	if (queue->unsure && !queue->repeats && learn_wr_id(queue, wr_id))
		return NULL;
	if (queue->count >= max) {
		queue->first = (queue->first + 1) & (queue->size - 1);
		queue->count--;
	}
	if (queue->count == queue->size && grow_queue(queue))
		return NULL;
	return match_queue_at(queue, queue->count++);
}

int64_t match_queue_search(const struct match_queue *queue, uint64_t wr_id, bool signaled)
{
	for (uint32_t i = 1; i < queue->count; i++) {
		const struct match_request *request = match_queue_at(queue, i);

		if (request->wr_id == wr_id && (!signaled || request->signaled))
			return i;
	}
	return -1;
}

void match_queue_remove(struct match_queue *queue, uint32_t at)
{
	uint32_t keep = at + 1; /* index to which the last retained request moves, plus 1 */

	for (uint32_t i = at; i > 0; i--)
		if (match_queue_at(queue, i - 1)->signaled)
			*match_queue_at(queue, --keep) = *match_queue_at(queue, i - 1);
	queue->first = (queue->first + keep) & (queue->size - 1);
	queue->count -= keep;
}
