/*
 * UD queue pairs of one process: each with its own device context and memory.
 */
#pragma once
#include "rep.h"

struct ud {
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct ibv_cq *scq, *rcq;
	struct ibv_qp *qp;
	struct ibv_mr *mr;
	struct ibv_ah *ah; /* to the port itself */
	char *mem;
};

enum { UD_QKEY = 0x1111, UD_SIZE = 4096, UD_SLOT = 256 };

static inline void ud_make(struct ud *u)
{
	struct ibv_qp_init_attr init = { .send_cq = u->scq,
					 .recv_cq = u->rcq,
					 .qp_type = IBV_QPT_UD,
					 .cap = { 16, 16, 1, 1, 0 } };
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1, .qkey = UD_QKEY };

	need(u->qp = ibv_create_qp(u->pd, &init));
	need(!ibv_modify_qp(u->qp, &attr,
			    IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY));
	attr.qp_state = IBV_QPS_RTR;
	need(!ibv_modify_qp(u->qp, &attr, IBV_QP_STATE));
	attr.qp_state = IBV_QPS_RTS;
	need(!ibv_modify_qp(u->qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN));
}

static inline void ud_open(struct ud *u)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_ah_attr to = { .port_num = 1 };
	struct ibv_port_attr port;

	need(list && list[0] && (u->ctx = ibv_open_device(list[0])));
	ibv_free_device_list(list);
	need(u->pd = ibv_alloc_pd(u->ctx));
	need(u->scq = ibv_create_cq(u->ctx, 64, NULL, NULL, 0));
	need(u->rcq = ibv_create_cq(u->ctx, 64, NULL, NULL, 0));
	need(u->mem = aligned_alloc(UD_SIZE, UD_SIZE));
	need(u->mr = ibv_reg_mr(u->pd, u->mem, UD_SIZE, IBV_ACCESS_LOCAL_WRITE));
	need(!ibv_query_port(u->ctx, 1, &port));
	to.dlid = port.lid;
	to.is_global = port.link_layer == IBV_LINK_LAYER_ETHERNET;
	to.grh.hop_limit = 1;
	need(!ibv_query_gid(u->ctx, 1, 0, &to.grh.dgid));
	need(u->ah = ibv_create_ah(u->pd, &to));
	ud_make(u);
}

static inline void ud_close(struct ud *u)
{
	need(!ibv_destroy_qp(u->qp) && !ibv_destroy_ah(u->ah) && !ibv_dereg_mr(u->mr));
	need(!ibv_destroy_cq(u->scq) && !ibv_destroy_cq(u->rcq) && !ibv_dealloc_pd(u->pd));
	need(!ibv_close_device(u->ctx));
	free(u->mem);
}

/* Receives for @n datagrams, each in its own slot. */
static inline void ud_receive(struct ud *u, int n)
{
	for (int i = 0; i < n; i++) {
		struct ibv_sge sge = { (uintptr_t)u->mem + i * UD_SLOT, UD_SLOT, u->mr->lkey };
		struct ibv_recv_wr wr = { .wr_id = i, .sg_list = &sge, .num_sge = 1 }, *bad;

		need(!ibv_post_recv(u->qp, &wr, &bad));
	}
}

/* A datagram, until it has left. */
static inline void ud_send_by(struct ud *u, struct ibv_ah *ah, uint32_t number, uint32_t qkey)
{
	struct ibv_sge sge = { (uintptr_t)u->mem + UD_SIZE - UD_SLOT, 64, u->mr->lkey };
	struct ibv_send_wr wr = { .sg_list = &sge,
				  .num_sge = 1,
				  .opcode = IBV_WR_SEND,
				  .send_flags = IBV_SEND_SIGNALED,
				  .wr.ud = { ah, number, qkey } },
			   *bad;
	struct ibv_wc wc;

	need(!ibv_post_send(u->qp, &wr, &bad));
	need(wait_wc(u->scq, &wc, 5000) && !wc.status);
}

/* To @number at the same port. */
static inline void ud_send(struct ud *u, uint32_t number)
{
	ud_send_by(u, u->ah, number, UD_QKEY);
}

/* Has one come? */
static inline int ud_poll(struct ud *u)
{
	struct ibv_wc wc;

	return wait_wc(u->rcq, &wc, 20) && !wc.status;
}
