/*
 * The software device within one process: the cost of a message above memcpy()
 *
 *	send_BYTES	a send, its receive request and both completions, ns
 *	write_BYTES	an RDMA write and its completion, ns
 *	build_BYTES	the same built with ibv_wr_*, above ibv_post_send(), ns
 */
#include <infiniband/verbs.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "scripts/bench/sample.h"

enum { DEPTH = 64, REGION = 1 << 20, CALLS = 2000 };

struct end {
	struct ibv_cq *cq;
	struct ibv_qp *qp;
};

struct loop {
	struct end a, b;
	struct ibv_mr *mr;
	uint8_t *buf;
	uint32_t bytes;
};

static void check_or_exit(int ok, const char *what)
{
	if (ok)
		return;
	fprintf(stderr, "loopback: %s failed\n", what);
	exit(1);
}

static void open_end(struct end *e, struct ibv_pd *pd)
{
	struct ibv_qp_init_attr_ex attr = {
		.qp_type = IBV_QPT_RC,
		.cap = { DEPTH, DEPTH, 1, 1, 64 },
		.pd = pd,
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.send_ops_flags = IBV_QP_EX_WITH_RDMA_WRITE,
	};

	e->cq = ibv_create_cq(pd->context, DEPTH, NULL, NULL, 0);
	check_or_exit(e->cq != NULL, "ibv_create_cq");
	attr.send_cq = attr.recv_cq = e->cq;
	e->qp = ibv_create_qp_ex(pd->context, &attr);
	check_or_exit(e->qp != NULL, "ibv_create_qp_ex");
}

static void connect_end(struct end *e, uint32_t dest)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_INIT,
		.port_num = 1,
		.qp_access_flags = IBV_ACCESS_REMOTE_WRITE,
		.path_mtu = IBV_MTU_4096,
		.dest_qp_num = dest,
		.ah_attr = { .dlid = 1, .port_num = 1 },
		.timeout = 14,
		.retry_cnt = 7,
		.rnr_retry = 7,
		.max_rd_atomic = 1,
		.max_dest_rd_atomic = 1,
		.min_rnr_timer = 1,
	};

	check_or_exit(!ibv_modify_qp(e->qp, &attr,
				     IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
					     IBV_QP_ACCESS_FLAGS),
		      "INIT");
	attr.qp_state = IBV_QPS_RTR;
	check_or_exit(!ibv_modify_qp(e->qp, &attr,
				     IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
					     IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
					     IBV_QP_MIN_RNR_TIMER),
		      "RTR");
	attr.qp_state = IBV_QPS_RTS;
	check_or_exit(!ibv_modify_qp(e->qp, &attr,
				     IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
					     IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
					     IBV_QP_MAX_QP_RD_ATOMIC),
		      "RTS");
}

static void take_one(struct ibv_cq *cq)
{
	struct ibv_wc wc;

	while (ibv_poll_cq(cq, 1, &wc) == 0)
		;
	check_or_exit(wc.status == IBV_WC_SUCCESS, "a message");
}

static void post_one(struct loop *l, enum ibv_wr_opcode opcode)
{
	struct ibv_sge sge = { (uintptr_t)l->buf, l->bytes, l->mr->lkey };
	struct ibv_send_wr *bad, wr = {
		.sg_list = &sge, .num_sge = 1, .opcode = opcode, .send_flags = IBV_SEND_SIGNALED
	};

	wr.wr.rdma.remote_addr = (uintptr_t)l->buf + REGION / 2;
	wr.wr.rdma.rkey = l->mr->rkey;
	check_or_exit(!ibv_post_send(l->a.qp, &wr, &bad), "ibv_post_send");
}

static void send_many(void *arg, long n)
{
	struct loop *l = arg;
	struct ibv_sge sge = { (uintptr_t)l->buf + REGION / 2, l->bytes, l->mr->lkey };
	struct ibv_recv_wr *bad, wr = { .sg_list = &sge, .num_sge = 1 };

	while (n--) {
		check_or_exit(!ibv_post_recv(l->b.qp, &wr, &bad), "ibv_post_recv");
		post_one(l, IBV_WR_SEND);
		take_one(l->a.cq);
		take_one(l->b.cq);
	}
}

static void write_many(void *arg, long n)
{
	struct loop *l = arg;

	while (n--) {
		post_one(l, IBV_WR_RDMA_WRITE);
		take_one(l->a.cq);
	}
}

static void build_many(void *arg, long n)
{
	struct loop *l = arg;
	struct ibv_qp_ex *qp = ibv_qp_to_qp_ex(l->a.qp);

	while (n--) {
		ibv_wr_start(qp);
		qp->wr_id = 0;
		qp->wr_flags = IBV_SEND_SIGNALED;
		ibv_wr_rdma_write(qp, l->mr->rkey, (uintptr_t)l->buf + REGION / 2);
		ibv_wr_set_sge(qp, l->mr->lkey, (uintptr_t)l->buf, l->bytes);
		check_or_exit(!ibv_wr_complete(qp), "ibv_wr_complete");
		take_one(l->a.cq);
	}
}

static void copy_many(void *arg, long n)
{
	struct loop *l = arg;

	while (n--) {
		memcpy(l->buf + REGION / 2, l->buf, l->bytes);
		__asm__ volatile("" ::: "memory");
	}
}

static void measure_row(struct loop *l, const char *name, void (*than)(void *, long),
			void (*call)(void *, long))
{
	const struct side base = { than, l, NULL }, message = { call, l, NULL };
	char row[32];

	snprintf(row, sizeof(row), "%s_%u", name, l->bytes);
	sample_difference(row, &base, &message, CALLS);
}

int main(void)
{
	static const uint32_t sizes[] = { 8, 4096 };
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *context = ibv_open_device(list[0]);
	struct ibv_pd *pd = ibv_alloc_pd(context);
	struct loop l = { .buf = aligned_alloc(4096, REGION) };

	l.mr = ibv_reg_mr(pd, l.buf, REGION, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	check_or_exit(l.mr != NULL, "ibv_reg_mr");
	open_end(&l.a, pd);
	open_end(&l.b, pd);
	connect_end(&l.a, l.b.qp->qp_num);
	connect_end(&l.b, l.a.qp->qp_num);
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		l.bytes = sizes[i];
		measure_row(&l, "send", copy_many, send_many);
		measure_row(&l, "write", copy_many, write_many);
		measure_row(&l, "build", write_many, build_many);
	}
	return 0;
}
