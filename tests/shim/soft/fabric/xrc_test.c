#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "tests/shim/soft/pair.h"
#include "tests/test.h"

/*
 * A sender and a receiver, connected, with a shared queue in the receiver's
 * domain, which is that of a file.
 */
struct xrc {
	struct end a, b;
	int fd;
	struct ibv_xrcd *xrcd;
	struct ibv_srq *srq;
	struct ibv_qp *send, *recv;
	uint32_t srqn;
	bool done;
};

enum {
	FD_AND_FLAGS = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS,
	OF_XRC = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD | IBV_SRQ_INIT_ATTR_XRCD |
		 IBV_SRQ_INIT_ATTR_CQ,
};

static struct ibv_xrcd *open_domain(struct end *e, int fd, int oflags)
{
	struct ibv_xrcd_init_attr attr = { FD_AND_FLAGS, fd, oflags };

	errno = 0;
	return ibv_open_xrcd(e->context, &attr);
}

static int open_temporary(void)
{
	char path[] = "/tmp/verbatim-xrc-test.XXXXXX";
	int fd = mkstemp(path);

	assert_true(fd >= 0);
	unlink(path);
	return fd;
}

static struct ibv_srq *make_srq(struct end *e, struct ibv_xrcd *xrcd, struct ibv_cq *cq)
{
	struct ibv_srq_init_attr_ex attr = {
		.attr = { END_DEPTH, 1, 0 },
		.comp_mask = OF_XRC,
		.srq_type = IBV_SRQT_XRC,
		.pd = e->pd,
		.xrcd = xrcd,
		.cq = cq,
	};
	struct ibv_srq *srq = ibv_create_srq_ex(e->context, &attr);

	assert_non_null(srq);
	return srq;
}

static uint32_t number_of(struct ibv_srq *srq)
{
	uint32_t n = 0;

	assert_int_equal(ibv_get_srq_num(srq, &n), 0);
	return n;
}

static struct ibv_qp *make_recv(struct end *e, struct ibv_xrcd *xrcd)
{
	struct ibv_qp_init_attr_ex attr = {
		.qp_context = e,
		.qp_type = IBV_QPT_XRC_RECV,
		.comp_mask = IBV_QP_INIT_ATTR_XRCD,
		.xrcd = xrcd,
	};
	struct ibv_qp *qp = ibv_create_qp_ex(e->context, &attr);

	assert_non_null(qp);
	return qp;
}

static struct ibv_qp *make_send(struct end *e)
{
	struct ibv_qp_init_attr attr = {
		.send_cq = e->cq,
		.qp_type = IBV_QPT_XRC_SEND,
		.cap = { END_DEPTH, 0, 4, 0, 64 },
	};
	struct ibv_qp *qp = ibv_create_qp(e->pd, &attr);

	assert_non_null(qp);
	return qp;
}

static int send_to_rtr(struct ibv_qp *qp, uint32_t dest)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTR,
		.path_mtu = IBV_MTU_1024,
		.dest_qp_num = dest,
		.ah_attr = { .dlid = 1, .port_num = 1 },
	};

	return ibv_modify_qp(qp, &attr,
			     IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
				     IBV_QP_RQ_PSN);
}

static void connect_send(struct ibv_qp *qp, uint32_t dest)
{
	assert_int_equal(to_init(qp, 0), 0);
	assert_int_equal(send_to_rtr(qp, dest), 0);
	assert_int_equal(to_rts_with(qp, 7), 0);
}

static void connect_recv(struct ibv_qp *qp, uint32_t source)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTS, .timeout = 8 };

	assert_int_equal(to_init(qp, ALL_ACCESS), 0);
	assert_int_equal(to_rtr(qp, source), 0);
	assert_int_equal(ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_SQ_PSN),
			 0);
}

static int set_up(void **state)
{
	struct xrc *x = calloc(1, sizeof(*x));

	end_open(&x->a);
	end_open(&x->b);
	x->fd = open_temporary();
	x->xrcd = open_domain(&x->b, x->fd, O_CREAT);
	assert_non_null(x->xrcd);
	x->srq = make_srq(&x->b, x->xrcd, x->b.cq);
	x->recv = make_recv(&x->b, x->xrcd);
	x->send = make_send(&x->a);
	connect_send(x->send, x->recv->qp_num);
	connect_recv(x->recv, x->send->qp_num);
	*state = x;
	return 0;
}

static int tear_down(void **state)
{
	struct xrc *x = *state;

	assert_int_equal(ibv_destroy_qp(x->send), 0);
	if (x->recv)
		assert_int_equal(ibv_destroy_qp(x->recv), 0);
	if (x->srq)
		assert_int_equal(ibv_destroy_srq(x->srq), 0);
	assert_int_equal(ibv_close_xrcd(x->xrcd), 0);
	close(x->fd);
	end_close(&x->a);
	end_close(&x->b);
	free(x);
	return 0;
}

