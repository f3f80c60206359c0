/*
 * A queue pair is destroyed by the handler of its own completion, inside a batch of
 * ibv_start_poll() that continues (rdma-core#1526).
 */
#include "tests/apps/ends.h"

static struct ibv_cq_ex *ex;

/* The queue pairs of both ends complete to one extended CQ. */
static void make_ends(void)
{
	struct ibv_cq_init_attr_ex attr = { .cqe = 16, .wc_flags = IBV_WC_EX_WITH_QP_NUM };

	ends_make();
	ex = NEED(ibv_create_cq_ex(ends.context, &attr));
	for (int i = 0; i < 2; i++) {
		MUST(ibv_destroy_qp(ends.qp[i]));
		MUST(ibv_destroy_cq(ends.cq[i]));
		ends.cq[i] = ibv_cq_ex_to_cq(ex);
		ends.qp[i] = ends_create(i);
	}
	ends.cq[1] = NULL;
	ends_connect();
}

static void close_connection(void)
{
	MUST(ibv_destroy_qp(ends.qp[1]));
	ends.qp[1] = NULL;
}

/* The first message of the peer says that it closes. */
static void handle_completions(bool good)
{
	struct ibv_poll_cq_attr attr = { 0 };
	uint32_t number = ends.qp[1]->qp_num;

	while (ibv_start_poll(ex, &attr))
		;
	do {
		if (!good && ends.qp[1] && ibv_wc_read_qp_num(ex) == number)
			close_connection();
	} while (!ibv_next_poll(ex));
	ibv_end_poll(ex);
	if (ends.qp[1])
		close_connection();
}

int main(int argc, char **argv)
{
	make_ends();
	for (uint64_t i = 1; i < 3; i++)
		MUST(ends_receive(i));
	for (uint64_t i = 1; i < 3; i++)
		MUST(ends_send(i, IBV_WR_SEND, IBV_SEND_SIGNALED));
	handle_completions(is_good(argc, argv));
	ends_close();
	return 0;
}
