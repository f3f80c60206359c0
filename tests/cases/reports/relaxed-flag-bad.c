/*
 * A block is written, and then a flag, which the receiver waits for in memory.
 *
 * Bad: the memory is registered with relaxed ordering, for speed. GOOD: it is not.
 */
#include "rep.h"

int main(void)
{
	enum { ROUNDS = 4, BLOCK = 4096 };
	struct cfg c = cfg_usual();
	struct ibv_wc wc;
	struct end e;

#ifndef GOOD
	c.mr_access |= IBV_ACCESS_RELAXED_ORDERING;
#endif
	two_ends(&e);
	end_open(&e, c, 2 * BLOCK);
	end_connect(&e);
	for (char i = 1; i <= ROUNDS; i++) {
		volatile char *flag = e.mem + BLOCK;

		if (e.server) {
			while (*flag != i)
				nap(0.1);
		} else {
			memset(e.mem, i, BLOCK + 8);
			need(!rdma_post(&e, IBV_WR_RDMA_WRITE, 1, 0, BLOCK, e.peer.va, 0));
			need(!rdma_post(&e, IBV_WR_RDMA_WRITE, 2, BLOCK, 8, e.peer.va + BLOCK,
					IBV_SEND_SIGNALED));
			need(wait_wc(e.scq, &wc, 5000) && !wc.status);
		}
		end_sync(&e);
	}
	return end_close(&e, 0);
}
