/*
 * The server sleeps until its CQ has an event.
 *
 * Bad: its CQ for receives is created without the channel, and arming it has no effect.
 */
#include "rep.h"

#ifndef CHANNEL
#define CHANNEL(end) NULL
#endif

int main(void)
{
	struct cfg c = cfg_usual();
	struct pollfd fd;
	struct ibv_cq *cq;
	struct ibv_wc wc;
	struct end e;
	void *context;
	int rc = 0;

	two_ends(&e);
	c.channel = c.two_cqs = true;
	end_open(&e, c, 8192);
	ibv_destroy_qp(e.qp);
	ibv_destroy_cq(e.rcq);
	need(e.rcq = ibv_create_cq(e.ctx, 64, NULL, CHANNEL(&e), 0));
	struct ibv_qp_init_attr i = {
		.send_cq = e.scq, .recv_cq = e.rcq, .qp_type = IBV_QPT_RC, .cap = { 8, 8, 1, 1, 0 }
	};
	struct ibv_qp_attr a = { .qp_state = IBV_QPS_INIT, .port_num = 1 };
	need(e.qp = ibv_create_qp(e.pd, &i));
	need(!ibv_modify_qp(e.qp, &a,
			    IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS));
	e.own.qpn = e.qp->qp_num;
	need(!recv_post(&e, 1, 0, 64) && !ibv_req_notify_cq(e.rcq, 0));
	end_connect(&e);
	if (!e.server)
		need(!send_post(&e, 2, 64, 64, IBV_SEND_SIGNALED) && wait_wc(e.scq, &wc, 5000));
	end_sync(&e);
	fd = (struct pollfd){ .fd = e.ch->fd, .events = POLLIN };
	if (e.server && poll(&fd, 1, 400) == 1) {
		need(!ibv_get_cq_event(e.ch, &cq, &context));
		ibv_ack_cq_events(cq, 1);
		need(wait_wc(e.rcq, &wc, 1000));
	} else if (e.server) {
		fprintf(stderr, "no message within 400 ms\n");
		rc = 3;
	}
	end_sync(&e);
	return end_close(&e, rc);
}