static int post_to(struct ibv_srq *srq, struct end *e, uint64_t wr_id, uint32_t off, uint32_t len)
{
	struct ibv_sge sge = sge_of(e, off, len);
	struct ibv_recv_wr wr = { .wr_id = wr_id, .sg_list = &sge, .num_sge = 1 };
	struct ibv_recv_wr *bad;

	return ibv_post_srq_recv(srq, &wr, &bad);
}

static int post_recv(struct xrc *x, uint64_t wr_id, uint32_t len)
{
	return post_to(x->srq, &x->b, wr_id, 0, len);
}

static int send_with(struct xrc *x, struct ibv_send_wr wr, uint32_t len, uint32_t srqn)
{
	struct ibv_sge sge = sge_of(&x->a, 0, len);
	struct ibv_send_wr *bad;

	wr.sg_list = &sge;
	wr.num_sge = 1;
	wr.send_flags |= IBV_SEND_SIGNALED;
	wr.qp_type.xrc.remote_srqn = srqn;
	return ibv_post_send(x->send, &wr, &bad);
}

static int send_to(struct xrc *x, uint64_t wr_id, uint32_t len, uint32_t srqn)
{
	return send_with(x, (struct ibv_send_wr){ .wr_id = wr_id, .opcode = IBV_WR_SEND }, len,
			 srqn);
}

static int post_rdma(struct xrc *x, enum ibv_wr_opcode opcode, uint32_t len, uint32_t off)
{
	struct ibv_send_wr wr = { .wr_id = 1, .opcode = opcode, .imm_data = 5 };

	if (opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		wr.wr.atomic.remote_addr = (uintptr_t)x->b.buf + off;
		wr.wr.atomic.rkey = x->b.mr->rkey;
		wr.wr.atomic.compare_add = 1;
	} else {
		wr.wr.rdma.remote_addr = (uintptr_t)x->b.buf + off;
		wr.wr.rdma.rkey = x->b.mr->rkey;
	}
	return send_with(x, wr, len, number_of(x->srq));
}

static void expect_event(struct end *e, int type, struct ibv_qp *qp)
{
	struct ibv_async_event event;

	assert_int_equal(ibv_get_async_event(e->context, &event), 0);
	ibv_ack_async_event(&event);
	assert_int_equal(event.event_type, type);
	if (qp)
		assert_ptr_equal(event.element.qp, qp);
}

static bool has_event(struct end *e)
{
	struct pollfd pfd = { .fd = e->context->async_fd, .events = POLLIN };

	return poll(&pfd, 1, 0) == 1;
}

/* The connection is broken; the holders of its end get the reason, and its end, as events. */
static void expect_broken(struct xrc *x, int event)
{
	assert_int_equal(state_of(x->send), IBV_QPS_ERR);
	assert_int_equal(state_of(x->recv), IBV_QPS_ERR);
	if (event >= 0)
		expect_event(&x->b, event, x->recv);
	expect_event(&x->b, IBV_EVENT_QP_LAST_WQE_REACHED, x->recv);
	assert_false(has_event(&x->b));
	/* the shared queue is for others, too: it is not flushed */
	expect_none(x->b.cq);
}

GROUP(fabric_setup, fabric_teardown);
FIXTURE(set_up, tear_down);

TEST(send_goes_to_the_shared_queue)
{
	struct xrc *x = *state;
	struct ibv_wc wc;

	assert_int_equal(post_recv(x, 7, 64), 0);
	memset(x->a.buf, 0x5a, 64);
	assert_int_equal(send_with(x,
				   (struct ibv_send_wr){ .wr_id = 3,
							 .opcode = IBV_WR_SEND_WITH_IMM,
							 .imm_data = 9 },
				   64, number_of(x->srq)),
			 0);
	expect_wc(x->a.cq, 3, IBV_WC_SUCCESS);
	wc = expect_wc(x->b.cq, 7, IBV_WC_SUCCESS);
	assert_int_equal(wc.opcode, IBV_WC_RECV);
	assert_int_equal(wc.byte_len, 64);
	assert_int_equal(wc.qp_num, x->recv->qp_num);
	assert_int_equal(wc.src_qp, x->send->qp_num);
	assert_int_equal(wc.wc_flags, IBV_WC_WITH_IMM);
	assert_int_equal(wc.imm_data, 9);
	assert_memory_equal(x->b.buf, x->a.buf, 64);
}

