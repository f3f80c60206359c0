#pragma once
/*
 * Two connected queue pairs for tests: in one process, or an end in each of
 * two.
 */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include <infiniband/verbs.h>

#include "tests/test.h"

#define HELPER __attribute__((unused)) static

enum { END_BYTES = 1 << 20, END_DEPTH = 16, END_CQE = 64 };

struct end {
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_comp_channel *channel;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	struct ibv_mr *mr;
	uint8_t *buf;
};

struct pair {
	struct end a, b;
};

/* Data that the other end needs. */
struct address {
	uint32_t qpn;
	uint32_t rkey;
	uint64_t addr;
};

static char fabric_dir[] = "/dev/shm/verbatim-soft-test.XXXXXX";

static int fabric_fds; /* open before the first test */

HELPER int count_fds(void)
{
	DIR *dir = opendir("/proc/self/fd");
	int n = 0;

	while (readdir(dir))
		n++;
	closedir(dir);
	return n;
}

HELPER int fabric_setup(void **state)
{
	(void)state;
	if (!mkdtemp(fabric_dir))
		return -1;
	fabric_fds = count_fds();
	return setenv("VERBATIM_SOFT_FABRIC", fabric_dir, 1);
}

/*
 * Fails if anything was left behind: a file of the fabric, or a descriptor. Threads that are ending
 * may have some for a moment.
 */
HELPER int fabric_teardown(void **state)
{
	int more = count_fds() - fabric_fds;

	(void)state;
	for (int tries = 0; more > 0 && tries < 5000; tries++) {
		usleep(1000);
		more = count_fds() - fabric_fds;
	}
	if (more > 0)
		fprintf(stderr, "%d descriptors are still open\n", more);
	return rmdir(fabric_dir) || more > 0 ? -1 : 0;
}

HELPER struct ibv_context *open_context(void)
{
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *context = ibv_open_device(list[0]);

	ibv_free_device_list(list);
	assert_non_null(context);
	return context;
}

HELPER struct ibv_qp *make_qp_of(struct end *e, enum ibv_qp_type type, struct ibv_srq *srq)
{
	struct ibv_qp_init_attr attr = {
		.send_cq = e->cq,
		.recv_cq = e->cq,
		.srq = srq,
		.qp_type = type,
		.cap = { END_DEPTH, END_DEPTH, 4, 4, 64 },
	};
	struct ibv_qp *qp = ibv_create_qp(e->pd, &attr);

	assert_non_null(qp);
	return qp;
}

HELPER struct ibv_qp *make_qp(struct end *e, struct ibv_srq *srq)
{
	return make_qp_of(e, IBV_QPT_RC, srq);
}

/* In place of the one that @e was opened with. */
HELPER void use_qp_of(struct end *e, enum ibv_qp_type type, struct ibv_srq *srq)
{
	assert_int_equal(ibv_destroy_qp(e->qp), 0);
	e->qp = make_qp_of(e, type, srq);
}

enum {
	ALL_ACCESS = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ |
		     IBV_ACCESS_REMOTE_ATOMIC
};

HELPER void end_open(struct end *e)
{
	e->context = open_context();
	e->pd = ibv_alloc_pd(e->context);
	e->channel = ibv_create_comp_channel(e->context);
	assert_non_null(e->channel);
	e->cq = ibv_create_cq(e->context, END_CQE, e, e->channel, 0);
	assert_non_null(e->cq);
	e->buf = mmap(NULL, END_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	e->mr = ibv_reg_mr(e->pd, e->buf, END_BYTES, ALL_ACCESS);
	assert_non_null(e->mr);
	e->qp = make_qp(e, NULL);
}

HELPER void end_close(struct end *e)
{
	if (e->qp)
		assert_int_equal(ibv_destroy_qp(e->qp), 0);
	if (e->mr)
		assert_int_equal(ibv_dereg_mr(e->mr), 0);
	assert_int_equal(ibv_destroy_cq(e->cq), 0);
	assert_int_equal(ibv_destroy_comp_channel(e->channel), 0);
	assert_int_equal(ibv_dealloc_pd(e->pd), 0);
	assert_int_equal(ibv_close_device(e->context), 0);
	munmap(e->buf, END_BYTES);
}

HELPER struct address end_address(const struct end *e)
{
	return (struct address){ e->qp->qp_num, e->mr->rkey, (uintptr_t)e->buf };
}

HELPER int to_init(struct ibv_qp *qp, int access)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT,
				    .port_num = 1,
				    .qp_access_flags = access };

	return ibv_modify_qp(qp, &attr,
			     IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
}

