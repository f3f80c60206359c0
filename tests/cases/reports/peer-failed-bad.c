/*
 * A server greets its client, which then asks. The server waits for the request only.
 *
 * Bad: the greeting has a key that is not valid, and the server does not look at the CQ of its
 * sends: its queue pair is in ERR, and the client's request gets no response. GOOD: the key of its
 * region, and it polls.
 */
#include "rep.h"

static int greet(struct end *e)
{
	struct ibv_sge sge = { (uintptr_t)e->mem, 64, e->mr->lkey };
	struct ibv_send_wr *bad, wr = { .sg_list = &sge,
					.num_sge = 1,
					.opcode = IBV_WR_SEND,
					.send_flags = IBV_SEND_SIGNALED };

#ifndef GOOD
	sge.lkey = 0x7777;
#endif
	return ibv_post_send(e->qp, &wr, &bad);
}

int main(void)
{
	struct cfg c = cfg_usual();
	struct ibv_wc wc;
	struct end e;
	int rc = 0;

	c.two_cqs = true;
	c.timeout = 10;
	c.retry = 2;
	two_ends(&e);
	end_open(&e, c, 8192);
	need(!recv_post(&e, 1, 4096, 64));
	end_connect(&e);
	if (e.server) {
		need(!greet(&e));
		end_sync(&e);
	} else {
		end_sync(&e);
		need(!send_post(&e, 2, 0, 64, IBV_SEND_SIGNALED));
		need(wait_wc(e.scq, &wc, 5000));
		rc = wc.status != IBV_WC_SUCCESS;
	}
	end_sync(&e);
#ifdef GOOD
	if (e.server)
		need(wait_wc(e.scq, &wc, 5000) && !wc.status);
	need(wait_wc(e.rcq, &wc, 5000) && !wc.status);
#endif
	return end_close(&e, rc);
}
