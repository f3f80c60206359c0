#pragma once
/*
 * Joining the pieces of one thread's payloads into rows of a chunk.
 *
 * Not thread-safe.
 */
#include "core/store/chunk/payload.h"

struct partial_payload;

/* Empty when zeroed. */
struct payloads {
	struct payload_rows ready;
	struct partial_payload
		*waiting; /* waiting for more pieces, or for their post; the newest first */
	size_t waiting_bytes;
	/* by reason: number of payloads that are missing or incomplete */
	uint64_t missed[PAYLOAD_WHYS];
	uint64_t seed; /* of hashes */
};

/* Add one EVENT_PAYLOAD with number @n. 0, -EBADMSG if it is invalid, or -ENOMEM. */
int payloads_add_piece(struct payloads *payloads, const struct event_payload *event, uint64_t n,
		       int64_t time);

/* Add the post of event @n: the payloads that wait for a post belong to it. 0 or -ENOMEM. */
int payloads_note_post(struct payloads *payloads, const struct event_post *event, uint64_t n);

/* The thread has ended: no more pieces arrive. 0 or -ENOMEM. */
int payloads_end(struct payloads *payloads);

void payloads_fini(struct payloads *payloads);
