/*
 * An occasional mistake in much traffic: every ROUND sends an object is destroyed that others still
 * need.
 *
 * 	leaky SENDS ROUND
 */
#include "tests/apps/app.h"

static void send_one(struct ibv_qp *qp, const struct ibv_mr *mr, uint64_t n)
{
	struct ibv_sge to = { (uintptr_t)mr->addr + 64, 64, mr->lkey };
	struct ibv_sge from = { (uintptr_t)mr->addr, 64, mr->lkey };
	struct ibv_recv_wr recv = { .wr_id = n, .sg_list = &to, .num_sge = 1 }, *bad_recv;
	struct ibv_send_wr send = { .wr_id = n,
				    .sg_list = &from,
				    .num_sge = 1,
				    .opcode = IBV_WR_SEND,
				    .send_flags = IBV_SEND_SIGNALED },
			   *bad;
	struct ibv_wc wc;

	MUST(ibv_post_recv(qp, &recv, &bad_recv));
	MUST(ibv_post_send(qp, &send, &bad));
	for (int done = 0; done < 2;) {
		int got = ibv_poll_cq(qp->send_cq, 1, &wc);

		MUST(got < 0 || (got && wc.status));
		done += got;
	}
}

int main(int argc, char **argv)
{
	static char buffer[128];
	uint64_t sends = strtoull(NEED(argc > 2 ? argv[1] : NULL), NULL, 10);
	uint64_t round = strtoull(argv[2], NULL, 10);
	struct ibv_context *context = open_first_device();
	struct ibv_pd *pd = NEED(ibv_alloc_pd(context));
	struct ibv_mr *mr = NEED(ibv_reg_mr(pd, buffer, sizeof(buffer), IBV_ACCESS_LOCAL_WRITE));
	struct ibv_cq *cq = NEED(ibv_create_cq(context, 16, NULL, NULL, 0));
	struct ibv_qp *qp = create_rc_qp(pd, cq);

	connect_to_itself(context, qp);
	for (uint64_t n = 0; n < sends; n++) {
		send_one(qp, mr, n);
		if (n % round == round - 1)
			ibv_dealloc_pd(pd); /* EBUSY */
	}
	MUST(ibv_destroy_qp(qp));
	MUST(ibv_destroy_cq(cq));
	MUST(ibv_dereg_mr(mr));
	MUST(ibv_dealloc_pd(pd));
	MUST(ibv_close_device(context));
	return 0;
}
