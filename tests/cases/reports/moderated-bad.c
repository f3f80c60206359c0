/*
 * A server sets its CQ to an event for each 16 completions, or after 65 ms, and gets one request at
 * a time. GOOD: for each completion.
 */
#include "rep.h"
int main(void)
{
	struct ibv_modify_cq_attr attr = { .attr_mask = IBV_CQ_ATTR_MODERATE,
					   .moderate = { 16, 65535 } };
	struct cfg c = cfg_usual();
	struct end e;
	struct ibv_wc wc;
	struct ibv_cq *cq;
	void *context;

#ifdef GOOD
	attr.moderate.cq_count = 1;
#endif
	c.channel = true;
	two_ends(&e);
	end_open(&e, c, 8192);
	if (e.server) {
		need(!ibv_modify_cq(e.scq, &attr));
		need(!recv_post(&e, 1, 0, 64));
		need(!ibv_req_notify_cq(e.scq, 0));
	}
	end_connect(&e);
	if (e.server) {
		need(!ibv_get_cq_event(e.ch, &cq, &context));
		ibv_ack_cq_events(cq, 1);
		need(wait_wc(e.scq, &wc, 5000) && !wc.status);
	} else {
		need(!send_post(&e, 1, 0, 64, IBV_SEND_SIGNALED));
		need(wait_wc(e.scq, &wc, 5000) && !wc.status);
	}
	end_sync(&e);
	return end_close(&e, 0);
}
