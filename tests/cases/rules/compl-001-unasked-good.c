/*
 * A receiver that reads the length of each message from an extended CQ.
 */
#include "common.h"

int main(void)
{
	struct ibv_cq_init_attr_ex attr = { .cqe = 64, .wc_flags = IBV_WC_EX_WITH_BYTE_LEN };
	struct ibv_poll_cq_attr poll = { 0 };
	struct ibv_send_wr send, *bad_send;
	struct ibv_recv_wr recv, *bad_recv;
	struct ibv_cq_ex *cq;
	struct ibv_sge sge;
	struct ibv_qp *a, *b;
	struct ibv_pd *pd;
	struct ibv_mr *mr;
	struct dev dev;
	void *memory;

	alarm(10);
	dev_open(&dev);
	pd = ibv_alloc_pd(dev.ctx);
	cq = ibv_create_cq_ex(dev.ctx, &attr);
	need(pd && cq);
	memory = page_alloc(4096);
	mr = ibv_reg_mr(pd, memory, 4096, IBV_ACCESS_LOCAL_WRITE);
	a = qp_make(pd, IBV_QPT_RC, ibv_cq_ex_to_cq(cq), ibv_cq_ex_to_cq(cq), 4);
	b = qp_make(pd, IBV_QPT_RC, ibv_cq_ex_to_cq(cq), ibv_cq_ex_to_cq(cq), 4);
	rc_connect(&dev, a, b);
	sge = (struct ibv_sge){ (uintptr_t)memory, 64, mr->lkey };
	recv = (struct ibv_recv_wr){ .sg_list = &sge, .num_sge = 1 };
	need(!ibv_post_recv(b, &recv, &bad_recv));
	send = (struct ibv_send_wr){ .sg_list = &sge, .num_sge = 1, .opcode = IBV_WR_SEND };
	need(!ibv_post_send(a, &send, &bad_send));
	while (ibv_start_poll(cq, &poll))
		;
	printf("%u bytes\n", ibv_wc_read_byte_len(cq));
	ibv_end_poll(cq);
	ibv_destroy_qp(a);
	ibv_destroy_qp(b);
	ibv_dereg_mr(mr);
	ibv_destroy_cq(ibv_cq_ex_to_cq(cq));
	ibv_dealloc_pd(pd);
	dev_close(&dev);
	return 0;
}
