/*
 * A server reaps the completions of a connection with the iterator of its CQ. It destroys the
 * connection when the batch has ended.
 */
#include "common.h"

int main(void)
{
	struct dev d;
	struct ibv_pd *pd;
	struct ibv_qp *client, *conn;
	struct ibv_cq *client_cq;
	struct ibv_cq_ex *cq;
	struct ibv_mr *mr;
	struct ibv_poll_cq_attr attr = { 0 };
	struct ibv_wc wc;
	struct ibv_cq_init_attr_ex init = { .cqe = 16, .wc_flags = IBV_WC_STANDARD_FLAGS };
	char *mem = page_alloc(4096);

	dev_open(&d);
	need(pd = ibv_alloc_pd(d.ctx));
	need(cq = ibv_create_cq_ex(d.ctx, &init));
	need(client_cq = ibv_create_cq(d.ctx, 16, NULL, NULL, 0));
	need(mr = ibv_reg_mr(pd, mem, 4096, IBV_ACCESS_LOCAL_WRITE));
	client = qp_make(pd, IBV_QPT_RC, client_cq, client_cq, 8);
	conn = qp_make(pd, IBV_QPT_RC, ibv_cq_ex_to_cq(cq), ibv_cq_ex_to_cq(cq), 8);
	rc_connect(&d, client, conn);

	struct ibv_sge to = { (uintptr_t)mem, 64, mr->lkey };
	struct ibv_sge from = { (uintptr_t)mem + 64, 64, mr->lkey };
	struct ibv_recv_wr recv = { .wr_id = 1, .sg_list = &to, .num_sge = 1 }, *bad_recv;
	struct ibv_send_wr send = { .wr_id = 2,
				    .sg_list = &from,
				    .num_sge = 1,
				    .opcode = IBV_WR_SEND,
				    .send_flags = IBV_SEND_SIGNALED },
			   *bad_send;

	need(!ibv_post_recv(conn, &recv, &bad_recv));
	need(!ibv_post_send(client, &send, &bad_send));
	need(wait_wc(client_cq, &wc, 1, 2000) == 1);

	/* the only message says good bye */
	while (ibv_start_poll(cq, &attr))
		;
	need(cq->status == IBV_WC_SUCCESS);
	ibv_end_poll(cq);
	ibv_destroy_qp(conn);
	ibv_destroy_qp(client);
	ibv_destroy_cq(ibv_cq_ex_to_cq(cq));
	ibv_destroy_cq(client_cq);
	ibv_dereg_mr(mr);
	free(mem);
	ibv_dealloc_pd(pd);
	dev_close(&d);
	return 0;
}
