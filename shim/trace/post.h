#pragma once
/*
 * A post: its work requests, then its result, in one event.
 *
 * The requests are written before the verb is called, since they are the
 * provider's afterwards: another thread may poll the completion and free them.
 * That goes for a post that fails, too: what came before *bad_wr was posted.
 */
#include <infiniband/verbs.h>
#include <stdbool.h>

#include "core/wire/desc.h"
#include "shim/trace/record.h"

enum { POST_WRS = 256 };

struct post {
	const void *const *frame; /* of the verb, from __builtin_frame_address(0); to be set first */
	uint16_t site;
	struct event_post *event;
	struct hold hold;
	unsigned int nwr;          /* in the whole call */
	const void *wrs[POST_WRS]; /* where the first of them lie, to know *bad_wr again */
};

/* After record_ready(). Returns false where it is dropped: then its end must not be called. */
bool post_begin_send(struct post *post, const struct ibv_qp *qp, const struct ibv_send_wr *wr);
bool post_begin_recv(struct post *post, enum verb verb, const void *queue,
		     const struct ibv_recv_wr *wr);

struct builder;

/*
 * The requests that were built (ibv_wr_*), in the form of the ring already.
 * @verb is VERB_wr_complete, or VERB_wr_abort where they are thrown away.
 */
bool post_begin_built(struct post *post, enum verb verb, const struct ibv_qp *qp,
		      struct builder *builder);

/* @bad: *bad_wr of a post that failed. */
void post_end(struct post *post, int ret, const void *bad);
