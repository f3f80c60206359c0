/*
 * Ten writes without a signalled one, in a queue of 64: a longer run fills it. GOOD: the last one
 * is signalled.
 */
#include "rep.h"
int main(void)
{
	struct end e;
	struct ibv_wc wc;

	two_ends(&e);
	end_open(&e, cfg_usual(), 8192);
	end_connect(&e);
	for (int i = 0; i < 10 && !e.server; i++) {
		int flags = 0;
#ifdef GOOD
		flags = i == 9 ? IBV_SEND_SIGNALED : 0;
#endif
		need(!rdma_post(&e, IBV_WR_RDMA_WRITE, i, 0, 64, e.peer.va, flags));
	}
#ifdef GOOD
	if (!e.server)
		need(wait_wc(e.scq, &wc, 5000) && !wc.status);
#else
	(void)wc;
#endif
	end_sync(&e);
	return end_close(&e, 0);
}
