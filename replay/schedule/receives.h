#pragma once
/*
 * Which receive request a message consumes: on a reliable connection without a shared receive queue
 * the first message consumes the first request, and so on.
 *
 * Both are counted while the posts are read. If a count might be wrong, the request is not known.
 *
 * Used by one thread.
 */
#include <stdbool.h>
#include <stdint.h>

#include "replay/schedule/relations.h"

/* A step of a player. */
struct mark {
	uint32_t player;
	uint64_t seq; /* 0: none */
};

struct receives;

/* @nobjects: the number of objects of the trace, plus one. 0 or -ENOMEM. */
int receives_new(const struct relations *relations, uint32_t nobjects,
		 struct receives **ret_receives);

/* Accepts NULL. */
void receives_free(struct receives *receives);

/* Note @post, to a queue pair or a shared queue; @mark is its step. */
void receives_note(struct receives *receives, const struct post *post, struct mark mark);

/* Queue pair @qp has failed, or was stopped: its outstanding requests are lost. */
void receives_mark_uneven(struct receives *receives, uint32_t qp);

/*
 * The step that posts the receive request for the last message of @qp; @ret_mark has seq 0 if it
 * has sent none. False: not known, or not posted yet.
 */
bool receives_find(const struct receives *receives, uint32_t qp, struct mark *ret_mark);
