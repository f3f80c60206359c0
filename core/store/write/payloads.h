#pragma once
/*
 * Joining the pieces of one thread's payloads into rows of a chunk.
 *
 * Not thread-safe.
 */
#include "core/store/chunk/payload.h"

struct waiting;

/* Empty when zeroed. */
struct payloads {
	struct payload_rows ready;
	struct waiting *waiting; /* waiting for more pieces, or for their post; the newest first */
	size_t waiting_bytes;
	uint64_t missed[PAYLOAD_WHYS]; /* payloads that are missing or incomplete, by reason */
	uint64_t seed;                 /* of hashes */
};

/* Add one EVENT_PAYLOAD with number @n. 0, -EBADMSG if it is invalid, or -ENOMEM. */
int payloads_add_piece(struct payloads *payloads, const struct event_payload *event, uint64_t n,
		       int64_t time);

/* Add the post at event @n: the payloads waiting for a post belong to it. */
int payloads_post(struct payloads *payloads, const struct event_post *event, uint64_t n);

/* The thread has ended: no more pieces arrive. */
int payloads_end(struct payloads *payloads);

void payloads_fini(struct payloads *payloads);
