/*
 * Continues after each failure: 8 rounds of a send and a write from one queue pair to another,
 * which are reconnected after an error completion. For tests that make the device fail.
 */
#include <poll.h>

#include "tests/apps/app.h"

enum { ROUNDS = 8, LENGTH = 64 };

static struct ibv_context *context;
static struct ibv_pd *pd;
static struct ibv_cq *cq;
static struct ibv_mr *mr;
static struct ibv_qp *a, *b;
static char buffer[2 * LENGTH];
static int under_way;

static void post_receive(void)
{
	struct ibv_sge sge = { (uintptr_t)buffer + LENGTH, LENGTH, mr->lkey };
	struct ibv_recv_wr wr = { .wr_id = 1, .sg_list = &sge, .num_sge = 1 }, *bad;

	under_way += !ibv_post_recv(b, &wr, &bad);
}

static void post_sends(void)
{
	struct ibv_sge sge = { (uintptr_t)buffer, LENGTH, mr->lkey };
	struct ibv_send_wr write = { .wr_id = 3,
				     .sg_list = &sge,
				     .num_sge = 1,
				     .opcode = IBV_WR_RDMA_WRITE,
				     .send_flags = IBV_SEND_SIGNALED,
				     .wr.rdma = { (uintptr_t)buffer + LENGTH, mr->rkey } };
	struct ibv_send_wr send = { .wr_id = 2,
				    .next = &write,
				    .sg_list = &sge,
				    .num_sge = 1,
				    .opcode = IBV_WR_SEND,
				    .send_flags = IBV_SEND_SIGNALED },
			   *bad;

	under_way += ibv_post_send(a, &send, &bad) ? 0 : 2;
}

static void connect_anew(struct ibv_qp *qp, const struct ibv_qp *other)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RESET };

	MUST(ibv_modify_qp(qp, &attr, IBV_QP_STATE));
	connect_to(context, qp, other->qp_num);
}

static void connect_pair(void)
{
	connect_anew(a, b);
	connect_anew(b, a);
}

/* Wait for all outstanding requests, except a receive without a send. */
static bool finish_round(void)
{
	bool failed = under_way == 1;
	struct ibv_wc wc;

	if (failed)
		to_err(b);
	while (under_way) {
		int n = ibv_poll_cq(cq, 1, &wc);

		if (n > 0 && wc.status != IBV_WC_SUCCESS && !failed) {
			failed = true;
			to_err(a);
			to_err(b);
		}
		under_way -= n;
	}
	return !failed;
}

static void take_events(void)
{
	struct pollfd p = { .fd = context->async_fd, .events = POLLIN };
	struct ibv_async_event event;

	while (poll(&p, 1, 0) == 1) {
		MUST(ibv_get_async_event(context, &event));
		printf("%s\n", ibv_event_type_str(event.event_type));
		ibv_ack_async_event(&event);
	}
}

static void play_round(void)
{
	struct ibv_mr *more = ibv_reg_mr(pd, buffer, sizeof(buffer), 0);
	struct ibv_qp_attr attr = { 0 };
	struct ibv_port_attr port;
	bool good;

	post_receive();
	post_sends();
	good = finish_round();
	MUST(ibv_query_port(context, 1, &port));
	printf("%d\n", port.state);
	take_events();
	ibv_modify_qp(a, &attr, 0);
	if (!good)
		connect_pair();
	if (more)
		MUST(ibv_dereg_mr(more));
}

int main(void)
{
	context = open_first_device();
	connected_with.timeout = 8; /* 1 ms */
	connected_with.rnr_retry = 2;
	pd = NEED(ibv_alloc_pd(context));
	cq = NEED(ibv_create_cq(context, 64, NULL, NULL, 0));
	mr = NEED(ibv_reg_mr(pd, buffer, sizeof(buffer),
			     IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE));
	a = create_rc_qp(pd, cq);
	b = create_rc_qp(pd, cq);
	connect_pair();
	for (int i = 0; i < ROUNDS; i++)
		play_round();
	MUST(ibv_destroy_qp(a));
	MUST(ibv_destroy_qp(b));
	MUST(ibv_dereg_mr(mr));
	MUST(ibv_destroy_cq(cq));
	MUST(ibv_dealloc_pd(pd));
	MUST(ibv_close_device(context));
	return 0;
}
