#pragma once
/*
 * The order of receives at one end, inferred from completed sends of the other.
 *
 * On a reliable connection a message completes only after it is in a receive buffer: when m
 * messages have completed, m receives were posted, in whichever order of threads. Not thread-safe.
 */
#include <stdbool.h>

#include "core/store/db/ids.h"

struct receive_order {
	bool broken; /* later results would be wrong */
	/* times of receives, without the first @before, which were dropped */
	int64_t *posted;
	size_t nposted, posted_size, first_posted;
	uint64_t before;
	/* sends that have not completed yet */
	struct order_send {
		struct event_id post;
		uint32_t index;
		uint64_t messages; /* number of messages, with this one */
	} * sends;
	size_t nsends, sends_size, first_send;
	uint64_t messages;
	uint32_t thread; /* the posting thread; 0: none yet */
	/* number of messages that were done */
	struct order_done {
		uint64_t messages;
		int64_t time;
	} * done;
	size_t ndone, done_size, first_done;
};

void receive_order_fini(struct receive_order *order);

/* A receive was posted at @time. */
void receive_order_add_receive(struct receive_order *order, int64_t time);

/* Request @index of @post was posted; @is_message: it consumes a receive. */
void receive_order_add_send(struct receive_order *order, struct event_id post, uint32_t index,
			    bool is_message);

/* The request completed without an error; its completion was polled at @time. */
void receive_order_end_send(struct receive_order *order, struct event_id post, uint32_t index,
			    int64_t time);

/* The next pair of times, the first of which must be before the second; false: none yet. */
bool receive_order_take_next(struct receive_order *order, int64_t *ret_posted, int64_t *ret_done);
