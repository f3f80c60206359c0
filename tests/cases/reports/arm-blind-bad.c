/*
 * A server that sleeps until messages come. Both of a round have arrived when it is woken.
 *
 * Bad: it polls until the CQ is empty, then arms it, then sleeps. GOOD: it arms the CQ before it
 * polls.
 */
#include "rep.h"

enum { ROUNDS = 5, EACH = 2 };

static void take_messages(struct end *e)
{
	struct ibv_cq *cq;
	struct ibv_wc wc;
	void *context;

	need(!ibv_get_cq_event(e->ch, &cq, &context));
	ibv_ack_cq_events(cq, 1);
#ifdef GOOD
	need(!ibv_req_notify_cq(cq, 0));
#endif
	while (ibv_poll_cq(cq, 1, &wc) > 0)
		need(!wc.status);
#ifndef GOOD
	need(!ibv_req_notify_cq(cq, 0));
#endif
}

int main(void)
{
	struct cfg c = cfg_usual();
	struct ibv_wc wc;
	struct end e;

	two_ends(&e);
	c.channel = true;
	end_open(&e, c, 8192);
	end_connect(&e);
	for (int i = 0; e.server && i < ROUNDS * EACH; i++)
		need(!recv_post(&e, i, i * 64, 64));
	if (e.server)
		need(!ibv_req_notify_cq(e.rcq, 0));
	end_sync(&e);
	for (int i = 0; i < ROUNDS; i++) {
		for (int k = 0; !e.server && k < EACH; k++)
			need(!send_post(&e, k, 0, 64, IBV_SEND_SIGNALED));
		for (int k = 0; !e.server && k < EACH; k++)
			need(wait_wc(e.scq, &wc, 5000) && !wc.status);
		end_sync(&e);
		if (e.server)
			take_messages(&e);
		end_sync(&e);
	}
	return end_close(&e, 0);
}