TEST(rdma_reaches_the_domain_of_the_shared_queue)
{
	struct xrc *x = *state;
	uint64_t *there = (uint64_t *)(x->b.buf + 512), *here = (void *)x->a.buf;

	*here = 42;
	assert_int_equal(post_rdma(x, IBV_WR_RDMA_WRITE, 8, 512), 0);
	expect_wc(x->a.cq, 1, IBV_WC_SUCCESS);
	assert_int_equal(*there, 42);
	assert_int_equal(post_rdma(x, IBV_WR_ATOMIC_FETCH_AND_ADD, 8, 512), 0);
	expect_wc(x->a.cq, 1, IBV_WC_SUCCESS);
	assert_int_equal(*there, 43);
	assert_int_equal(*here, 42);
	assert_int_equal(post_rdma(x, IBV_WR_RDMA_READ, 8, 512), 0);
	expect_wc(x->a.cq, 1, IBV_WC_SUCCESS);
	assert_int_equal(*here, 43);
}

TEST(write_with_imm_uses_a_request)
{
	struct xrc *x = *state;
	struct ibv_wc wc;

	assert_int_equal(post_recv(x, 7, 0), 0);
	x->a.buf[0] = 1;
	assert_int_equal(post_rdma(x, IBV_WR_RDMA_WRITE_WITH_IMM, 1, 100), 0);
	expect_wc(x->a.cq, 1, IBV_WC_SUCCESS);
	wc = expect_wc(x->b.cq, 7, IBV_WC_SUCCESS);
	assert_int_equal(wc.opcode, IBV_WC_RECV_RDMA_WITH_IMM);
	assert_int_equal(wc.imm_data, 5);
	assert_int_equal(x->b.buf[100], 1);
}

TEST(one_connection_serves_many_shared_queues)
{
	struct xrc *x = *state;
	struct ibv_srq *more = make_srq(&x->b, x->xrcd, x->a.cq == x->b.cq ? NULL : x->b.cq);
	int i;

	assert_int_not_equal(number_of(more), number_of(x->srq));
	for (i = 0; i < 3; i++) {
		assert_int_equal(post_recv(x, 1, 8), 0);
		assert_int_equal(post_to(more, &x->b, 2, 8, 8), 0);
		assert_int_equal(send_to(x, 3, 8, number_of(more)), 0);
		assert_int_equal(send_to(x, 4, 8, number_of(x->srq)), 0);
		expect_wc(x->b.cq, 2, IBV_WC_SUCCESS);
		expect_wc(x->b.cq, 1, IBV_WC_SUCCESS);
		expect_wc(x->a.cq, 3, IBV_WC_SUCCESS);
		expect_wc(x->a.cq, 4, IBV_WC_SUCCESS);
	}
	assert_int_equal(ibv_destroy_srq(more), 0);
}

TEST(sender_waits_for_a_request)
{
	struct xrc *x = *state;

	assert_int_equal(send_to(x, 3, 8, number_of(x->srq)), 0);
	expect_none(x->a.cq);
	assert_int_equal(post_recv(x, 7, 8), 0);
	expect_wc(x->a.cq, 3, IBV_WC_SUCCESS);
	expect_wc(x->b.cq, 7, IBV_WC_SUCCESS);
}

TEST(number_of_nobody_breaks_the_connection)
{
	struct xrc *x = *state;

	assert_int_equal(send_to(x, 3, 8, 0xabcdef), 0);
	expect_wc(x->a.cq, 3, IBV_WC_REM_INV_REQ_ERR);
	expect_broken(x, IBV_EVENT_QP_REQ_ERR);
}

TEST(number_of_the_dead_breaks_the_connection)
{
	struct xrc *x = *state;
	uint32_t number = number_of(x->srq);

	assert_int_equal(post_recv(x, 7, 8), 0);
	assert_int_equal(send_to(x, 3, 8, number), 0);
	expect_wc(x->a.cq, 3, IBV_WC_SUCCESS);
	assert_int_equal(ibv_destroy_srq(x->srq), 0);
	x->srq = NULL;
	expect_none(x->b.cq); /* the completion was removed with the queue pair */
	assert_int_equal(send_to(x, 4, 8, number), 0);
	expect_wc(x->a.cq, 4, IBV_WC_REM_INV_REQ_ERR);
	expect_broken(x, IBV_EVENT_QP_REQ_ERR);
}

TEST(shared_queue_of_another_domain_breaks_the_connection)
{
	struct xrc *x = *state;
	struct ibv_xrcd *xrcd = open_domain(&x->b, -1, O_CREAT);
	struct ibv_srq *srq = make_srq(&x->b, xrcd, x->b.cq);

	assert_int_equal(post_to(srq, &x->b, 1, 0, 8), 0);
	assert_int_equal(send_to(x, 3, 8, number_of(srq)), 0);
	expect_wc(x->a.cq, 3, IBV_WC_REM_INV_REQ_ERR);
	expect_broken(x, IBV_EVENT_QP_REQ_ERR);
	assert_int_equal(ibv_destroy_srq(srq), 0);
	assert_int_equal(ibv_close_xrcd(xrcd), 0);
}

