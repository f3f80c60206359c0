#include <poll.h>
#include <pthread.h>
#include <stdbool.h>

#include "tests/shim/soft/pair.h"
#include "tests/test.h"

/* A pair whose second end receives from a shared queue of DEPTH. */
enum { DEPTH = 4 };

struct shared {
	struct pair p;
	struct ibv_srq *srq;
};

static struct ibv_srq *make_srq(struct end *e, uint32_t max_wr)
{
	struct ibv_srq_init_attr init = { .attr = { max_wr, 1, 0 } };
	struct ibv_srq *srq = ibv_create_srq(e->pd, &init);

	assert_non_null(srq);
	return srq;
}

static int set_up(void **state)
{
	struct shared *s = calloc(1, sizeof(*s));

	end_open(&s->p.a);
	end_open(&s->p.b);
	s->srq = make_srq(&s->p.b, DEPTH);
	assert_int_equal(ibv_destroy_qp(s->p.b.qp), 0);
	s->p.b.qp = make_qp(&s->p.b, s->srq);
	connect_to(s->p.a.qp, s->p.b.qp->qp_num);
	connect_to(s->p.b.qp, s->p.a.qp->qp_num);
	*state = s;
	return 0;
}

static int tear_down(void **state)
{
	struct shared *s = *state;

	assert_int_equal(ibv_destroy_qp(s->p.b.qp), 0);
	s->p.b.qp = NULL;
	assert_int_equal(ibv_destroy_srq(s->srq), 0);
	end_close(&s->p.a);
	end_close(&s->p.b);
	free(s);
	return 0;
}

static int post_recv(struct shared *s, uint64_t wr_id)
{
	struct ibv_sge sge = sge_of(&s->p.b, 64 * wr_id, 64);
	struct ibv_recv_wr wr = { .wr_id = wr_id, .sg_list = &sge, .num_sge = 1 };
	struct ibv_recv_wr *bad = NULL;
	int err = ibv_post_srq_recv(s->srq, &wr, &bad);

	assert_ptr_equal(bad, err ? &wr : NULL);
	return err;
}

static int modify_srq(struct shared *s, uint32_t max_wr, uint32_t limit, int mask)
{
	struct ibv_srq_attr attr = { .max_wr = max_wr, .srq_limit = limit };

	return ibv_modify_srq(s->srq, &attr, mask);
}

static struct ibv_srq_attr query_srq(struct shared *s)
{
	struct ibv_srq_attr attr;

	assert_int_equal(ibv_query_srq(s->srq, &attr), 0);
	return attr;
}

/* The byte @value must arrive in the buffer of request @wr_id. */
static void exchange_message(struct shared *s, uint64_t wr_id, uint8_t value)
{
	s->p.a.buf[0] = value;
	assert_int_equal(send_at(&s->p.a, 99, 0, 1), 0);
	expect_wc(s->p.a.cq, 99, IBV_WC_SUCCESS);
	expect_wc(s->p.b.cq, wr_id, IBV_WC_SUCCESS);
	assert_int_equal(s->p.b.buf[64 * wr_id], value);
}

GROUP(fabric_setup, fabric_teardown);
FIXTURE(set_up, tear_down);

TEST(requests_are_taken_in_the_order_of_posts)
{
	struct shared *s = *state;
	uint64_t n;

	for (n = 0; n < 3; n++)
		assert_int_equal(post_recv(s, n % 16), 0);
	/* often enough to go around it many times */
	for (n = 0; n < 50; n++) {
		exchange_message(s, n % 16, n);
		assert_int_equal(post_recv(s, (n + 3) % 16), 0);
	}
}

TEST(full_queue_is_enomem)
{
	struct shared *s = *state;
	uint64_t n;

	for (n = 0; n < DEPTH; n++)
		assert_int_equal(post_recv(s, n), 0);
	assert_int_equal(post_recv(s, 9), ENOMEM);
	exchange_message(s, 0, 1);
	assert_int_equal(post_recv(s, 9), 0);
	assert_int_equal(post_recv(s, 9), ENOMEM);
}

