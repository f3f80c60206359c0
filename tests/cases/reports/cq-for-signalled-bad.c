/*
 * A writer that signals the last of 40 writes.
 *
 * Bad: its CQ has room for the signalled ones; a failure flushes all. GOOD: it has room for all.
 */
#include "rep.h"

int main(void)
{
	enum { WRITES = 40 };
	struct cfg c = cfg_usual();
	struct ibv_wc wc;
	struct end e;

	c.cqe = 16;
#ifdef GOOD
	c.cqe = 128;
#endif
	c.rq = 1;
	two_ends(&e);
	end_open(&e, c, 8192);
	end_connect(&e);
	for (int i = 0; !e.server && i < WRITES; i++)
		need(!rdma_post(&e, IBV_WR_RDMA_WRITE, i, i * 64, 64, e.peer.va + i * 64,
				i == WRITES - 1 ? IBV_SEND_SIGNALED : 0));
	if (!e.server)
		need(wait_wc(e.scq, &wc, 5000) && !wc.status);
	end_sync(&e);
	return end_close(&e, 0);
}
