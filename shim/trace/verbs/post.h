#pragma once
/*
 * A post: its work requests, then its result, in one event.
 *
 * The requests are written before the verb is called, since then they belong to the provider:
 * another thread may poll the completion and free them. This is also true if the post fails: the
 * requests before *bad_wr were posted.
 */
#include <infiniband/verbs.h>
#include <stdbool.h>

#include "core/wire/desc.h"
#include "shim/trace/objects/wr_list.h"
#include "shim/trace/ring/record.h"

struct post {
	struct event_post *event;
	struct held_event hold;
	struct wr_list list; /* requests of the whole call */
	bool unknown;        /* no open batch of ibv_wr_*() was known */
};

typedef int post_send_fn(struct ibv_qp *, struct ibv_send_wr *, struct ibv_send_wr **);
typedef int post_recv_fn(struct ibv_qp *, struct ibv_recv_wr *, struct ibv_recv_wr **);
typedef int post_srq_recv_fn(struct ibv_srq *, struct ibv_recv_wr *, struct ibv_recv_wr **);
typedef int post_wq_recv_fn(struct ibv_wq *, struct ibv_recv_wr *, struct ibv_recv_wr **);

/* Call @next, the provider's function, and record the post. @frame: as in struct wr_list. */
int post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad,
	      post_send_fn *next, const void *const *frame);
int post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad,
	      post_recv_fn *next, const void *const *frame);
int post_srq_recv(struct ibv_srq *srq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad,
		  post_srq_recv_fn *next, const void *const *frame);
int post_wq_recv(struct ibv_wq *wq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad,
		 post_wq_recv_fn *next, const void *const *frame);

typedef int wr_complete_fn(struct ibv_qp_ex *);

/* Call @next, the provider's wr_complete, and record the batch that was built (builder.h). */
int post_complete_batch(struct ibv_qp_ex *qp, wr_complete_fn *next, const void *const *frame);

/* Record the batch as discarded: none of its requests is posted. */
void post_discard_batch(const struct ibv_qp_ex *qp, const void *const *frame);

/* post_end() for a result other than 0. */
void post_fail(const struct post *post, int ret, const void *bad);

/* @bad: *bad_wr of a failed post. */
static inline void post_end(struct post *post, int ret, const void *bad)
{
	if (__builtin_expect(ret, 0))
		post_fail(post, ret, bad);
	else
		record_release(post->hold);
}
