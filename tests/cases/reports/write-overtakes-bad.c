/*
 * A record of the peer is read, and replaced right behind it without a fence: the write may be
 * carried out first. GOOD: with a fence.
 */
#include "rep.h"
int main(void)
{
	int flags = IBV_SEND_SIGNALED;
	struct cfg c = cfg_usual();
	struct ibv_wc wc;
	struct end e;

#ifdef GOOD
	flags |= IBV_SEND_FENCE;
#endif
	c.rd = c.dest_rd = 4;
	two_ends(&e);
	end_open(&e, c, 8192);
	end_connect(&e);
	for (int i = 0; i < 8 && !e.server; i++) {
		need(!rdma_post(&e, IBV_WR_RDMA_READ, i, 0, 64, e.peer.va, IBV_SEND_SIGNALED));
		need(!rdma_post(&e, IBV_WR_RDMA_WRITE, 100 + i, 1024, 64, e.peer.va, flags));
		for (int k = 0; k < 2; k++)
			need(wait_wc(e.scq, &wc, 5000) && !wc.status);
	}
	end_sync(&e);
	return end_close(&e, 0);
}
