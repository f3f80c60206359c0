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
#include "shim/trace/ring/record.h"

enum { POST_WRS = 256 };

/*
 * Where the requests of a list lie, to know *bad_wr again: the thread's, since it
 * is too long for a caller's stack. Of a post within that of a list nothing is kept.
 */
struct post_list {
	const void *const *frame; /* of the post that has it; NULL: nobody */
	const void *wrs[POST_WRS];
};

struct post {
	const void *const *frame;
	struct event_post *event;
	struct hold hold;
	unsigned int nwr;         /* in the whole call */
	const void *first;        /* where that lies, */
	struct post_list *list;   /* and the others; NULL: there are none, or it is not known */
};

/* @frame: of the verb, from __builtin_frame_address(0). */
static inline void post_init(struct post *post, const void *const *frame)
{
	post->frame = frame;
	post->nwr = 0;
	post->list = NULL;
}

/* The thread's list for @post, if it is free. */
void post_take_list(struct post *post);

/* The next request is this. */
static inline void post_remember(struct post *post, const void *wr)
{
	if (!post->nwr)
		post->first = wr;
	else if (post->nwr == 1 && !post->list)
		post_take_list(post);
	if (post->nwr && post->nwr < POST_WRS && post->list)
		post->list->wrs[post->nwr] = wr;
	post->nwr++;
}

/* 1 + the place of @bad in the list; 0 where it is not among the first POST_WRS. */
unsigned int post_find(const struct post *post, const void *bad);

typedef int post_send_fn(struct ibv_qp *, struct ibv_send_wr *, struct ibv_send_wr **);
typedef int post_recv_fn(struct ibv_qp *, struct ibv_recv_wr *, struct ibv_recv_wr **);
typedef int post_srq_recv_fn(struct ibv_srq *, struct ibv_recv_wr *, struct ibv_recv_wr **);
typedef int post_wq_recv_fn(struct ibv_wq *, struct ibv_recv_wr *, struct ibv_recv_wr **);

/* Call @next, the provider's function, and record that. @frame: as in struct post. */
int post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad,
	      post_send_fn *next, const void *const *frame);
int post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad,
	      post_recv_fn *next, const void *const *frame);
int post_srq_recv(struct ibv_srq *srq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad,
		  post_srq_recv_fn *next, const void *const *frame);
int post_wq_recv(struct ibv_wq *wq, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad,
		 post_wq_recv_fn *next, const void *const *frame);

struct builder;

/*
 * The requests that were built (ibv_wr_*), in the form of the ring already.
 * @verb is VERB_wr_complete, or VERB_wr_abort where they are thrown away.
 * After record_ready(). Returns false where it is dropped: then its end must
 * not be called.
 */
bool post_begin_built(struct post *post, enum verb verb, const struct ibv_qp *qp,
		      struct builder *builder);

/* The result is not 0. */
void post_fail(const struct post *post, int ret, const void *bad);

/* @bad: *bad_wr of a post that failed. */
static inline void post_end(struct post *post, int ret, const void *bad)
{
	if (__builtin_expect(ret, 0))
		post_fail(post, ret, bad);
	record_release(post->hold);
}

/* After everything else: others may have its list. */
static inline void post_fini(struct post *post)
{
	if (__builtin_expect(post->list != NULL, 0))
		post->list->frame = NULL;
}