HELPER int to_rtr(struct ibv_qp *qp, uint32_t dest)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTR,
		.path_mtu = IBV_MTU_1024,
		.dest_qp_num = dest,
		.max_dest_rd_atomic = 1,
		.min_rnr_timer = 1,
		.ah_attr = { .dlid = 1, .port_num = 1 },
	};

	return ibv_modify_qp(qp, &attr,
			     IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
				     IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
				     IBV_QP_MIN_RNR_TIMER);
}

/* Times out after 8 times 1 ms; waits for receivers forever if 7. */
HELPER int to_rts_with(struct ibv_qp *qp, uint8_t rnr_retry)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTS,
				    .timeout = 8,
				    .retry_cnt = 7,
				    .rnr_retry = rnr_retry,
				    .max_rd_atomic = 1 };

	return ibv_modify_qp(qp, &attr,
			     IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
				     IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC);
}

HELPER int to_rts(struct ibv_qp *qp)
{
	return to_rts_with(qp, 7);
}

HELPER int to_state(struct ibv_qp *qp, enum ibv_qp_state state)
{
	struct ibv_qp_attr attr = { .qp_state = state };

	return ibv_modify_qp(qp, &attr, IBV_QP_STATE);
}

HELPER void connect_to(struct ibv_qp *qp, uint32_t dest)
{
	assert_int_equal(to_init(qp, ALL_ACCESS), 0);
	assert_int_equal(to_rtr(qp, dest), 0);
	assert_int_equal(to_rts(qp), 0);
}

HELPER int pair_setup(void **state)
{
	struct pair *p = calloc(1, sizeof(*p));

	end_open(&p->a);
	end_open(&p->b);
	connect_to(p->a.qp, p->b.qp->qp_num);
	connect_to(p->b.qp, p->a.qp->qp_num);
	*state = p;
	return 0;
}

HELPER int pair_teardown(void **state)
{
	struct pair *p = *state;

	end_close(&p->a);
	end_close(&p->b);
	free(p);
	return 0;
}

HELPER enum ibv_qp_state state_of(struct ibv_qp *qp)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	assert_int_equal(ibv_query_qp(qp, &attr, IBV_QP_STATE, &init), 0);
	return attr.qp_state;
}

/* Wait for one completion; gives up after ten seconds. */
HELPER struct ibv_wc poll_one(struct ibv_cq *cq)
{
	struct ibv_wc wc;
	int n, tries;

	for (tries = 0; tries < 200000; tries++) {
		n = ibv_poll_cq(cq, 1, &wc);
		assert_true(n >= 0);
		if (n)
			return wc;
		if (tries > 1000)
			usleep(50);
	}
	fail_msg("no completion");
	return wc;
}

HELPER struct ibv_wc expect_wc(struct ibv_cq *cq, uint64_t wr_id, int status)
{
	struct ibv_wc wc = poll_one(cq);

	assert_int_equal(wc.status, status);
	assert_int_equal(wc.wr_id, wr_id);
	return wc;
}

HELPER void expect_none(struct ibv_cq *cq)
{
	struct ibv_wc wc;

	assert_int_equal(ibv_poll_cq(cq, 1, &wc), 0);
}

HELPER struct ibv_sge sge_of(const struct end *e, uint32_t off, uint32_t len)
{
	return (struct ibv_sge){ (uintptr_t)e->buf + off, len, e->mr->lkey };
}

HELPER int recv_sge(struct end *e, uint64_t wr_id, struct ibv_sge sge)
{
	struct ibv_recv_wr wr = { .wr_id = wr_id, .sg_list = &sge, .num_sge = 1 };
	struct ibv_recv_wr *bad = NULL;

	return ibv_post_recv(e->qp, &wr, &bad);
}

HELPER int recv_at(struct end *e, uint64_t wr_id, uint32_t off, uint32_t len)
{
	return recv_sge(e, wr_id, sge_of(e, off, len));
}

HELPER int send_wr(struct end *e, struct ibv_send_wr wr, struct ibv_sge sge)
{
	struct ibv_send_wr *bad = NULL;

	wr.sg_list = &sge;
	wr.num_sge = 1;
	wr.send_flags |= IBV_SEND_SIGNALED;
	return ibv_post_send(e->qp, &wr, &bad);
}

HELPER int send_at(struct end *e, uint64_t wr_id, uint32_t off, uint32_t len)
{
	return send_wr(e, (struct ibv_send_wr){ .wr_id = wr_id, .opcode = IBV_WR_SEND },
		       sge_of(e, off, len));
}

HELPER int rdma_at(struct end *e, enum ibv_wr_opcode opcode, uint64_t wr_id, uint32_t len,
		   uint64_t addr, uint32_t rkey)
{
	struct ibv_send_wr wr = { .wr_id = wr_id, .opcode = opcode };

	wr.wr.rdma.remote_addr = addr;
	wr.wr.rdma.rkey = rkey;
	return send_wr(e, wr, sge_of(e, 0, len));
}
