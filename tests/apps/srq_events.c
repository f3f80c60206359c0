/*
 * srq_events [own]: posts two receives to a shared receive queue, or to one of the queue pair, and
 * sends two messages. It prints the results of the requests and the asynchronous event that was
 * there when all had completed, and whose object it is.
 */
#include <poll.h>

#include "tests/apps/app.h"

static struct ibv_srq *srq;
static struct ibv_qp *qp;

static void print_event(struct ibv_context *context)
{
	struct pollfd readable = { context->async_fd, POLLIN, 0 };
	struct ibv_async_event event;

	if (poll(&readable, 1, 0) != 1)
		return;
	MUST(ibv_get_async_event(context, &event));
	printf("%s of the %s\n", ibv_event_type_str(event.event_type),
	       srq && event.element.srq == srq ? "SRQ"
	       : event.element.qp == qp        ? "queue pair"
					       : "other");
	ibv_ack_async_event(&event);
}

static void post_receives(struct ibv_mr *mr)
{
	struct ibv_sge sge = { (uintptr_t)mr->addr, 8, mr->lkey };
	struct ibv_recv_wr wr[2] = { { 1, &wr[1], &sge, 1 }, { 2, NULL, &sge, 1 } }, *bad;

	MUST(srq ? ibv_post_srq_recv(srq, wr, &bad) : ibv_post_recv(qp, wr, &bad));
}

static void send_both(struct ibv_mr *mr)
{
	struct ibv_sge sge = { (uintptr_t)mr->addr + 8, 8, mr->lkey };
	struct ibv_send_wr wr[2] = { { .wr_id = 3, .next = &wr[1] }, { .wr_id = 4 } }, *bad;

	for (int i = 0; i < 2; i++) {
		wr[i].sg_list = &sge;
		wr[i].num_sge = 1;
		wr[i].opcode = IBV_WR_SEND;
		wr[i].send_flags = IBV_SEND_SIGNALED;
	}
	MUST(ibv_post_send(qp, wr, &bad));
}

static void print_completions(struct ibv_cq *cq)
{
	struct ibv_wc wc;

	for (int i = 0; i < 4;) {
		int n = ibv_poll_cq(cq, 1, &wc);

		if (n)
			printf("%lu: %s\n", wc.wr_id, ibv_wc_status_str(wc.status));
		i += n;
	}
}

int main(int argc, char **argv)
{
	struct ibv_context *context = open_first_device();
	struct ibv_pd *pd = NEED(ibv_alloc_pd(context));
	struct ibv_cq *cq = NEED(ibv_create_cq(context, 8, NULL, NULL, 0));
	static char buffer[16];
	struct ibv_mr *mr = NEED(ibv_reg_mr(pd, buffer, sizeof(buffer), IBV_ACCESS_LOCAL_WRITE));
	struct ibv_srq_init_attr of_srq = { .attr = { .max_wr = 8, .max_sge = 1 } };
	struct ibv_qp_init_attr init = {
		.send_cq = cq, .recv_cq = cq, .cap = { 8, 8, 1, 1, 0 }, .qp_type = IBV_QPT_RC
	};

	if (argc < 2 || strcmp(argv[1], "own") != 0)
		srq = init.srq = NEED(ibv_create_srq(pd, &of_srq));
	qp = NEED(ibv_create_qp(pd, &init));
	connect_to_itself(context, qp);
	post_receives(mr);
	send_both(mr);
	print_completions(cq);
	print_event(context);
	MUST(ibv_destroy_qp(qp));
	if (srq)
		MUST(ibv_destroy_srq(srq));
	MUST(ibv_destroy_cq(cq));
	MUST(ibv_dereg_mr(mr));
	MUST(ibv_dealloc_pd(pd));
	MUST(ibv_close_device(context));
	return 0;
}
