#pragma once
/*
 * A queue pair that is connected to itself, with memory to write to; room for 8
 * sends and 8 receives of one element each.
 */
#include "tests/apps/app.h"

enum { SELF_ROOM = 8, SELF_BYTES = 64 };

struct self {
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_mr *mr;
	struct ibv_qp *qp;
	char buffer[4096];
};

static struct self self;

static inline struct ibv_qp *self_create(uint32_t room, uint32_t inline_bytes)
{
	struct ibv_qp_init_attr attr = {
		.send_cq = self.cq,
		.recv_cq = self.cq,
		.cap = { room, room, 1, 1, inline_bytes },
		.qp_type = IBV_QPT_RC,
	};

	return NEED(ibv_create_qp(self.pd, &attr));
}

/* All but the connection; with room for @room requests and @inline_bytes. */
static inline void self_make(int cqe, uint32_t room, uint32_t inline_bytes)
{
	self.context = open_first_device();
	self.pd = NEED(ibv_alloc_pd(self.context));
	self.cq = NEED(ibv_create_cq(self.context, cqe, NULL, NULL, 0));
	self.mr = NEED(ibv_reg_mr(self.pd, self.buffer, sizeof(self.buffer),
				  IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE));
	self.qp = self_create(room, inline_bytes);
}

static inline void self_open_with(int cqe, uint32_t room, uint32_t inline_bytes)
{
	self_make(cqe, room, inline_bytes);
	connect_to_itself(self.context, self.qp);
}

static inline void self_open(int cqe)
{
	self_open_with(cqe, SELF_ROOM, 0);
}

static inline void self_close(void)
{
	MUST(ibv_destroy_qp(self.qp));
	MUST(ibv_dereg_mr(self.mr));
	MUST(ibv_destroy_cq(self.cq));
	MUST(ibv_dealloc_pd(self.pd));
	MUST(ibv_close_device(self.context));
}

/* The element of request @wr_id: each has 64 bytes of its own. */
static inline struct ibv_sge self_sge(uint64_t wr_id)
{
	uintptr_t at = (uintptr_t)self.buffer + wr_id * SELF_BYTES % sizeof(self.buffer);

	return (struct ibv_sge){ at, SELF_BYTES, self.mr->lkey };
}

static inline struct ibv_send_wr self_write(uint64_t wr_id, struct ibv_sge *sge, unsigned int flags)
{
	*sge = self_sge(wr_id);
	return (struct ibv_send_wr){ .wr_id = wr_id,
				     .sg_list = sge,
				     .num_sge = 1,
				     .opcode = IBV_WR_RDMA_WRITE,
				     .send_flags = flags,
				     .wr.rdma = { sge->addr, self.mr->rkey } };
}

/* Post a write of 64 bytes to itself; returns the verb's result. */
static inline int self_post(uint64_t wr_id, unsigned int flags)
{
	struct ibv_sge sge;
	struct ibv_send_wr wr = self_write(wr_id, &sge, flags), *bad;

	return ibv_post_send(self.qp, &wr, &bad);
}

static inline int self_receive(uint64_t wr_id)
{
	struct ibv_sge sge = self_sge(wr_id);
	struct ibv_recv_wr wr = { .wr_id = wr_id, .sg_list = &sge, .num_sge = 1 }, *bad;

	return ibv_post_recv(self.qp, &wr, &bad);
}

/* Wait for @n completions; the status of the last. */
static inline enum ibv_wc_status self_poll(int n)
{
	struct ibv_wc wc = { 0 };

	while (n)
		n -= ibv_poll_cq(self.cq, 1, &wc);
	return wc.status;
}

/* To ERR; all posted requests are flushed and polled. */
static inline void self_drain(int n)
{
	to_err(self.qp);
	self_poll(n);
}

static inline void self_send(uint64_t wr_id)
{
	struct ibv_sge sge = self_sge(wr_id);
	struct ibv_send_wr wr = {
		.wr_id = wr_id,
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_SIGNALED,
	}, *bad;

	MUST(ibv_post_send(self.qp, &wr, &bad));
}

/* Post a write of @length bytes of @from to @to, by @rkey. */
static inline void self_write_to(const struct ibv_mr *from, uint32_t length, const void *to,
				 uint32_t rkey)
{
	struct ibv_sge sge = { (uintptr_t)from->addr, length, from->lkey };
	struct ibv_send_wr wr = {
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = IBV_WR_RDMA_WRITE,
		.send_flags = IBV_SEND_SIGNALED,
		.wr.rdma = { (uintptr_t)to, rkey },
	}, *bad;

	MUST(ibv_post_send(self.qp, &wr, &bad));
}

enum { SELF_LIST = 512 };

/* Post @n writes in one list, the last of them signalled, or all with @flags. */
static inline void self_post_list(int n, unsigned int flags)
{
	struct ibv_send_wr wrs[SELF_LIST], *bad;
	struct ibv_sge sges[SELF_LIST];

	for (int i = 0; i < n; i++) {
		wrs[i] =
			self_write(i % 64, &sges[i], i < n - 1 ? flags : flags | IBV_SEND_SIGNALED);
		wrs[i].next = i < n - 1 ? &wrs[i + 1] : NULL;
	}
	MUST(ibv_post_send(self.qp, wrs, &bad));
}

/* Poll @n completions, up to @at_once per call. */
static inline void self_poll_some(int n, int at_once)
{
	struct ibv_wc wcs[SELF_LIST];

	while (n)
		n -= ibv_poll_cq(self.cq, at_once < n ? at_once : n, wcs);
}