TEST(send_too_long_fails_the_request_and_the_connection)
{
	struct xrc *x = *state;

	assert_int_equal(post_recv(x, 7, 8), 0);
	assert_int_equal(post_recv(x, 8, 8), 0);
	assert_int_equal(send_to(x, 3, 9, number_of(x->srq)), 0);
	expect_wc(x->a.cq, 3, IBV_WC_REM_INV_REQ_ERR);
	expect_wc(x->b.cq, 7, IBV_WC_LOC_LEN_ERR);
	expect_broken(x, -1);
}

TEST(wrong_key_breaks_the_connection)
{
	struct xrc *x = *state;

	x->b.mr->rkey ^= 0x10;
	assert_int_equal(post_rdma(x, IBV_WR_RDMA_WRITE, 8, 0), 0);
	expect_wc(x->a.cq, 1, IBV_WC_REM_ACCESS_ERR);
	expect_broken(x, IBV_EVENT_QP_ACCESS_ERR);
	x->b.mr->rkey ^= 0x10;
}

TEST(overrun_of_its_queue_fails_the_shared_queue)
{
	struct xrc *x = *state;
	struct ibv_cq *tiny = ibv_create_cq(x->b.context, 1, NULL, NULL, 0);
	struct ibv_srq *srq = make_srq(&x->b, x->xrcd, tiny);
	struct ibv_async_event event;

	assert_int_equal(ibv_destroy_cq(tiny), EBUSY);
	assert_int_equal(post_to(srq, &x->b, 1, 0, 8), 0);
	assert_int_equal(post_to(srq, &x->b, 2, 0, 8), 0);
	assert_int_equal(send_to(x, 3, 8, number_of(srq)), 0);
	assert_int_equal(send_to(x, 4, 8, number_of(srq)), 0);
	expect_wc(x->a.cq, 3, IBV_WC_SUCCESS);
	expect_wc(x->a.cq, 4, IBV_WC_REM_OP_ERR);
	expect_event(&x->b, IBV_EVENT_CQ_ERR, NULL);
	assert_int_equal(ibv_get_async_event(x->b.context, &event), 0);
	assert_int_equal(event.event_type, IBV_EVENT_SRQ_ERR);
	assert_ptr_equal(event.element.srq, srq);
	ibv_ack_async_event(&event);
	expect_broken(x, IBV_EVENT_QP_FATAL);
	assert_int_equal(ibv_destroy_srq(srq), 0);
	assert_int_equal(ibv_destroy_cq(tiny), 0);
}

TEST(limit_of_the_shared_queue_is_reported)
{
	struct xrc *x = *state;
	struct ibv_srq_attr limit = { .srq_limit = 1 };

	assert_int_equal(post_recv(x, 7, 8), 0);
	assert_int_equal(ibv_modify_srq(x->srq, &limit, IBV_SRQ_LIMIT), 0);
	assert_int_equal(send_to(x, 3, 8, number_of(x->srq)), 0);
	expect_wc(x->b.cq, 7, IBV_WC_SUCCESS);
	expect_event(&x->b, IBV_EVENT_SRQ_LIMIT_REACHED, NULL);
	expect_wc(x->a.cq, 3, IBV_WC_SUCCESS);
}

TEST(first_message_establishes)
{
	struct xrc *x = *state;

	assert_int_equal(to_state(x->recv, IBV_QPS_RESET), 0);
	assert_int_equal(to_init(x->recv, 0), 0);
	assert_int_equal(to_rtr(x->recv, x->send->qp_num), 0);
	assert_int_equal(post_recv(x, 7, 8), 0);
	assert_int_equal(send_to(x, 3, 8, number_of(x->srq)), 0);
	expect_wc(x->b.cq, 7, IBV_WC_SUCCESS);
	expect_event(&x->b, IBV_EVENT_COMM_EST, x->recv);
	expect_wc(x->a.cq, 3, IBV_WC_SUCCESS);
}

TEST(each_end_posts_what_is_its)
{
	struct xrc *x = *state;
	struct ibv_send_wr send = { .opcode = IBV_WR_SEND }, *bad_send;
	struct ibv_recv_wr recv = { .wr_id = 1 }, *bad_recv;

	assert_int_equal(ibv_post_recv(x->send, &recv, &bad_recv), EINVAL);
	assert_int_equal(ibv_post_recv(x->recv, &recv, &bad_recv), EINVAL);
	assert_int_equal(ibv_post_send(x->recv, &send, &bad_send), EINVAL);
}

