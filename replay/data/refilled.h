#pragma once
/*
 * Buffers that were filled again before their message was taken.
 *
 * A message that waits at a shared receive queue, where it did not wait there, is sent from a
 * buffer that the recorded program has filled with the next one by then.
 *
 * For who has the replay for itself.
 */
#include <stdbool.h>
#include <stdint.h>

#include "core/store/db/ids.h"

struct replica_qp;
struct refilled;

/* One message. */
struct refill {
	struct event_id event; /* its post */
	uint32_t index;        /* which of its requests */
};

int refilled_new(struct refilled **ret_refilled);

/* Accepts NULL. */
void refilled_free(struct refilled *refilled);

/* The buffer at @at has @message now, which @sender is to send. Returns 0 or -ENOMEM. */
int refilled_note(struct refilled *refilled, const void *at, struct refill message,
		  const struct replica_qp *sender);

/* The message that was put over @message; false: it was taken before, or it is long ago. */
bool refilled_next(const struct refilled *refilled, struct refill *message);
