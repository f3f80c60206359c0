#pragma once
/*
 * A provider that does nothing, and a session that records it.
 *
 * Each test runs in a child of its own (fixture.h): begin_data(), then verbs.
 */
#include <errno.h>
#include <infiniband/verbs.h>

#include "shim/trace/verbs/data.h"
#include "tests/shim/trace/fixture.h"

static struct ibv_context context;
static struct ibv_qp qp = { .context = &context, .qp_type = IBV_QPT_RC };
static int next_ret;
static int next_errno;
static struct ibv_send_wr *bad_wr; /* NULL: the second */
static struct ibv_wc next_wc;
static void (*during)(void); /* called inside the provider's post_send */

static inline int fake_post_send(struct ibv_qp *q, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
	(void)q;
	if (during)
		during();
	if (next_ret)
		*bad = bad_wr ? bad_wr : wr->next;
	if (next_errno)
		errno = next_errno;
	return next_ret;
}

static inline int fake_post_recv(struct ibv_qp *q, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
	(void)q, (void)wr, (void)bad;
	return next_ret;
}

static inline int fake_poll_cq(struct ibv_cq *c, int n, struct ibv_wc *wc)
{
	(void)c;
	if (next_ret > 0 && n > 0)
		wc[0] = next_wc;
	return next_ret;
}

static inline int fake_notify(struct ibv_cq *c, int solicited)
{
	(void)c, (void)solicited;
	return 0;
}

static inline void begin_data(uint64_t ring_bytes, enum session_on_full on_full)
{
	session_begin(ring_bytes, on_full);
	context.ops.post_send = fake_post_send;
	context.ops.post_recv = fake_post_recv;
	context.ops.poll_cq = fake_poll_cq;
	context.ops.req_notify_cq = fake_notify;
	HOLDS(data_patch(&context.ops) == 0);
}

static inline int send_one(uint64_t wr_id)
{
	struct ibv_sge sge = { .addr = 0x1000, .length = 64, .lkey = 7 };
	struct ibv_send_wr wr = { .wr_id = wr_id,
				  .sg_list = &sge,
				  .num_sge = 1,
				  .opcode = IBV_WR_SEND,
				  .send_flags = IBV_SEND_SIGNALED };
	struct ibv_send_wr *bad;

	return ibv_post_send(&qp, &wr, &bad);
}