TEST(reliable_connection_does_not_reach_it)
{
	struct xrc *x = *state;

	connect_to(x->a.qp, x->recv->qp_num);
	assert_int_equal(post_recv(x, 7, 8), 0);
	assert_int_equal(send_at(&x->a, 1, 0, 8), 0);
	expect_wc(x->a.cq, 1, IBV_WC_RETRY_EXC_ERR);
	expect_none(x->b.cq);
}

TEST(domain_of_a_file_is_one)
{
	struct xrc *x = *state;
	struct ibv_xrcd *again = open_domain(&x->a, x->fd, 0);
	struct ibv_srq *srq;

	assert_non_null(again);
	assert_ptr_not_equal(again, x->xrcd);
	srq = make_srq(&x->a, again, x->a.cq);
	assert_int_equal(post_to(srq, &x->a, 7, 64, 8), 0);
	assert_int_equal(send_to(x, 3, 8, number_of(srq)), 0);
	expect_wc(x->a.cq, 7, IBV_WC_SUCCESS);
	expect_wc(x->a.cq, 3, IBV_WC_SUCCESS);
	assert_int_equal(ibv_close_xrcd(again), EBUSY);
	assert_int_equal(ibv_destroy_srq(srq), 0);
	assert_int_equal(ibv_close_xrcd(again), 0);
}

TEST(flags_say_whether_a_domain_may_be_there)
{
	struct xrc *x = *state;
	struct ibv_xrcd *xrcd;
	int fd = open_temporary();

	assert_null(open_domain(&x->a, x->fd, O_CREAT | O_EXCL));
	assert_int_equal(errno, EINVAL);
	assert_null(open_domain(&x->a, fd, 0));
	assert_int_equal(errno, EAGAIN);
	xrcd = open_domain(&x->a, fd, O_CREAT | O_EXCL);
	assert_non_null(xrcd);
	assert_null(open_domain(&x->b, fd, O_CREAT | O_EXCL));
	assert_int_equal(ibv_close_xrcd(xrcd), 0);
	assert_null(open_domain(&x->b, fd, 0)); /* it was removed with its last user */
	assert_int_equal(errno, EAGAIN);
	assert_null(open_domain(&x->a, 12345, O_CREAT));
	assert_int_equal(errno, EBADF);
	assert_null(open_domain(&x->a, fd, O_CREAT | O_APPEND));
	assert_int_equal(errno, EINVAL);
	close(fd);
}

TEST(domain_needs_all_its_attributes)
{
	struct xrc *x = *state;
	struct ibv_xrcd_init_attr attr = { IBV_XRCD_INIT_ATTR_FD, -1, O_CREAT };

	assert_null(ibv_open_xrcd(x->a.context, &attr));
	assert_int_equal(errno, EINVAL);
	attr.comp_mask = FD_AND_FLAGS | IBV_XRCD_INIT_ATTR_RESERVED;
	assert_null(ibv_open_xrcd(x->a.context, &attr));
	assert_int_equal(errno, EOPNOTSUPP);
}

TEST(domain_in_use_is_ebusy)
{
	struct xrc *x = *state;
	struct ibv_xrcd *xrcd = open_domain(&x->a, -1, O_CREAT);
	struct ibv_qp *qp = make_recv(&x->a, xrcd);

	assert_int_equal(ibv_close_xrcd(xrcd), EBUSY);
	assert_int_equal(ibv_destroy_qp(qp), 0);
	assert_int_equal(ibv_close_xrcd(xrcd), 0);
	assert_int_equal(ibv_close_xrcd(x->xrcd), EBUSY);
}

TEST(objects_need_what_they_belong_to)
{
	struct xrc *x = *state;
	struct ibv_srq_init_attr_ex srq = {
		.attr = { 1, 1, 0 },
		.comp_mask = OF_XRC,
		.srq_type = IBV_SRQT_XRC,
		.pd = x->b.pd,
		.xrcd = x->xrcd,
	};
	struct ibv_qp_init_attr_ex recv = { .qp_type = IBV_QPT_XRC_RECV,
					    .comp_mask = IBV_QP_INIT_ATTR_PD,
					    .pd = x->b.pd };
	struct ibv_qp_init_attr send = { .qp_type = IBV_QPT_XRC_SEND };

	assert_null(ibv_create_srq_ex(x->b.context, &srq));
	assert_int_equal(errno, EINVAL);
	srq.comp_mask &= ~IBV_SRQ_INIT_ATTR_CQ;
	assert_null(ibv_create_srq_ex(x->b.context, &srq));
	assert_int_equal(errno, EINVAL);
	assert_null(ibv_create_qp_ex(x->b.context, &recv));
	assert_int_equal(errno, EINVAL);
	assert_null(ibv_create_qp(x->b.pd, &send));
	assert_int_equal(errno, EINVAL);
}

