#pragma once
/*
 * Two connected ends in one program, to reproduce real incidents: 0 sends, 1 receives.
 *
 * `wish` and `connected_with` may be changed before ends_open().
 */
#include "tests/apps/app.h"

enum { ENDS_BYTES = 4096 };

static struct {
	int cqe, send_wr, recv_wr;
	struct ibv_comp_channel *channel;
	struct ibv_srq *srq;
} wish = { .cqe = 64, .send_wr = 8, .recv_wr = 8 };

static struct {
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_cq *cq[2];
	struct ibv_mr *mr[2];
	struct ibv_qp *qp[2];
	char memory[2][ENDS_BYTES];
} ends;

static inline struct ibv_qp *ends_create(int i)
{
	struct ibv_qp_init_attr attr = {
		.send_cq = ends.cq[i],
		.recv_cq = ends.cq[i],
		.srq = i ? wish.srq : NULL,
		.cap = { .max_send_wr = (uint32_t)wish.send_wr,
			 .max_recv_wr = (uint32_t)wish.recv_wr,
			 .max_send_sge = 1,
			 .max_recv_sge = 1 },
		.qp_type = IBV_QPT_RC,
	};

	return NEED(ibv_create_qp(ends.pd, &attr));
}

/* The index of a GID: that of the environment, for kernel devices, or the software device's. */
static inline uint8_t ends_gid(uint8_t soft)
{
	const char *given = getenv("TEST_GID");

	return given ? (uint8_t)atoi(given) : soft;
}

/* From INIT, on RoCE by v2 and IPv4; returns the verb's result. */
static inline int ends_to_rtr(struct ibv_qp *qp, uint32_t number)
{
	return to_rtr(qp, number, own_address(ends.context, ends_gid(3)));
}

static inline void ends_connect(void)
{
	for (int i = 0; i < 2; i++)
		to_init(ends.qp[i]);
	for (int i = 0; i < 2; i++)
		MUST(ends_to_rtr(ends.qp[i], ends.qp[!i]->qp_num));
	for (int i = 0; i < 2; i++)
		to_rts(ends.qp[i]);
}

/* All but the connection. */
static inline void ends_make(void)
{
	connected_with.timeout = 8;
	connected_with.retry_cnt = 3;
	if (!ends.context) {
		ends.context = open_first_device();
		ends.pd = NEED(ibv_alloc_pd(ends.context));
	}
	for (int i = 0; i < 2; i++) {
		ends.cq[i] = NEED(ibv_create_cq(ends.context, wish.cqe, NULL, wish.channel, 0));
		ends.mr[i] = NEED(ibv_reg_mr(ends.pd, ends.memory[i], ENDS_BYTES,
					     IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE));
	}
	for (int i = 0; i < 2; i++)
		ends.qp[i] = ends_create(i);
}

static inline void ends_open(void)
{
	ends_make();
	ends_connect();
}

/* With a channel for the events of both queues. */
static inline void ends_open_with_events(void)
{
	ends.context = open_first_device();
	ends.pd = NEED(ibv_alloc_pd(ends.context));
	wish.channel = NEED(ibv_create_comp_channel(ends.context));
	ends_open();
}

/* Objects that the program has destroyed and set to NULL are left out. */
static inline void ends_close(void)
{
	for (int i = 0; i < 2; i++)
		if (ends.qp[i])
			MUST(ibv_destroy_qp(ends.qp[i]));
	for (int i = 0; i < 2; i++) {
		if (ends.mr[i])
			MUST(ibv_dereg_mr(ends.mr[i]));
		if (ends.cq[i])
			MUST(ibv_destroy_cq(ends.cq[i]));
	}
	if (wish.srq)
		MUST(ibv_destroy_srq(wish.srq));
	if (wish.channel)
		MUST(ibv_destroy_comp_channel(wish.channel));
	MUST(ibv_dealloc_pd(ends.pd));
	MUST(ibv_close_device(ends.context));
}

static inline struct ibv_sge ends_sge(int i, uint32_t length)
{
	return (struct ibv_sge){ (uintptr_t)ends.memory[i], length, ends.mr[i]->lkey };
}

static inline int ends_post(uint64_t wr_id, enum ibv_wr_opcode opcode, unsigned int flags,
			    uint32_t rkey)
{
	struct ibv_sge sge = ends_sge(0, 64);
	struct ibv_send_wr wr = {
		.wr_id = wr_id,
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = opcode,
		.send_flags = flags,
		.wr.rdma = { (uintptr_t)ends.memory[1], rkey },
	}, *bad;

	return ibv_post_send(ends.qp[0], &wr, &bad);
}

/* Post 64 bytes from end 0 to end 1; returns the verb's result. */
static inline int ends_send(uint64_t wr_id, enum ibv_wr_opcode opcode, unsigned int flags)
{
	return ends_post(wr_id, opcode, flags, ends.mr[1]->rkey);
}

/* The same to memory of end 1 by that key. */
static inline int ends_write(uint32_t rkey)
{
	return ends_post(0, IBV_WR_RDMA_WRITE, IBV_SEND_SIGNALED, rkey);
}

static inline int ends_receive(uint64_t wr_id)
{
	struct ibv_sge sge = ends_sge(1, 64);
	struct ibv_recv_wr wr = { .wr_id = wr_id, .sg_list = &sge, .num_sge = 1 }, *bad;

	return wish.srq ? ibv_post_srq_recv(wish.srq, &wr, &bad)
			: ibv_post_recv(ends.qp[1], &wr, &bad);
}

/* Wait for @n completions; the status of the last. */
static inline enum ibv_wc_status ends_await(int i, int n)
{
	struct ibv_wc wc = { 0 };

	while (n)
		n -= ibv_poll_cq(ends.cq[i], 1, &wc);
	return wc.status;
}

/* To ERR; all posted requests are flushed and polled. */
static inline void ends_drain(int i, int n)
{
	to_err(ends.qp[i]);
	ends_await(i, n);
}
