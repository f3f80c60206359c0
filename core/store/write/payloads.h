#pragma once
/*
 * The payloads of one thread, on their way from its ring into a chunk.
 *
 * One thread.
 */
#include "core/store/chunk/payload.h"

struct waiting;

/* The payloads of one thread on their way into the trace. Zeroed it is empty. */
struct payloads {
	struct payload_rows ready;
	struct waiting *waiting; /* in pieces, or for their post; the newest first */
	size_t waiting_bytes;
	uint64_t captured;             /* bytes, ever */
	uint64_t missed[PAYLOAD_WHYS]; /* payloads that are not there as they were asked for */
	uint64_t seed;                 /* of hashes */
};

/* One EVENT_PAYLOAD of number @n: -EBADMSG where it is impossible, -ENOMEM. */
int payloads_piece(struct payloads *payloads, const struct event_payload *event, uint64_t n,
		   int64_t time);

/* A post at event @n: what came before it is its own, or nobody's. */
int payloads_post(struct payloads *payloads, const struct event_post *event, uint64_t n);

/* Nothing more comes. */
int payloads_end(struct payloads *payloads);

void payloads_fini(struct payloads *payloads);