/* As long as its completion was not polled, a request has its place. */
TEST(place_is_free_when_its_completion_was_polled)
{
	struct shared *s = *state;
	uint64_t n;

	for (n = 0; n < DEPTH; n++)
		assert_int_equal(post_recv(s, n), 0);
	assert_int_equal(send_at(&s->p.a, 1, 0, 1), 0);
	expect_wc(s->p.a.cq, 1, IBV_WC_SUCCESS);
	assert_int_equal(post_recv(s, 9), ENOMEM);
	expect_wc(s->p.b.cq, 0, IBV_WC_SUCCESS);
	assert_int_equal(post_recv(s, 9), 0);
}

TEST(list_stops_at_the_one_that_does_not_fit)
{
	struct shared *s = *state;
	struct ibv_recv_wr wr[DEPTH + 2], *bad = NULL;
	struct ibv_sge sge = sge_of(&s->p.b, 0, 64);
	int n;

	for (n = 0; n < DEPTH + 2; n++)
		wr[n] = (struct ibv_recv_wr){ n, n < DEPTH + 1 ? &wr[n + 1] : NULL, &sge, 1 };
	assert_int_equal(ibv_post_srq_recv(s->srq, wr, &bad), ENOMEM);
	assert_ptr_equal(bad, &wr[DEPTH]);
	exchange_message(s, 0, 1);
}

/* The requested size of its own receive queue is ignored, however large: ibv_create_qp(3). */
TEST(queue_pair_ignores_room_of_its_own)
{
	struct shared *s = *state;
	struct ibv_qp_init_attr attr = {
		.send_cq = s->p.b.cq,
		.recv_cq = s->p.b.cq,
		.srq = s->srq,
		.qp_type = IBV_QPT_RC,
		.cap = { 1, UINT32_MAX, 1, UINT32_MAX, 0 },
	}, got;
	struct ibv_qp_attr now;
	struct ibv_qp *qp = ibv_create_qp(s->p.b.pd, &attr);

	assert_non_null(qp);
	assert_int_equal(attr.cap.max_recv_wr, UINT32_MAX);
	assert_int_equal(attr.cap.max_recv_sge, UINT32_MAX);
	assert_int_equal(ibv_query_qp(qp, &now, IBV_QP_CAP, &got), 0);
	assert_int_equal(got.cap.max_recv_wr, 0);
	assert_int_equal(now.cap.max_recv_sge, 0);
	assert_int_equal(ibv_destroy_qp(qp), 0);
	attr.srq = NULL;
	assert_null(ibv_create_qp(s->p.b.pd, &attr));
}

/* As providers of hardware, and Soft-RoCE. */
TEST(basic_queue_ignores_what_others_need)
{
	struct shared *s = *state;
	struct ibv_srq_init_attr_ex attr = {
		.attr = { DEPTH, 1, 0 },
		.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD |
			     IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ | IBV_SRQ_INIT_ATTR_TM,
		.srq_type = IBV_SRQT_BASIC,
		.pd = s->p.b.pd,
		.cq = s->p.b.cq,
	};
	struct ibv_srq *srq = ibv_create_srq_ex(s->p.b.context, &attr);

	assert_non_null(srq);
	assert_int_equal(ibv_destroy_srq(srq), 0);
	attr.comp_mask |= IBV_SRQ_INIT_ATTR_RESERVED;
	assert_null(ibv_create_srq_ex(s->p.b.context, &attr));
	assert_int_equal(errno, EOPNOTSUPP);
}

TEST(too_many_sges_are_einval)
{
	struct shared *s = *state;
	struct ibv_sge sge[2] = { sge_of(&s->p.b, 0, 1), sge_of(&s->p.b, 1, 1) };
	struct ibv_recv_wr wr = { .sg_list = sge, .num_sge = 2 }, *bad;

	assert_int_equal(ibv_post_srq_recv(s->srq, &wr, &bad), EINVAL);
	assert_ptr_equal(bad, &wr);
}

