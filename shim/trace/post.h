#pragma once
/*
 * A post: its work requests, then its result, in one event.
 *
 * The requests are written before the verb is called, since they are the
 * provider's afterwards: another thread may poll the completion and free them.
 */
#include <infiniband/verbs.h>
#include <stdbool.h>

#include "core/wire/desc.h"
#include "shim/trace/record.h"

struct post {
	struct event_post *event;
	struct hold hold;
	uint16_t verb;
};

/* Returns false where it is not recorded: then its end must not be called. */
bool post_begin_send(struct post *post, const struct ibv_qp *qp, const struct ibv_send_wr *wr);
bool post_begin_recv(struct post *post, enum verb verb, const void *queue,
		     const struct ibv_recv_wr *wr);

/* @wr is the head of the list, and is read only where the post failed. */
void post_end_send(struct post *post, int ret, const struct ibv_send_wr *wr,
		   struct ibv_send_wr *const *bad);
void post_end_recv(struct post *post, int ret, const struct ibv_recv_wr *wr,
		   struct ibv_recv_wr *const *bad);
