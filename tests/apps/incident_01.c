/*
 * A queue pair is destroyed by the handler of its own completion, inside a batch of
 * ibv_start_poll() that goes on (rdma-core#1526).
 */
#include "tests/apps/ends.h"

static struct ibv_cq_ex *ex;

/* The second end completes to an extended queue. */
static void make_ends(void)
{
	struct ibv_cq_init_attr_ex attr = { .cqe = 8, .wc_flags = IBV_WC_EX_WITH_QP_NUM };

	ends_make();
	MUST(ibv_destroy_qp(ends.qp[1]));
	MUST(ibv_destroy_cq(ends.cq[1]));
	ex = NEED(ibv_create_cq_ex(ends.context, &attr));
	ends.cq[1] = ibv_cq_ex_to_cq(ex);
	ends.qp[1] = ends_create(1);
	ends_connect();
}

static void close_connection(void)
{
	MUST(ibv_destroy_qp(ends.qp[1]));
	ends.qp[1] = NULL;
}

static void handle_completions(bool good)
{
	struct ibv_poll_cq_attr attr = { 0 };
	bool last = false;

	while (ibv_start_poll(ex, &attr))
		;
	do {
		if (ex->wr_id == 2) /* the peer says goodbye */
			last = true;
		if (last && !good)
			close_connection();
	} while (!ibv_next_poll(ex) && ends.qp[1]);
	ibv_end_poll(ex);
	if (last && good)
		close_connection();
}

int main(int argc, char **argv)
{
	make_ends();
	for (int i = 1; i < 3; i++)
		MUST(ends_receive((uint64_t)i));
	for (int i = 1; i < 3; i++)
		MUST(ends_send((uint64_t)i, IBV_WR_SEND, IBV_SEND_SIGNALED));
	ends_await(0, 2);
	handle_completions(is_good(argc, argv));
	ends_close();
	return 0;
}