TEST(grows_with_requests_outstanding)
{
	struct shared *s = *state;
	uint64_t n;

	/* the ring has wrapped, and one request is taken but not polled */
	assert_int_equal(post_recv(s, 0), 0);
	exchange_message(s, 0, 7);
	for (n = 1; n <= DEPTH; n++)
		assert_int_equal(post_recv(s, n), 0);
	s->p.a.buf[0] = 77;
	assert_int_equal(send_at(&s->p.a, 1, 0, 1), 0);
	expect_wc(s->p.a.cq, 1, IBV_WC_SUCCESS);
	assert_int_equal(modify_srq(s, 100, 0, IBV_SRQ_MAX_WR), 0);
	assert_int_equal(query_srq(s).max_wr, 100);
	for (; n <= 100; n++)
		assert_int_equal(post_recv(s, n), 0);
	assert_int_equal(post_recv(s, n), ENOMEM);
	expect_wc(s->p.b.cq, 1, IBV_WC_SUCCESS);
	assert_int_equal(s->p.b.buf[64], 77);
	for (n = 2; n <= 100; n++)
		exchange_message(s, n, n);
}

enum { MESSAGES = 3000 };

/* The first four bytes of each message are its number. */
static void *send_all(void *arg)
{
	struct shared *s = arg;
	uint32_t n;

	for (n = 0; n < MESSAGES; n++) {
		memcpy(s->p.a.buf, &n, sizeof(n));
		assert_int_equal(send_at(&s->p.a, n, 0, sizeof(n)), 0);
		expect_wc(s->p.a.cq, n, IBV_WC_SUCCESS);
	}
	return NULL;
}

TEST(grows_beneath_traffic)
{
	struct shared *s = *state;
	struct ibv_wc wc;
	pthread_t thread;
	uint32_t n, got;

	for (n = 0; n < DEPTH; n++)
		assert_int_equal(post_recv(s, n), 0);
	pthread_create(&thread, NULL, send_all, s);
	for (n = 0; n < MESSAGES; n++) {
		if (n % 10 == 0)
			assert_int_equal(modify_srq(s, DEPTH + n / 2, 0, IBV_SRQ_MAX_WR), 0);
		wc = expect_wc(s->p.b.cq, n % DEPTH, IBV_WC_SUCCESS);
		memcpy(&got, s->p.b.buf + 64 * wc.wr_id, sizeof(got));
		assert_int_equal(got, n);
		assert_int_equal(post_recv(s, wc.wr_id), 0);
	}
	pthread_join(thread, NULL);
	assert_int_equal(query_srq(s).max_wr, DEPTH + (MESSAGES - 10) / 2);
}

TEST(shrinks_to_what_is_outstanding)
{
	struct shared *s = *state;

	assert_int_equal(post_recv(s, 0), 0);
	assert_int_equal(post_recv(s, 1), 0);
	assert_int_equal(post_recv(s, 2), 0);
	assert_int_equal(modify_srq(s, 2, 0, IBV_SRQ_MAX_WR), EINVAL);
	assert_int_equal(query_srq(s).max_wr, DEPTH);
	assert_int_equal(modify_srq(s, 3, 0, IBV_SRQ_MAX_WR), 0);
	assert_int_equal(query_srq(s).max_wr, 3);
	assert_int_equal(post_recv(s, 3), ENOMEM);
	exchange_message(s, 0, 1);
	assert_int_equal(post_recv(s, 3), 0);
}

