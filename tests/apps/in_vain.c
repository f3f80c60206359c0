/*
 * A program that waits for a completion that does not come, until it is killed.
 *
 * `sent`: it has sent itself a message before, so that it waits after a completion.
 * `destroyed`: likewise, but it has destroyed its queue pair instead of polling, and ends.
 */
#include "tests/apps/app.h"

#include <signal.h>
#include <time.h>

enum { POLLS = 6000000 };

static void send_to_itself(struct ibv_qp *qp, struct ibv_sge *sge)
{
	struct ibv_send_wr *bad, wr = { .wr_id = 2,
					.sg_list = sge,
					.num_sge = 1,
					.opcode = IBV_WR_SEND,
					.send_flags = IBV_SEND_SIGNALED };

	MUST(ibv_post_send(qp, &wr, &bad));
}

static void poll_both(struct ibv_cq *cq)
{
	struct ibv_wc wc;

	for (int i = 0; i < 2; i++)
		while (ibv_poll_cq(cq, 1, &wc) == 0)
			;
}

static int destroy_and_poll(struct ibv_qp *qp, struct ibv_cq *cq)
{
	struct timespec start, now;
	struct ibv_wc wc;

	MUST(ibv_destroy_qp(qp));
	clock_gettime(CLOCK_MONOTONIC, &start);
	do {
		for (int i = 0; i < POLLS / 4; i++)
			NEED(ibv_poll_cq(cq, 1, &wc) == 0);
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while (now.tv_sec - start.tv_sec < 3);
	return 0;
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
	if (argc > 1)
		send_to_itself(qp, &sge);
	if (argc > 1 && !strcmp(argv[1], "destroyed"))
		return destroy_and_poll(qp, cq);
	if (argc > 1)
		poll_both(cq);
	for (int i = 0; i < POLLS; i++)
		NEED(ibv_poll_cq(cq, 1, &wc) == 0);
	return raise(SIGKILL);
}
