#pragma once
/*
 * Two connected ends in one program, for what happened to real ones: 0 sends, 1 receives.
 *
 * What `wish` says may be changed before ends_open().
 */
#include "tests/apps/app.h"

enum { ENDS_BYTES = 4096 };

static struct {
	int cqe, send_wr, recv_wr;
	uint8_t rnr_retry, min_rnr_timer;
	struct ibv_comp_channel *channel;
	struct ibv_srq *srq;
} wish = { .cqe = 64, .send_wr = 8, .recv_wr = 8, .rnr_retry = 7, .min_rnr_timer = 12 };

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

static inline void ends_init(struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT,
				    .port_num = 1,
				    .qp_access_flags = IBV_ACCESS_REMOTE_WRITE };

	MUST(ibv_modify_qp(qp, &attr,
			   IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS));
}

/* From INIT; what the verb returned. */
static inline int ends_to_rtr(struct ibv_qp *qp, uint32_t number)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTR,
				    .path_mtu = IBV_MTU_1024,
				    .dest_qp_num = number,
				    .max_dest_rd_atomic = 1,
				    .min_rnr_timer = wish.min_rnr_timer,
				    .ah_attr.port_num = 1 };
	struct ibv_port_attr port;

	MUST(ibv_query_port(ends.context, 1, &port));
	attr.ah_attr.dlid = port.lid;
	if (port.link_layer == IBV_LINK_LAYER_ETHERNET) {
		attr.ah_attr.is_global = 1;
		attr.ah_attr.grh.hop_limit = 1;
		attr.ah_attr.grh.sgid_index = 3; /* RoCE v2, IPv4 */
		MUST(ibv_query_gid(ends.context, 1, 3, &attr.ah_attr.grh.dgid));
	}
	return ibv_modify_qp(qp, &attr,
			     IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
				     IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
				     IBV_QP_MIN_RNR_TIMER);
}

static inline void ends_to_rts(struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTS,
				    .timeout = 8,
				    .retry_cnt = 3,
				    .rnr_retry = wish.rnr_retry,
				    .max_rd_atomic = 1 };

	MUST(ibv_modify_qp(qp, &attr,
			   IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
				   IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC));
}

static inline void ends_connect(void)
{
	for (int i = 0; i < 2; i++)
		ends_init(ends.qp[i]);
	for (int i = 0; i < 2; i++)
		MUST(ends_to_rtr(ends.qp[i], ends.qp[!i]->qp_num));
	for (int i = 0; i < 2; i++)
		ends_to_rts(ends.qp[i]);
}

/* All but the connection. */
static inline void ends_make(void)
{
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

/* What the program itself has destroyed and set to NULL is left out. */
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

/* Post 64 bytes from end 0 to end 1; what the verb returned. */
static inline int ends_send(uint64_t wr_id, enum ibv_wr_opcode opcode, unsigned int flags)
{
	struct ibv_sge sge = ends_sge(0, 64);
	struct ibv_send_wr wr = {
		.wr_id = wr_id,
		.sg_list = &sge,
		.num_sge = 1,
		.opcode = opcode,
		.send_flags = flags,
		.wr.rdma = { (uintptr_t)ends.memory[1], ends.mr[1]->rkey },
	}, *bad;

	return ibv_post_send(ends.qp[0], &wr, &bad);
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

static inline void ends_to_err(int i)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };

	MUST(ibv_modify_qp(ends.qp[i], &attr, IBV_QP_STATE));
}

/* To ERR, and everything that was posted is taken back. */
static inline void ends_drain(int i, int n)
{
	ends_to_err(i);
	ends_await(i, n);
}
