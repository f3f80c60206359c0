/*
 * The data path
 *
 * ibv_post_send() and related verbs go through pointers in ibv_context.ops, which are replaced
 * (slots.h).
 *
 * Not here: writing a work request or a completion (post.h, poll.h).
 */
#include "shim/trace/verbs/data.h"

#include "shim/trace/objects/pollers.h"
#include "shim/trace/objects/strict.h"
#include "shim/trace/payload/payload.h"
#include "shim/trace/verbs/poll.h"
#include "shim/trace/verbs/post.h"
#include "shim/trace/verbs/slots.h"
#include "shim/trace/verbs/strict_cq.h"

typedef int poll_cq_fn(struct ibv_cq *, int, struct ibv_wc *);
typedef int req_notify_cq_fn(struct ibv_cq *, int);

enum {
	OP_post_send,
	OP_post_recv,
	OP_post_srq_recv,
	OP_poll_cq,
	OP_req_notify_cq,
	OPS,
};

static void *originals[OPS][SLOTS];

#define ORIGINAL(verb, i) ((verb##_fn *)originals[OP_##verb][i])

#define POST(verb, queue_t, wr_t, i)                                                        \
	static int verb##_##i(struct queue_t *queue, struct wr_t *wr, struct wr_t **bad)    \
	{                                                                                   \
		return verb(queue, wr, bad, ORIGINAL(verb, i), __builtin_frame_address(0)); \
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
			pollers_note(cq);                                      \
		ret = ORIGINAL(poll_cq, i)(cq, n, wc);                         \
		return poll_record(cq, n, ret, wc);                            \
	}                                                                      \
	static int req_notify_cq_##i(struct ibv_cq *cq, int solicited_only)    \
	{                                                                      \
		uint64_t ticks;                                                \
		int ret;                                                       \
                                                                               \
		if (!record_ready())                                           \
			return ORIGINAL(req_notify_cq, i)(cq, solicited_only); \
		ticks = record_ticks();                                        \
		ret = ORIGINAL(req_notify_cq, i)(cq, solicited_only);          \
		poll_record_notify(cq, solicited_only, ret, ticks);            \
		return ret;                                                    \
	}

EACH_SLOT(FUNCTIONS)

/* Separate functions for record --strict, so that the normal functions are not slower. */
#define STRICT_POST(verb, queue_t, wr_t, which, i)                                                \
	static int strict_##verb##_##i(struct queue_t *queue, struct wr_t *wr, struct wr_t **bad) \
	{                                                                                         \
		struct strict_use use;                                                            \
		int ret;                                                                          \
                                                                                                  \
		strict_enter(&use, queue, VERB_##verb, which);                                    \
		ret = verb(queue, wr, bad, ORIGINAL(verb, i), __builtin_frame_address(0));        \
		strict_leave(&use);                                                               \
		return ret;                                                                       \
	}

#define STRICT_FUNCTIONS(i)                                                        \
	STRICT_POST(post_send, ibv_qp, ibv_send_wr, STRICT_SEND, i)                \
	STRICT_POST(post_recv, ibv_qp, ibv_recv_wr, STRICT_RECV, i)                \
	STRICT_POST(post_srq_recv, ibv_srq, ibv_recv_wr, STRICT_SEND, i)           \
	static int strict_poll_cq_##i(struct ibv_cq *cq, int n, struct ibv_wc *wc) \
	{                                                                          \
		struct strict_use use;                                             \
		int ret;                                                           \
                                                                                   \
		strict_enter(&use, cq, VERB_poll_cq, STRICT_SEND);                 \
		ret = poll_cq_##i(cq, n, wc);                                      \
		strict_leave(&use);                                                \
		strict_cq_overwrite_invalid(wc, ret);                              \
		return ret;                                                        \
	}                                                                          \
	static int strict_req_notify_cq_##i(struct ibv_cq *cq, int solicited_only) \
	{                                                                          \
		struct strict_use use;                                             \
		int ret;                                                           \
                                                                                   \
		strict_enter(&use, cq, VERB_req_notify_cq, STRICT_RECV);           \
		ret = req_notify_cq_##i(cq, solicited_only);                       \
		strict_leave(&use);                                                \
		return ret;                                                        \
	}

EACH_SLOT(STRICT_FUNCTIONS)

static void *const ours[OPS][SLOTS] = {
	[OP_post_send] = SLOT_NAMES(post_send),         [OP_post_recv] = SLOT_NAMES(post_recv),
	[OP_post_srq_recv] = SLOT_NAMES(post_srq_recv), [OP_poll_cq] = SLOT_NAMES(poll_cq),
	[OP_req_notify_cq] = SLOT_NAMES(req_notify_cq),
};

static void *const strict_ours[OPS][SLOTS] = {
	[OP_post_send] = SLOT_NAMES(strict_post_send),
	[OP_post_recv] = SLOT_NAMES(strict_post_recv),
	[OP_post_srq_recv] = SLOT_NAMES(strict_post_srq_recv),
	[OP_poll_cq] = SLOT_NAMES(strict_poll_cq),
	[OP_req_notify_cq] = SLOT_NAMES(strict_req_notify_cq),
};

int data_patch(struct ibv_context_ops *ops)
{
	void **const pointers[OPS] = {
		[OP_post_send] = (void **)&ops->post_send,
		[OP_post_recv] = (void **)&ops->post_recv,
		[OP_post_srq_recv] = (void **)&ops->post_srq_recv,
		[OP_poll_cq] = (void **)&ops->poll_cq,
		[OP_req_notify_cq] = (void **)&ops->req_notify_cq,
	};
	int err = 0;

	for (int op = 0; op < OPS; op++)
		err |= slots_patch(pointers[op], originals[op],
				   strict_is_on() ? strict_ours[op] : ours[op]);
	return err;
}
