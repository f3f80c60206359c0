/*
 * Posts from places that are hard to distinguish: the same call, the same height of the stack,
 * other callers; and one that is called again and again.
 *
 * 	sites [LEVELS [message]]
 *
 * `message`: and then a message to itself.
 */
#include "tests/apps/app.h"

static struct ibv_qp *qp;
static struct ibv_cq *cq;

__attribute__((noinline)) static int post_one(uint64_t wr_id)
{
	struct ibv_recv_wr wr = { .wr_id = wr_id }, *bad;

	return ibv_post_recv(qp, &wr, &bad);
}

#define ALIKE(name, inner)                                                               \
	__attribute__((noinline)) static int name(uint64_t id)                           \
	{                                                                                \
		int err = inner(id);                                                     \
                                                                                         \
		__asm__ volatile("# " #name ::: "memory"); /* no jump, one of its own */ \
		return err;                                                              \
	}

ALIKE(helper, post_one)
ALIKE(red, helper)
ALIKE(green, helper)
ALIKE(blue, post_one)

__attribute__((noinline)) static int post_deep(int levels)
{
	int err = levels ? post_deep(levels - 1) : red(9);

	__asm__ volatile("" ::: "memory");
	return err;
}

static void send_message(struct ibv_context *context)
{
	static char text[2][8] = { "hello" };
	struct ibv_mr *mr = NEED(ibv_reg_mr(qp->pd, text, sizeof(text), IBV_ACCESS_LOCAL_WRITE));
	struct ibv_sge from = { (uintptr_t)text[0], sizeof(text[0]), mr->lkey };
	struct ibv_sge to = { (uintptr_t)text[1], sizeof(text[1]), mr->lkey };
	struct ibv_recv_wr *bad_recv, recv = { .wr_id = 20, .sg_list = &to, .num_sge = 1 };
	struct ibv_send_wr *bad_send,
		send = { .wr_id = 21, .sg_list = &from, .num_sge = 1, .opcode = IBV_WR_SEND };
	struct ibv_qp_attr reset = { .qp_state = IBV_QPS_RESET };
	struct ibv_wc wc = { .opcode = IBV_WC_SEND };

	MUST(ibv_modify_qp(qp, &reset, IBV_QP_STATE));
	connect_to_itself(context, qp);
	MUST(ibv_post_recv(qp, &recv, &bad_recv));
	MUST(ibv_post_send(qp, &send, &bad_send));
	while (!(wc.opcode & IBV_WC_RECV))
		MUST(ibv_poll_cq(cq, 1, &wc) < 0);
	MUST(wc.status);
}

int main(int argc, char **argv)
{
	struct ibv_context *context = open_first_device();
	struct ibv_pd *pd = NEED(ibv_alloc_pd(context));
	int levels = argc > 1 ? atoi(argv[1]) : 0;
	struct ibv_qp_attr error = { .qp_state = IBV_QPS_ERR };

	cq = NEED(ibv_create_cq(context, 64, NULL, NULL, 0));
	qp = create_rc_qp(pd, cq);
	connect_to_itself(context, qp);
	for (volatile int i = 0; i < 2; i++) { /* volatile: one loop, not two copies */
		MUST(red(1));
		MUST(green(2));
		MUST(blue(3));
	}
	/* flushed at once from here on, so that none fills the queue */
	MUST(ibv_modify_qp(qp, &error, IBV_QP_STATE));
	for (int i = 1; i <= levels; i++) {
		struct ibv_wc wc;

		MUST(post_deep(i));
		while (ibv_poll_cq(cq, 1, &wc) > 0)
			;
	}
	if (argc > 2)
		send_message(context);
	return 0;
}
