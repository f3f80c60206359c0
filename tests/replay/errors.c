/*
 * A program to be replayed: two threads on one queue, each kind of failure
 *
 * Both ends of its connections are its own. It prints each result on a line, and exits with 0 if
 * all are as expected.
 */
#include <infiniband/verbs.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define NEED(what)                                             \
	({                                                     \
		typeof(what) need_ = (what);                   \
		if (!need_) {                                  \
			fprintf(stderr, "%s failed\n", #what); \
			exit(2);                               \
		}                                              \
		need_;                                         \
	})
#define MUST(what) ((void)NEED((what) == 0))

enum {
	DEPTH = 512,
	EACH = 200,
	PORT = 1,
	ACCESS = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ
};

static struct ibv_context *context;
static struct ibv_pd *pd;
static struct ibv_port_attr port;
static struct ibv_cq *cqs[2];
static struct ibv_mr *all, *small;
static char memory[1 << 20];

struct pair {
	struct ibv_qp *a, *b; /* b may use a shared receive queue */
};

static struct ibv_qp *create_qp(struct ibv_cq *cq, struct ibv_srq *srq)
{
	struct ibv_qp_init_attr attr = {
		.send_cq = cq,
		.recv_cq = cq,
		.srq = srq,
		.qp_type = IBV_QPT_RC,
		.cap = { DEPTH, srq ? 0 : DEPTH, 2, srq ? 0 : 2, 64 },
	};

	return NEED(ibv_create_qp(pd, &attr));
}

static void to_state(struct ibv_qp *qp, enum ibv_qp_state state)
{
	struct ibv_qp_attr attr = { .qp_state = state,
				    .port_num = PORT,
				    .qp_access_flags = ACCESS };
	int mask = IBV_QP_STATE;

	if (state == IBV_QPS_INIT)
		mask |= IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS;
	MUST(ibv_modify_qp(qp, &attr, mask));
}

static void connect_to(struct ibv_qp *qp, const struct ibv_qp *peer, uint8_t rnr_retry)
{
	struct ibv_qp_attr rtr = { .qp_state = IBV_QPS_RTR,
				   .path_mtu = IBV_MTU_1024,
				   .dest_qp_num = peer->qp_num,
				   .max_dest_rd_atomic = 1,
				   .min_rnr_timer = 1,
				   .ah_attr = { .dlid = port.lid, .port_num = PORT } };
	struct ibv_qp_attr rts = { .qp_state = IBV_QPS_RTS,
				   .timeout = 8,
				   .retry_cnt = 2,
				   .rnr_retry = rnr_retry,
				   .max_rd_atomic = 1 };

	if (!port.lid) {
		rtr.ah_attr.is_global = 1;
		rtr.ah_attr.grh.hop_limit = 1;
		MUST(ibv_query_gid(context, PORT, 0, &rtr.ah_attr.grh.dgid));
	}
	to_state(qp, IBV_QPS_INIT);
	MUST(ibv_modify_qp(qp, &rtr,
			   IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
				   IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
				   IBV_QP_MIN_RNR_TIMER));
	MUST(ibv_modify_qp(qp, &rts,
			   IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
				   IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC));
}

static struct pair make_pair(uint8_t rnr_retry, struct ibv_srq *srq)
{
	struct pair p = { create_qp(cqs[0], NULL), create_qp(cqs[1], srq) };

	connect_to(p.a, p.b, rnr_retry);
	connect_to(p.b, p.a, rnr_retry);
	return p;
}

static void drop_pair(struct pair p)
{
	MUST(ibv_destroy_qp(p.a));
	MUST(ibv_destroy_qp(p.b));
}

static int post_one(struct ibv_qp *qp, enum ibv_wr_opcode opcode, uint32_t lkey, uint32_t rkey,
		    uint32_t length, unsigned int flags)
{
	struct ibv_sge sge = { (uintptr_t)memory, length, lkey };
	struct ibv_send_wr *bad, wr = { .wr_id = length,
					.sg_list = &sge,
					.num_sge = 1,
					.opcode = opcode,
					.send_flags = flags };

	wr.imm_data = htobe32(77);
	wr.wr.rdma.remote_addr = (uintptr_t)memory + 65536;
	wr.wr.rdma.rkey = rkey;
	return ibv_post_send(qp, &wr, &bad);
}

static int send_one(struct ibv_qp *qp, uint32_t length)
{
	return post_one(qp, IBV_WR_SEND, all->lkey, 0, length, IBV_SEND_SIGNALED);
}

static void post_receives(struct ibv_qp *qp, struct ibv_srq *srq, int n)
{
	struct ibv_sge sge = { (uintptr_t)memory + 4096, 4096, all->lkey };

	for (int i = 0; i < n; i++) {
		struct ibv_recv_wr *bad,
			wr = { .wr_id = 1000 + (uint64_t)i, .sg_list = &sge, .num_sge = 1 };

		MUST(srq ? ibv_post_srq_recv(srq, &wr, &bad) : ibv_post_recv(qp, &wr, &bad));
	}
}

static void expect_error(int which, const char *what, enum ibv_wc_status status)
{
	struct ibv_wc wc;
	int n = 0;

	while (!n)
		n = ibv_poll_cq(cqs[which], 1, &wc);
	if (n > 0 && wc.status == status)
		return;
	fprintf(stderr, "%s: %s\n", what, n < 0 ? "poll failed" : ibv_wc_status_str(wc.status));
	exit(1);
}

static void *post_loop(void *qp)
{
	for (int i = 0; i < EACH; i++) {
		MUST(send_one(qp, 64));
		usleep(10);
	}
	return NULL;
}

static void two_threads_post(void)
{
	struct pair p = make_pair(7, NULL);
	pthread_t threads[2];

	post_receives(p.b, NULL, 2 * EACH);
	for (int i = 0; i < 2; i++)
		MUST(pthread_create(&threads[i], NULL, post_loop, p.a));
	for (int i = 0; i < 2 * EACH; i++) {
		expect_error(0, "send", IBV_WC_SUCCESS);
		expect_error(1, "receive", IBV_WC_SUCCESS);
	}
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	drop_pair(p);
}

static void write_and_fail_and_start_again(void)
{
	struct pair p = make_pair(7, NULL);

	post_receives(p.b, NULL, 2);
	MUST(post_one(p.a, IBV_WR_RDMA_WRITE_WITH_IMM, all->lkey, small->rkey, 500,
		      IBV_SEND_SIGNALED));
	expect_error(0, "write", IBV_WC_SUCCESS);
	expect_error(1, "immediate", IBV_WC_SUCCESS);
	MUST(post_one(p.a, IBV_WR_RDMA_WRITE, all->lkey, small->rkey, 6000, IBV_SEND_SIGNALED));
	expect_error(0, "write beyond the region", IBV_WC_REM_ACCESS_ERR);
	MUST(send_one(p.a, 10));
	expect_error(0, "send after an error", IBV_WC_WR_FLUSH_ERR);
	to_state(p.a, IBV_QPS_RESET);
	to_state(p.b, IBV_QPS_RESET);
	connect_to(p.a, p.b, 7);
	connect_to(p.b, p.a, 7);
	MUST(post_one(p.a, IBV_WR_RDMA_WRITE, all->lkey, 0xabcd, 10, IBV_SEND_SIGNALED));
	expect_error(0, "write with a wrong key", IBV_WC_REM_ACCESS_ERR);
	drop_pair(p);
}

static void nobody_receives(void)
{
	struct pair p = make_pair(0, NULL);

	MUST(send_one(p.a, 10));
	expect_error(0, "send without a receive", IBV_WC_RNR_RETRY_EXC_ERR);
	drop_pair(p);
	p = make_pair(7, NULL);
	MUST(ibv_destroy_qp(p.b));
	MUST(send_one(p.a, 10));
	expect_error(0, "send to nobody", IBV_WC_RETRY_EXC_ERR);
	MUST(ibv_destroy_qp(p.a));
}

static void four_share_a_queue(void)
{
	struct ibv_srq_init_attr init = { .attr = { .max_wr = 64, .max_sge = 1 } };
	struct ibv_srq *srq = NEED(ibv_create_srq(pd, &init));
	struct ibv_srq_attr limit = { .srq_limit = 10 };
	struct ibv_async_event event;
	struct pair p[4];

	for (int i = 0; i < 4; i++)
		p[i] = make_pair(7, srq);
	post_receives(NULL, srq, 32);
	MUST(ibv_modify_srq(srq, &limit, IBV_SRQ_LIMIT));
	for (int i = 0; i < 28; i++) {
		MUST(send_one(p[i % 4].a, 100));
		expect_error(0, "send", IBV_WC_SUCCESS);
		expect_error(1, "receive", IBV_WC_SUCCESS);
	}
	MUST(ibv_get_async_event(context, &event));
	NEED(event.event_type == IBV_EVENT_SRQ_LIMIT_REACHED);
	ibv_ack_async_event(&event);
	for (int i = 0; i < 4; i++) {
		post_receives(p[i].a, NULL, 1);
		to_state(p[i].a, IBV_QPS_ERR);
		expect_error(0, "receive after an error", IBV_WC_WR_FLUSH_ERR);
		drop_pair(p[i]);
	}
	MUST(ibv_destroy_srq(srq));
}

/* Arguments that no device accepts, and one that all ignore. */
static void try_refusals(void)
{
	struct ibv_ah_attr nowhere = { .port_num = PORT, .dlid = 0 };
	struct ibv_port_attr attr;

	NEED(!ibv_create_cq(context, 10, NULL, NULL, context->num_comp_vectors + 8));
	NEED(ibv_query_port(context, PORT + 10, &attr));
	if (port.link_layer == IBV_LINK_LAYER_ETHERNET)
		NEED(!ibv_create_ah(pd, &nowhere));
	MUST(ibv_rereg_mr(small, IBV_REREG_MR_CHANGE_ACCESS, (struct ibv_pd *)0x70, NULL, 0,
			  ACCESS));
}

/* Objects of a context are destroyed with it. */
static void close_with_objects(struct ibv_device *device)
{
	struct ibv_context *other = NEED(ibv_open_device(device));
	struct ibv_pd *its = NEED(ibv_alloc_pd(other));

	NEED(ibv_reg_mr(its, memory, 4096, ACCESS));
	NEED(ibv_create_cq(other, 10, NULL, NEED(ibv_create_comp_channel(other)), 0));
	MUST(ibv_close_device(other));
}

int main(void)
{
	struct ibv_device **list = NEED(ibv_get_device_list(NULL));

	context = NEED(ibv_open_device(NEED(list[0])));
	close_with_objects(list[0]);
	ibv_free_device_list(list);
	pd = NEED(ibv_alloc_pd(context));
	MUST(ibv_query_port(context, PORT, &port));
	for (int i = 0; i < 2; i++)
		cqs[i] = NEED(ibv_create_cq(context, 2000, NULL, NULL, 0));
	all = NEED(ibv_reg_mr(pd, memory, sizeof(memory), ACCESS));
	small = NEED(ibv_reg_mr(pd, memory + 65536, 5000, ACCESS));
	NEED(!ibv_reg_mr(pd, memory, 100, IBV_ACCESS_REMOTE_WRITE));
	NEED(ibv_dealloc_pd(pd));
	try_refusals();
	two_threads_post();
	write_and_fail_and_start_again();
	nobody_receives();
	four_share_a_queue();
	return 0; /* regions, queues and context are left to the kernel */
}
