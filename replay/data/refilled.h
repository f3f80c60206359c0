#pragma once
/*
 * Buffers that were filled again before their message was taken.
 *
 * If a message waits at a shared receive queue, although it did not in the recording, its buffer
 * may be filled with the next message before it is sent.
 *
 * The caller has exclusive access to the replay.
 */
#include <stdbool.h>
#include <stdint.h>

#include "core/store/db/ids.h"

struct replica_qp;
struct refilled;

/* A message, identified by its request. */
struct refill {
	struct event_id event; /* its post */
	uint32_t index;        /* index of its request */
};

int refilled_new(struct refilled **ret_refilled);

/* Accepts NULL. */
void refilled_free(struct refilled *refilled);

/* The buffer at @at now holds @message, which @sender will send. Returns 0 or -ENOMEM. */
int refilled_note(struct refilled *refilled, const void *at, struct refill message,
		  const struct replica_qp *sender);

/*
 * Set @message to the message that replaced it in its buffer. False: none replaced it before it was
 * sent, or @message is no longer in the ring.
 */
bool refilled_next(const struct refilled *refilled, struct refill *message);
