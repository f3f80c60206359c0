#pragma once
/*
 * The only two requests of a queue that were outstanding at once with one wr_id.
 *
 * Only for queues whose wr_ids were otherwise all different, as far as one run shows.
 *
 * Not thread-safe.
 */
#include <stdbool.h>
#include <stdint.h>

#include "analyzer/model/moment.h"

struct queue;

struct same_wr_id {
	uint64_t wr_id;
	struct moment earlier, later; /* their posts */
	uint32_t index;               /* of the later request in its list */
	uint32_t others; /* requests with other wr_ids that were outstanding at the later post */
};

/* The last request of @queue is the first with the wr_id of another outstanding request. */
void same_wr_id_note(struct queue *queue);

/* Are the last request of @queue, and the other request with its wr_id, parts of one message? */
bool same_wr_id_is_message(const struct queue *queue);

/* The two requests of @queue; NULL: it has none, or more than two. */
const struct same_wr_id *same_wr_id_of(const struct queue *queue);