TEST(sizes_are_checked)
{
	struct shared *s = *state;

	assert_int_equal(modify_srq(s, 0, 0, IBV_SRQ_MAX_WR), EINVAL);
	assert_int_equal(modify_srq(s, 1 << 30, 0, IBV_SRQ_MAX_WR), EINVAL);
	assert_int_equal(modify_srq(s, 0, DEPTH + 1, IBV_SRQ_LIMIT), EINVAL);
	assert_int_equal(modify_srq(s, 0, 0, 1 << 7), EINVAL);
	/* none of the attributes, if one is invalid */
	assert_int_equal(modify_srq(s, 8, 9, IBV_SRQ_MAX_WR | IBV_SRQ_LIMIT), EINVAL);
	assert_int_equal(query_srq(s).max_wr, DEPTH);
	assert_int_equal(modify_srq(s, 8, 8, IBV_SRQ_MAX_WR | IBV_SRQ_LIMIT), 0);
	/* a queue must not become smaller than its limit: it is no longer armed */
	assert_int_equal(modify_srq(s, 2, 0, IBV_SRQ_MAX_WR), 0);
	assert_int_equal(modify_srq(s, 0, 0, 0), 0);
}

static bool has_event(struct shared *s)
{
	struct pollfd pfd = { .fd = s->p.b.context->async_fd, .events = POLLIN };

	return poll(&pfd, 1, 0) == 1;
}

static void expect_limit(struct shared *s)
{
	struct ibv_async_event event;

	assert_true(has_event(s));
	assert_int_equal(ibv_get_async_event(s->p.b.context, &event), 0);
	assert_int_equal(event.event_type, IBV_EVENT_SRQ_LIMIT_REACHED);
	assert_ptr_equal(event.element.srq, s->srq);
	ibv_ack_async_event(&event);
	assert_false(has_event(s));
}

TEST(limit_fires_once_and_is_armed_again)
{
	struct shared *s = *state;
	uint64_t n;

	for (n = 0; n < DEPTH; n++)
		assert_int_equal(post_recv(s, n), 0);
	assert_int_equal(modify_srq(s, 0, 3, IBV_SRQ_LIMIT), 0);
	assert_int_equal(query_srq(s).srq_limit, 3);
	exchange_message(s, 0, 1); /* three are left */
	assert_false(has_event(s));
	exchange_message(s, 1, 1);
	expect_limit(s);
	assert_int_equal(query_srq(s).srq_limit, 0);
	exchange_message(s, 2, 1);
	assert_false(has_event(s));
	for (n = 0; n < 3; n++)
		assert_int_equal(post_recv(s, n), 0);
	assert_int_equal(modify_srq(s, 0, 4, IBV_SRQ_LIMIT), 0);
	exchange_message(s, 3, 1);
	expect_limit(s);
}

TEST(limit_above_the_count_fires_at_once)
{
	struct shared *s = *state;

	assert_int_equal(post_recv(s, 0), 0);
	assert_int_equal(modify_srq(s, 0, 2, IBV_SRQ_LIMIT), 0);
	expect_limit(s);
	assert_int_equal(query_srq(s).srq_limit, 0);
}

TEST(limit_of_zero_disarms)
{
	struct shared *s = *state;

	assert_int_equal(post_recv(s, 0), 0);
	assert_int_equal(modify_srq(s, 0, 1, IBV_SRQ_LIMIT), 0);
	assert_int_equal(modify_srq(s, 0, 0, IBV_SRQ_LIMIT), 0);
	exchange_message(s, 0, 1);
	assert_false(has_event(s));
}

TEST(queue_in_use_is_ebusy)
{
	struct shared *s = *state;

	assert_int_equal(ibv_destroy_srq(s->srq), EBUSY);
	assert_int_equal(ibv_dealloc_pd(s->p.b.pd), EBUSY);
}

TEST(creation_checks_its_sizes)
{
	struct shared *s = *state;
	struct ibv_srq_init_attr init = { .attr = { 0, 1, 0 } };

	errno = 0;
	assert_null(ibv_create_srq(s->p.b.pd, &init));
	assert_int_equal(errno, EINVAL);
	init.attr.max_wr = 1 << 30;
	assert_null(ibv_create_srq(s->p.b.pd, &init));
	init.attr = (struct ibv_srq_attr){ 1, 1 << 20, 0 };
	assert_null(ibv_create_srq(s->p.b.pd, &init));
}
