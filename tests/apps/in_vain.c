/*
 * A program that waits for a completion that does not come, until it is killed.
 *
 * `sent`: it has sent itself a message before, so that it waits after a completion.
 */
#include "tests/apps/app.h"

#include <signal.h>

enum { POLLS = 6000000 };

static void send_to_itself(struct ibv_qp *qp, struct ibv_sge *sge, struct ibv_cq *cq)
{
	struct ibv_send_wr *bad, wr = { .wr_id = 2,
					.sg_list = sge,
					.num_sge = 1,
					.opcode = IBV_WR_SEND,
					.send_flags = IBV_SEND_SIGNALED };
	struct ibv_wc wc;

	MUST(ibv_post_send(qp, &wr, &bad));
	for (int i = 0; i < 2; i++)
		while (ibv_poll_cq(cq, 1, &wc) == 0)
			;
}

int main(int argc, char **argv)
{
	static char memory[64];
	struct ibv_context *context = open_first_device();
	struct ibv_pd *pd = NEED(ibv_alloc_pd(context));
	struct ibv_cq *cq = NEED(ibv_create_cq(context, 16, NULL, NULL, 0));
	struct ibv_mr *mr = NEED(ibv_reg_mr(pd, memory, sizeof(memory), IBV_ACCESS_LOCAL_WRITE));
	struct ibv_qp *qp = create_rc_qp(pd, cq);
	struct ibv_sge sge = { (uintptr_t)memory, sizeof(memory), mr->lkey };
	struct ibv_recv_wr *bad, wr = { .wr_id = 1, .sg_list = &sge, .num_sge = 1 };
	struct ibv_wc wc;

	connect_to_itself(context, qp);
	MUST(ibv_post_recv(qp, &wr, &bad));
	if (argc > 1 && !strcmp(argv[1], "sent"))
		send_to_itself(qp, &sge, cq);
	for (int i = 0; i < POLLS; i++)
		NEED(ibv_poll_cq(cq, 1, &wc) == 0);
	return raise(SIGKILL);
}
