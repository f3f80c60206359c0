/*
 * A program writes over two queue pairs, whose CQs have one channel, and waits by epoll(7).
 *
 * Bad: each wake-up reads one event, although one edge may stand for two. GOOD: all.
 */
#include <sys/epoll.h>

#include "rep.h"

enum { ENDS = 2, SIZE = 64 };

struct half {
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	int done;
};

static void connect_to_self(struct end *e, struct half *h)
{
	struct ibv_qp_init_attr init = { .send_cq = h->cq,
					 .recv_cq = h->cq,
					 .qp_type = IBV_QPT_RC,
					 .sq_sig_all = 1,
					 .cap = { 4, 1, 1, 1, 0 } };
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT,
				    .port_num = 1,
				    .qp_access_flags = IBV_ACCESS_REMOTE_WRITE,
				    .path_mtu = IBV_MTU_1024,
				    .min_rnr_timer = 12,
				    .timeout = 14,
				    .retry_cnt = 7,
				    .rnr_retry = 7 };

	need(h->qp = ibv_create_qp(e->pd, &init));
	attr.dest_qp_num = h->qp->qp_num;
	attr.ah_attr.port_num = 1;
	attr.ah_attr.dlid = e->port.lid;
	attr.ah_attr.is_global = e->port.link_layer == IBV_LINK_LAYER_ETHERNET;
	attr.ah_attr.grh.dgid = e->gid;
	need(!ibv_modify_qp(h->qp, &attr,
			    IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS));
	attr.qp_state = IBV_QPS_RTR;
	need(!ibv_modify_qp(h->qp, &attr,
			    IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
				    IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
				    IBV_QP_MIN_RNR_TIMER));
	attr.qp_state = IBV_QPS_RTS;
	need(!ibv_modify_qp(h->qp, &attr,
			    IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
				    IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC));
}

static void write_once(struct end *e, struct half *h)
{
	struct ibv_sge sge = { (uintptr_t)e->mem, SIZE, e->mr->lkey };
	struct ibv_send_wr wr = { .sg_list = &sge,
				  .num_sge = 1,
				  .opcode = IBV_WR_RDMA_WRITE,
				  .wr.rdma = { (uintptr_t)e->mem + SIZE, e->mr->rkey } },
			   *bad;

	need(!ibv_post_send(h->qp, &wr, &bad));
}

static bool read_event(struct ibv_comp_channel *channel)
{
	struct ibv_cq *cq;
	struct ibv_wc wc;
	void *context;

	if (ibv_get_cq_event(channel, &cq, &context))
		return false;
	ibv_ack_cq_events(cq, 1);
	need(!ibv_req_notify_cq(cq, 0));
	while (ibv_poll_cq(cq, 1, &wc) > 0)
		((struct half *)context)->done++;
	return true;
}

static void wait_for_all(struct ibv_comp_channel *channel, struct half *halves)
{
	struct epoll_event event = { .events = EPOLLIN | EPOLLET };
	int epoll = epoll_create1(0);

	need(!epoll_ctl(epoll, EPOLL_CTL_ADD, channel->fd, &event));
	while ((!halves[0].done || !halves[1].done) && epoll_wait(epoll, &event, 1, 600) > 0) {
#ifdef GOOD
		while (read_event(channel))
			;
#else
		read_event(channel);
#endif
	}
	close(epoll);
}

int main(void)
{
	struct half halves[ENDS] = { 0 };
	struct ibv_comp_channel *channel;
	struct end e = { .server = true, .fd = -1 }; /* it has no other end */
	int undone;

	end_open(&e, cfg_usual(), 4096);
	need(channel = ibv_create_comp_channel(e.ctx));
	fcntl(channel->fd, F_SETFL, O_NONBLOCK);
	for (int i = 0; i < ENDS; i++) {
		need(halves[i].cq = ibv_create_cq(e.ctx, 8, &halves[i], channel, 0));
		connect_to_self(&e, &halves[i]);
		need(!ibv_req_notify_cq(halves[i].cq, 0));
	}
	for (int i = 0; i < ENDS; i++)
		write_once(&e, &halves[i]);
	nap(20);
	wait_for_all(channel, halves);
	undone = !halves[0].done + !halves[1].done;
	for (int i = 0; i < ENDS; i++)
		need(!ibv_destroy_qp(halves[i].qp) && !ibv_destroy_cq(halves[i].cq));
	need(!ibv_destroy_comp_channel(channel));
	return end_close(&e, undone);
}
