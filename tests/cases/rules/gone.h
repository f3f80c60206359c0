#pragma once
/* A write to a queue pair that was destroyed before. */
#include "common.h"

static int write_to_gone(int timeout, int retry_cnt)
{
	struct ibv_qp_attr rts = { .qp_state = IBV_QPS_RTS,
				   .timeout = timeout,
				   .retry_cnt = retry_cnt,
				   .rnr_retry = 7,
				   .max_rd_atomic = 1 };
	struct ibv_send_wr *bad,
		wr = { .opcode = IBV_WR_RDMA_WRITE, .send_flags = IBV_SEND_SIGNALED, .num_sge = 1 };
	struct ibv_qp *client, *server;
	struct ibv_sge sge;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_mr *mr;
	struct ibv_wc wc;
	struct dev dev;
	void *memory;

	alarm(10);
	dev_open(&dev);
	pd = ibv_alloc_pd(dev.ctx);
	cq = ibv_create_cq(dev.ctx, 16, NULL, NULL, 0);
	need(pd && cq);
	memory = page_alloc(4096);
	mr = ibv_reg_mr(pd, memory, 4096, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
	need(mr);
	client = qp_make(pd, IBV_QPT_RC, cq, cq, 8);
	server = qp_make(pd, IBV_QPT_RC, cq, cq, 8);
	rc_init(client);
	rc_init(server);
	rc_rtr(&dev, client, server->qp_num);
	rc_rtr(&dev, server, client->qp_num);
	rts.sq_psn = client->qp_num & 0xffffff;
	need(!ibv_modify_qp(client, &rts,
			    IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
				    IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC));
	ibv_destroy_qp(server);
	sleep_ms(300);
	sge = (struct ibv_sge){ (uintptr_t)memory, 64, mr->lkey };
	wr.sg_list = &sge;
	wr.wr.rdma.remote_addr = (uintptr_t)memory + 1024;
	wr.wr.rdma.rkey = mr->rkey;
	need(!ibv_post_send(client, &wr, &bad));
	wait_wc(cq, &wc, 1, 1000);
	ibv_destroy_qp(client);
	ibv_dereg_mr(mr);
	ibv_destroy_cq(cq);
	ibv_dealloc_pd(pd);
	dev_close(&dev);
	free(memory);
	return 0;
}
