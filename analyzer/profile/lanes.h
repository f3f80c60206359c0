#pragma once
/*
 * A bounded sample of single requests, from the post to the completion, for a picture of them.
 *
 * Consecutive requests form blocks of LANES_BLOCK. Stored are blocks at equal distances, the first
 * and the last blocks, blocks with the first errors, and blocks with the slowest sends. If there
 * are few requests, all are stored.
 *
 * Not thread-safe.
 */
#include "analyzer/model/watcher.h"

enum {
	LANES_BLOCK = 128,
	LANES_EVEN = 96, /* blocks at equal distances */
	LANES_SLOW = 16, /* with the slowest sends */
	LANES_ERRORS = 16,
	LANES_LAST = 4,
	LANES_HELD = 2048, /* blocks that may wait for completions of their requests */
};

/* A request that the device accepted. */
struct lane_request {
	struct event_id post, poll; /* poll 0:0: it has no known completion */
	int64_t posted, ended;      /* ended -1: not known, or outstanding at the end */
	uint64_t wr_id, bytes;
	/* number of its message since the sender's last reset; 0: no message, or not known */
	uint64_t message;
	uint32_t index; /* index of the request in its post */
	uint32_t queue; /* object: QP, SRQ or WQ */
	/* of a receive: object: the queue pair that sent the message; 0: not known */
	uint32_t sender;
	int opcode; /* enum ibv_wr_opcode; -1: a receive */
	int status; /* -1: it has no completion */
};

struct lanes_block {
	uint64_t number; /* counted from 0; its first request has number @number * LANES_BLOCK */
	uint32_t used, open;
	bool judged, error;
	int64_t slowest;
	struct lane_request at[LANES_BLOCK];
};

struct lanes;

/* NULL if out of memory. */
struct lanes *lanes_new(void);

/* Accepts NULL. */
void lanes_free(struct lanes *lanes);

struct model;

/* Pass on all reports of @model, in order. 0 or -ENOMEM. */
int lanes_note_post(struct lanes *lanes, const struct model_post *post);
int lanes_note_completion(struct lanes *lanes, struct model *model,
			  const struct model_complete *complete);
void lanes_note_modify(struct lanes *lanes, const struct model_modify *modify);

/* After the last event. */
void lanes_end(struct lanes *lanes);

/* The number of requests, stored or not. */
uint64_t lanes_count(const struct lanes *lanes);

/* The stored block after @block (NULL: the first), in order of posts; NULL after the last. */
const struct lanes_block *lanes_next(const struct lanes *lanes, const struct lanes_block *block);