TEST(only_xrc_queues_have_numbers)
{
	struct xrc *x = *state;
	struct ibv_srq_init_attr init = { .attr = { 1, 1, 0 } };
	struct ibv_srq *srq = ibv_create_srq(x->b.pd, &init);
	uint32_t n;

	assert_int_equal(ibv_get_srq_num(srq, &n), EINVAL);
	assert_int_equal(ibv_destroy_srq(srq), 0);
}

static struct ibv_qp *open_recv(struct end *e, struct ibv_xrcd *xrcd, uint32_t qpn)
{
	struct ibv_qp_open_attr attr = {
		.comp_mask = IBV_QP_OPEN_ATTR_NUM | IBV_QP_OPEN_ATTR_XRCD |
			     IBV_QP_OPEN_ATTR_CONTEXT | IBV_QP_OPEN_ATTR_TYPE,
		.qp_num = qpn,
		.xrcd = xrcd,
		.qp_context = &attr,
		.qp_type = IBV_QPT_XRC_RECV,
	};
	struct ibv_qp *qp;

	errno = 0;
	qp = ibv_open_qp(e->context, &attr);
	if (qp)
		assert_ptr_equal(qp->qp_context, &attr);
	return qp;
}

TEST(opened_queue_pair_is_the_same)
{
	struct xrc *x = *state;
	struct ibv_qp *qp = open_recv(&x->b, x->xrcd, x->recv->qp_num);
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	assert_non_null(qp);
	assert_int_equal(qp->qp_num, x->recv->qp_num);
	assert_int_equal(qp->state, IBV_QPS_RTS);
	assert_int_equal(ibv_query_qp(qp, &attr, IBV_QP_STATE, &init), 0);
	assert_int_equal(attr.dest_qp_num, x->send->qp_num);
	assert_int_equal(init.qp_type, IBV_QPT_XRC_RECV);
	assert_int_equal(to_state(qp, IBV_QPS_ERR), 0);
	assert_int_equal(state_of(x->recv), IBV_QPS_ERR);
	/* both learn of it */
	expect_event(&x->b, IBV_EVENT_QP_LAST_WQE_REACHED, x->recv);
	expect_event(&x->b, IBV_EVENT_QP_LAST_WQE_REACHED, qp);
	assert_int_equal(ibv_destroy_qp(qp), 0);
}

TEST(queue_pair_lives_until_its_last_close)
{
	struct xrc *x = *state;
	struct ibv_qp *qp = open_recv(&x->b, x->xrcd, x->recv->qp_num);
	uint32_t qpn = qp->qp_num;

	assert_int_equal(ibv_destroy_qp(x->recv), 0);
	x->recv = NULL;
	assert_int_equal(post_recv(x, 7, 8), 0);
	assert_int_equal(send_to(x, 3, 8, number_of(x->srq)), 0);
	expect_wc(x->a.cq, 3, IBV_WC_SUCCESS);
	expect_wc(x->b.cq, 7, IBV_WC_SUCCESS);
	assert_int_equal(ibv_destroy_qp(qp), 0);
	assert_null(open_recv(&x->b, x->xrcd, qpn));
	assert_int_equal(send_to(x, 4, 8, number_of(x->srq)), 0);
	expect_wc(x->a.cq, 4, IBV_WC_RETRY_EXC_ERR);
}

TEST(only_what_is_in_the_domain_can_be_opened)
{
	struct xrc *x = *state;
	struct ibv_xrcd *xrcd = open_domain(&x->b, -1, O_CREAT);
	struct ibv_qp_open_attr attr = { .comp_mask = IBV_QP_OPEN_ATTR_NUM | IBV_QP_OPEN_ATTR_XRCD,
					 .qp_num = x->recv->qp_num,
					 .xrcd = x->xrcd };

	assert_null(open_recv(&x->b, xrcd, x->recv->qp_num));
	assert_int_equal(errno, EINVAL);
	assert_null(open_recv(&x->b, x->xrcd, x->send->qp_num));
	assert_int_equal(errno, EINVAL);
	assert_null(ibv_open_qp(x->b.context, &attr));
	assert_int_equal(errno, EINVAL);
	assert_int_equal(ibv_close_xrcd(xrcd), 0);
}

TEST(reset_takes_the_connection_back)
{
	struct xrc *x = *state;

	assert_int_equal(to_state(x->recv, IBV_QPS_RESET), 0);
	assert_int_equal(post_recv(x, 7, 8), 0);
	assert_int_equal(send_to(x, 3, 8, number_of(x->srq)), 0);
	expect_none(x->a.cq);
	connect_recv(x->recv, x->send->qp_num);
	expect_wc(x->a.cq, 3, IBV_WC_SUCCESS);
	expect_wc(x->b.cq, 7, IBV_WC_SUCCESS);
}

enum { ROUNDS = 300 };

