#pragma once
/*
 * Free entries of queues: a post waits for the completion that freed one, if another thread polled
 * it. (The trace does not show how the recorded program synchronised.)
 *
 * Not thread-safe.
 */
#include "cli/emit/order.h"

struct credits {
	struct order *order;
	struct queue_credits *at; /* by object and side */
};

int credits_init(struct credits *credits, struct order *order);
void credits_fini(struct credits *credits);

/* The queue has @size; all of its requests are removed: 0 or -errno. */
void credits_set_size(struct credits *credits, uint32_t queue, bool send, uint64_t size);
int credits_reset(struct credits *credits, uint32_t queue);

/*
 * The current event posts @requests requests: wait until the queue has free entries. 0 or -errno.
 */
int credits_take(struct credits *credits, uint32_t queue, bool send, uint32_t requests);

/*
 * The current event has polled the completion of request @i of the post @id (0:0: not known; the
 * next request is done), which also completes the sends before it. 0 or -ENOMEM.
 */
int credits_give_back(struct credits *credits, uint32_t queue, bool send, struct event_id id,
		      uint32_t i);
