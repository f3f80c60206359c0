#pragma once
/*
 * What sends of one end that have completed tell of the receives of the other.
 *
 * On a reliable connection a message completes only when it is in a receive: when @m messages have
 * completed, @m receives had been posted, whatever the order of the threads that did. One thread.
 */
#include <stdbool.h>

#include "core/store/db/ids.h"

struct receive_order {
	bool broken; /* what follows would be wrong */
	/* times of receives, less @before that are forgotten */
	int64_t *posted;
	size_t nposted, posted_size, first_posted;
	uint64_t before;
	/* sends whose completion is awaited */
	struct order_send {
		struct event_id post;
		uint32_t index;
		uint64_t messages; /* with it */
	} * sends;
	size_t nsends, sends_size, first_send;
	uint64_t messages;
	uint32_t thread; /* that posts; 0: none yet */
	/* so many messages were done */
	struct order_done {
		uint64_t messages;
		int64_t time;
	} * done;
	size_t ndone, done_size, first_done;
};

void receive_order_fini(struct receive_order *order);

/* A receive was posted at @time. */
void receive_order_post(struct receive_order *order, int64_t time);

/* Request @index of @post was posted; @is_message: it takes a receive. */
void receive_order_send(struct receive_order *order, struct event_id post, uint32_t index,
			bool is_message);

/* It completed without an error, and that was polled at @time. */
void receive_order_done(struct receive_order *order, struct event_id post, uint32_t index,
			int64_t time);

/* The next two times, of which the first must have been before the second; false: none yet. */
bool receive_order_next(struct receive_order *order, int64_t *ret_posted, int64_t *ret_done);
