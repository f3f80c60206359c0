/*
 * READ into a buffer, and right after it a SEND of that buffer: without IBV_SEND_FENCE the SEND
 * may leave before the READ's data is there. [ucx#7215, ucx#8221, dcping#5] GOOD: fenced
 */
#include "rep.h"
int main(void)
{
	struct end e;
	struct ibv_wc wc;
	int rc = 0;
	two_ends(&e);
	end_open(&e, cfg_usual(), 1 << 20);
	for (int i = 0; i < 16; i++)
		need(!recv_post(&e, i, 65536 + i * 4096, 4096));
	end_connect(&e);
	if (!e.server) {
		for (int i = 0; i < 16; i++) {
			need(!rdma_post(&e, IBV_WR_RDMA_READ, 100 + i, i * 4096, 4096, e.peer.va,
					0));
#ifdef GOOD
			need(!send_post(&e, 200 + i, i * 4096, 4096,
					IBV_SEND_SIGNALED | IBV_SEND_FENCE));
#else
			need(!send_post(&e, 200 + i, i * 4096, 4096, IBV_SEND_SIGNALED));
#endif
		}
	}
	for (int i = 0; i < 16; i++)
		rc |= !wait_wc(e.scq, &wc, 2000) || wc.status;
	end_sync(&e);
	return end_close(&e, rc);
}
