/*
 * A ring of messages, and a table that the peer writes to.
 *
 * Bad: the table begins in the last receive of the ring. GOOD: it begins after the ring.
 */
#include "rep.h"

int main(void)
{
	enum { RING = 8, SIZE = 64 };
	size_t table = (RING - 1) * SIZE;
	struct cfg c = cfg_usual();
	struct ibv_wc wc;
	struct end e;

#ifdef GOOD
	table = RING * SIZE;
#endif
	two_ends(&e);
	end_open(&e, c, 8192);
	end_connect(&e);
	for (int i = 0; e.server && i < RING; i++)
		need(!recv_post(&e, i, i * SIZE, SIZE));
	end_sync(&e);
	for (int i = 0; i < 6; i++) {
		if (!e.server) {
			need(!rdma_post(&e, IBV_WR_RDMA_WRITE, i, 1024, 32, e.peer.va + table,
					IBV_SEND_SIGNALED));
			need(wait_wc(e.scq, &wc, 5000) && !wc.status);
			need(!send_post(&e, i, 0, SIZE, IBV_SEND_SIGNALED));
		}
		need(wait_wc(e.server ? e.rcq : e.scq, &wc, 5000) && !wc.status);
	}
	end_sync(&e);
	return end_close(&e, 0);
}