/*
 * In each round a new connection sends to a shared queue that is destroyed sooner or later: the
 * message arrives, or the connection breaks.
 */
static void *send_rounds(void *arg)
{
	struct xrc *x = arg;
	struct ibv_wc wc;
	struct ibv_qp *recv;
	int i;

	for (i = 0; i < ROUNDS; i++) {
		recv = make_recv(&x->b, x->xrcd);
		assert_int_equal(to_state(x->send, IBV_QPS_RESET), 0);
		connect_send(x->send, recv->qp_num);
		connect_recv(recv, x->send->qp_num);
		assert_int_equal(send_to(x, i, 8, __atomic_load_n(&x->srqn, __ATOMIC_RELAXED)), 0);
		wc = poll_one(x->a.cq);
		if (wc.status != IBV_WC_SUCCESS)
			assert_int_equal(wc.status, IBV_WC_REM_INV_REQ_ERR);
		assert_int_equal(ibv_destroy_qp(recv), 0);
	}
	__atomic_store_n(&x->done, true, __ATOMIC_RELEASE);
	return NULL;
}

TEST(shared_queues_come_and_go_beneath_traffic)
{
	struct xrc *x = *state;
	struct ibv_srq *srq;
	pthread_t thread;
	struct ibv_wc wc;

	x->srqn = number_of(x->srq);
	assert_int_equal(post_recv(x, 1, 8), 0);
	pthread_create(&thread, NULL, send_rounds, x);
	while (!__atomic_load_n(&x->done, __ATOMIC_ACQUIRE)) {
		srq = make_srq(&x->b, x->xrcd, x->b.cq);
		assert_int_equal(post_to(srq, &x->b, 1, 0, 8), 0);
		assert_int_equal(post_to(srq, &x->b, 2, 0, 8), 0);
		__atomic_store_n(&x->srqn, number_of(srq), __ATOMIC_RELAXED);
		ibv_poll_cq(x->b.cq, 1, &wc);
		assert_int_equal(ibv_destroy_srq(x->srq), 0);
		x->srq = srq;
	}
	pthread_join(thread, NULL);
}

/* Another process, which has the domain of the same file open. */
struct other {
	pid_t pid;
	int fd;
	uint32_t srqn, qpn;
};

static void put_bytes(int fd, const void *data, size_t len)
{
	assert_int_equal(write(fd, data, len), len);
}

static void get_bytes(int fd, void *data, size_t len)
{
	assert_int_equal(recv(fd, data, len, MSG_WAITALL), len);
}

enum { BUFFER = 128 << 10 };

/* Report each message, in the order of arrival. */
static void serve_domain(int file, int fd, uint32_t source)
{
	struct end e = { 0 };
	struct ibv_xrcd *xrcd;
	struct ibv_srq *srq;
	struct ibv_qp *qp;
	uint32_t numbers[2], len;
	struct ibv_wc wc;

	end_open(&e);
	xrcd = open_domain(&e, file, O_CREAT);
	srq = make_srq(&e, xrcd, e.cq);
	qp = make_recv(&e, xrcd);
	connect_recv(qp, source);
	numbers[0] = number_of(srq);
	numbers[1] = qp->qp_num;
	assert_int_equal(post_to(srq, &e, 0, 0, BUFFER), 0);
	put_bytes(fd, numbers, sizeof(numbers));
	while (read(fd, &len, sizeof(len)) == sizeof(len)) {
		wc = poll_one(e.cq);
		put_bytes(fd, &wc, sizeof(wc));
		put_bytes(fd, e.buf, len);
		assert_int_equal(post_to(srq, &e, wc.wr_id + 1, 0, BUFFER), 0);
	}
	exit(0); /* without a word */
}

static struct other start_other(struct xrc *x)
{
	struct other o;
	int fds[2];

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, fds), 0);
	o.pid = fork();
	if (!o.pid) {
		close(fds[0]);
		serve_domain(x->fd, fds[1], x->send->qp_num);
	}
	close(fds[1]);
	o.fd = fds[0];
	get_bytes(o.fd, &o.srqn, sizeof(o.srqn));
	get_bytes(o.fd, &o.qpn, sizeof(o.qpn));
	return o;
}

static void stop_other(struct other *o, int sig)
{
	if (sig)
		kill(o->pid, sig);
	close(o->fd);
	waitpid(o->pid, NULL, 0);
}

