#include <pthread.h>
#include <sched.h>

#include "tests/shim/soft/pair.h"
#include "tests/test.h"

enum { MESSAGES = 2000, PAIRS = 3 };

/* Asserts jump, so threads only count. */
struct half {
	struct end *e;
	struct ibv_qp *qp;
	uint32_t off; /* its own part of the buffers */
	unsigned int done;
	unsigned int failed;
};

static void *receive_messages(void *arg)
{
	struct half *h = arg;
	struct ibv_sge sge = sge_of(h->e, h->off, 64);
	struct ibv_recv_wr wr = { .sg_list = &sge, .num_sge = 1 }, *bad;
	unsigned int i;

	for (i = 0; i < MESSAGES; i++)
		while (ibv_post_recv(h->qp, &wr, &bad))
			sched_yield();
	return NULL;
}

static void *send_all(void *arg)
{
	struct half *h = arg;
	struct ibv_sge sge = sge_of(h->e, h->off + 2048, 64);
	struct ibv_send_wr wr = { .sg_list = &sge,
				  .num_sge = 1,
				  .opcode = IBV_WR_SEND,
				  .send_flags = IBV_SEND_SIGNALED },
			   *bad;
	unsigned int i;

	for (i = 0; i < MESSAGES; i++)
		while (ibv_post_send(h->qp, &wr, &bad))
			sched_yield();
	return NULL;
}

static void *poll_all(void *arg)
{
	struct half *h = arg;
	struct ibv_wc wc[4];
	int i, n;

	while (h->done < PAIRS * MESSAGES) {
		n = ibv_poll_cq(h->e->cq, 4, wc);
		for (i = 0; i < n; i++)
			h->failed += wc[i].status != IBV_WC_SUCCESS;
		h->done += n;
		if (!n)
			sched_yield();
	}
	return NULL;
}

static void patient_rts(struct ibv_qp *qp)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTS, .timeout = 14, .retry_cnt = 7, .rnr_retry = 7
	};

	assert_int_equal(ibv_modify_qp(qp, &attr,
				       IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
					       IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
					       IBV_QP_MAX_QP_RD_ATOMIC),
			 0);
}

static void join_qps(struct ibv_qp *a, struct ibv_qp *b)
{
	assert_int_equal(to_init(a, ALL_ACCESS), 0);
	assert_int_equal(to_rtr(a, b->qp_num), 0);
	patient_rts(a);
}

GROUP(fabric_setup, fabric_teardown);
FIXTURE(pair_setup, pair_teardown);

TEST(many_threads_share_two_queues)
{
	struct pair *p = *state;
	struct half a[PAIRS] = { 0 }, b[PAIRS] = { 0 };
	struct half pa = { .e = &p->a }, pb = { .e = &p->b };
	pthread_t threads[2 * PAIRS + 2];
	unsigned int i, n = 0;

	for (i = 0; i < PAIRS; i++) {
		a[i] = (struct half){ .e = &p->a, .off = 64 * i, .qp = make_qp(&p->a, NULL) };
		b[i] = (struct half){ .e = &p->b, .off = 64 * i, .qp = make_qp(&p->b, NULL) };
		join_qps(a[i].qp, b[i].qp);
		join_qps(b[i].qp, a[i].qp);
	}
	for (i = 0; i < PAIRS; i++) {
		pthread_create(&threads[n++], NULL, receive_messages, &b[i]);
		pthread_create(&threads[n++], NULL, send_all, &a[i]);
	}
	pthread_create(&threads[n++], NULL, poll_all, &pa);
	pthread_create(&threads[n++], NULL, poll_all, &pb);
	while (n)
		pthread_join(threads[--n], NULL);
	assert_int_equal(pa.failed + pb.failed, 0);
	for (i = 0; i < PAIRS; i++) {
		ibv_destroy_qp(a[i].qp);
		ibv_destroy_qp(b[i].qp);
	}
}

static void *register_often(void *arg)
{
	struct end *e = arg;
	struct ibv_mr *mr;
	int i;

	for (i = 0; i < 300; i++) {
		mr = ibv_reg_mr(e->pd, e->buf + 4096, 100, ALL_ACCESS);
		ibv_dereg_mr(mr);
	}
	return NULL;
}

static void *make_often(void *arg)
{
	struct end *e = arg;
	struct ibv_qp_init_attr attr = {
		.send_cq = e->cq, .recv_cq = e->cq, .qp_type = IBV_QPT_RC, .cap = { 1, 1, 1, 1, 0 }
	};
	int i;

	for (i = 0; i < 100; i++)
		ibv_destroy_qp(ibv_create_qp(e->pd, &attr));
	return NULL;
}

TEST(objects_come_and_go_beside_traffic)
{
	struct pair *p = *state;
	pthread_t threads[3];
	int i;

	pthread_create(&threads[0], NULL, register_often, &p->a);
	pthread_create(&threads[1], NULL, register_often, &p->b);
	pthread_create(&threads[2], NULL, make_often, &p->b);
	for (i = 0; i < 1000; i++) {
		assert_int_equal(recv_at(&p->b, i, 0, 8), 0);
		assert_int_equal(send_at(&p->a, i, 0, 8), 0);
		expect_wc(p->a.cq, i, IBV_WC_SUCCESS);
		expect_wc(p->b.cq, i, IBV_WC_SUCCESS);
	}
	for (i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
}

/* The thread that waits for it meets posts, polls and the end. */
TEST(queue_pairs_die_while_they_wait)
{
	struct pair *p = *state;
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND }, *bad;
	struct ibv_qp *qp;
	int i;

	for (i = 0; i < 50; i++) {
		qp = make_qp(&p->a, NULL);
		connect_to(qp, p->b.qp->qp_num);
		assert_int_equal(ibv_post_send(qp, &wr, &bad), 0);
		if (i % 2)
			usleep(300);
		assert_int_equal(ibv_destroy_qp(qp), 0);
	}
}
