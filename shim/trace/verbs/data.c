/*
 * The data path
 *
 * ibv_post_send() and its kin go through pointers in ibv_context.ops. For each
 * slot there are SLOTS functions of ours, each for one function of a provider:
 *
 *	ops.post_send -> post_send_0 -> post_send(..., originals.post_send[0])
 *
 * Not here: how a work request or a completion is written (post.h, poll.h).
 */
#include "shim/trace/verbs/data.h"

#include <errno.h>
#include <stdbool.h>

#include "shim/trace/payload/payload.h"
#include "shim/trace/verbs/poll.h"
#include "shim/trace/verbs/post.h"

enum { SLOTS = 4 };

typedef int poll_cq_fn(struct ibv_cq *, int, struct ibv_wc *);
typedef int req_notify_cq_fn(struct ibv_cq *, int);

static struct {
	post_send_fn *post_send[SLOTS];
	post_recv_fn *post_recv[SLOTS];
	post_srq_recv_fn *post_srq_recv[SLOTS];
	poll_cq_fn *poll_cq[SLOTS];
	req_notify_cq_fn *req_notify_cq[SLOTS];
} originals;

#define EACH_SLOT(_) _(0) _(1) _(2) _(3)

#define POST(verb, queue_t, wr_t, i)                                                        \
	static int verb##_##i(struct queue_t *queue, struct wr_t *wr, struct wr_t **bad)    \
	{                                                                                   \
		return verb(queue, wr, bad, originals.verb[i], __builtin_frame_address(0)); \
	}

#define FUNCTIONS(i)                                                           \
	POST(post_send, ibv_qp, ibv_send_wr, i)                                \
	POST(post_recv, ibv_qp, ibv_recv_wr, i)                                \
	POST(post_srq_recv, ibv_srq, ibv_recv_wr, i)                           \
	static int poll_cq_##i(struct ibv_cq *cq, int n, struct ibv_wc *wc)    \
	{                                                                      \
		int ret;                                                       \
                                                                               \
		if (__builtin_expect(payload_on, 0))                           \
			payload_polls(cq);                                     \
		ret = originals.poll_cq[i](cq, n, wc);                         \
		return poll_record(cq, ret, wc);                               \
	}                                                                      \
	static int req_notify_cq_##i(struct ibv_cq *cq, int solicited_only)    \
	{                                                                      \
		uint64_t ticks;                                                \
		int ret;                                                       \
                                                                               \
		if (!record_ready())                                           \
			return originals.req_notify_cq[i](cq, solicited_only); \
		ticks = record_ticks();                                        \
		ret = originals.req_notify_cq[i](cq, solicited_only);          \
		poll_record_notify(cq, solicited_only, ret, ticks);            \
		return ret;                                                    \
	}

EACH_SLOT(FUNCTIONS)

/* our functions for a slot, in the order of the originals */
#define NAME(verb, i) verb##_##i
#define OURS(verb)                                                                                 \
	static verb##_fn *const our_##verb[SLOTS] = { NAME(verb, 0), NAME(verb, 1), NAME(verb, 2), \
						      NAME(verb, 3) };

OURS(post_send)
OURS(post_recv)
OURS(post_srq_recv)
OURS(poll_cq)
OURS(req_notify_cq)

/* Where @original is, or may be put; -1: it is ours already; -2: no room. */
#define PATCH(verb)                                                          \
	static int patch_##verb(verb##_fn **slot)                            \
	{                                                                    \
		for (int i = 0; i < SLOTS; i++)                              \
			if (!*slot || *slot == our_##verb[i])                \
				return 0;                                    \
		for (int i = 0; i < SLOTS; i++) {                            \
			if (originals.verb[i] && originals.verb[i] != *slot) \
				continue;                                    \
			originals.verb[i] = *slot;                           \
			*slot = our_##verb[i];                               \
			return 0;                                            \
		}                                                            \
		return -ENOSPC;                                              \
	}

PATCH(post_send)
PATCH(post_recv)
PATCH(post_srq_recv)
PATCH(poll_cq)
PATCH(req_notify_cq)

int data_patch(struct ibv_context_ops *ops)
{
	int err = 0;

	err |= patch_post_send(&ops->post_send);
	err |= patch_post_recv(&ops->post_recv);
	err |= patch_post_srq_recv(&ops->post_srq_recv);
	err |= patch_poll_cq(&ops->poll_cq);
	err |= patch_req_notify_cq(&ops->req_notify_cq);
	return err ? -ENOSPC : 0;
}