/* The end of the connection is in this process, the shared queue in the other one. */
TEST(message_reaches_the_shared_queue_of_another_process)
{
	static const uint32_t sizes[] = { 1, 8, 64, 72, 73, 4096, 8192, 8193, 65536, BUFFER };
	struct xrc *x = *state;
	struct other o = start_other(x);
	static uint8_t seen[BUFFER];
	struct ibv_wc wc;
	size_t i;

	for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		memset(x->a.buf, i + 1, sizes[i]);
		assert_int_equal(send_to(x, i, sizes[i], o.srqn), 0);
		put_bytes(o.fd, &sizes[i], sizeof(sizes[i]));
		get_bytes(o.fd, &wc, sizeof(wc));
		get_bytes(o.fd, seen, sizes[i]);
		expect_wc(x->a.cq, i, IBV_WC_SUCCESS);
		assert_int_equal(wc.status, IBV_WC_SUCCESS);
		assert_int_equal(wc.wr_id, i);
		assert_int_equal(wc.byte_len, sizes[i]);
		assert_int_equal(wc.qp_num, x->recv->qp_num);
		assert_memory_equal(seen, x->a.buf, sizes[i]);
	}
	stop_other(&o, 0);
}

static void reconnect_send(struct xrc *x, uint32_t dest)
{
	assert_int_equal(to_state(x->send, IBV_QPS_RESET), 0);
	connect_send(x->send, dest);
}

TEST(queue_pair_outlives_its_process)
{
	struct xrc *x = *state;
	struct other o = start_other(x);
	struct ibv_qp *qp = open_recv(&x->b, x->xrcd, o.qpn);

	assert_non_null(qp);
	reconnect_send(x, o.qpn);
	stop_other(&o, SIGKILL);
	assert_int_equal(post_recv(x, 7, 8), 0);
	assert_int_equal(send_to(x, 3, 8, number_of(x->srq)), 0);
	expect_wc(x->a.cq, 3, IBV_WC_SUCCESS);
	expect_wc(x->b.cq, 7, IBV_WC_SUCCESS);
	assert_int_equal(ibv_destroy_qp(qp), 0);
}

TEST(queue_pair_that_nobody_holds_dies_with_its_process)
{
	struct xrc *x = *state;
	struct other o = start_other(x);

	reconnect_send(x, o.qpn);
	stop_other(&o, SIGKILL);
	assert_int_equal(post_recv(x, 7, 8), 0);
	assert_int_equal(send_to(x, 3, 8, number_of(x->srq)), 0);
	expect_wc(x->a.cq, 3, IBV_WC_RETRY_EXC_ERR);
	expect_none(x->b.cq);
	assert_null(open_recv(&x->b, x->xrcd, o.qpn));
}

TEST(shared_queue_of_a_dead_process_is_nobodys)
{
	struct xrc *x = *state;
	struct other o = start_other(x);
	uint32_t one = 1;
	struct ibv_wc wc;
	char c;

	assert_int_equal(send_to(x, 3, 1, o.srqn), 0);
	put_bytes(o.fd, &one, sizeof(one));
	get_bytes(o.fd, &wc, sizeof(wc));
	get_bytes(o.fd, &c, 1);
	expect_wc(x->a.cq, 3, IBV_WC_SUCCESS);
	stop_other(&o, SIGKILL);
	/* within a tick of its death, a message may still find its request */
	do {
		assert_int_equal(send_to(x, 4, 1, o.srqn), 0);
		wc = poll_one(x->a.cq);
	} while (wc.status == IBV_WC_SUCCESS);
	assert_int_equal(wc.status, IBV_WC_REM_INV_REQ_ERR);
	expect_broken(x, IBV_EVENT_QP_REQ_ERR);
}

TEST(domain_dies_with_the_last_process)
{
	struct xrc *x = *state;
	int fd = open_temporary(), mine = x->fd;
	struct ibv_xrcd *xrcd;
	struct other o;

	x->fd = fd;
	o = start_other(x);
	x->fd = mine;
	assert_null(open_domain(&x->a, fd, O_CREAT | O_EXCL));
	stop_other(&o, SIGKILL);
	xrcd = open_domain(&x->a, fd, O_CREAT | O_EXCL);
	assert_non_null(xrcd);
	assert_int_equal(ibv_close_xrcd(xrcd), 0);
	close(fd);
}

TEST(closing_the_device_lets_go_of_all)
{
	struct xrc *x = *state;
	struct ibv_context *context = open_context();
	struct end e = { .context = context };
	int fd = open_temporary();
	struct ibv_xrcd *xrcd = open_domain(&e, fd, O_CREAT);
	struct ibv_qp *qp = make_recv(&e, xrcd);
	uint32_t qpn = qp->qp_num;

	assert_int_equal(ibv_close_device(context), 0);
	free(qp); /* their memory is the program's */
	free(xrcd);
	xrcd = open_domain(&x->a, fd, O_CREAT | O_EXCL);
	assert_non_null(xrcd);
	assert_null(open_recv(&x->a, xrcd, qpn));
	assert_int_equal(ibv_close_xrcd(xrcd), 0);
	close(fd);
}
