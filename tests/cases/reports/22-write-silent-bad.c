/*
 * The target of an RDMA WRITE waits for a completion of it; there is none. [libfabric#6521,
 * RDMA-example#3] GOOD: WRITE_WITH_IMM
 */
#include "rep.h"
int main(void)
{
	struct end e;
	struct ibv_wc wc;
	int rc = 0;
	two_ends(&e);
	end_open(&e, cfg_usual(), 8192);
	need(!recv_post(&e, 1, 0, 64));
	end_connect(&e);
	if (!e.server) {
#ifdef GOOD
		need(!rdma_post(&e, IBV_WR_RDMA_WRITE_WITH_IMM, 1, 0, 4096, e.peer.va,
				IBV_SEND_SIGNALED));
#else
		need(!rdma_post(&e, IBV_WR_RDMA_WRITE, 1, 0, 4096, e.peer.va, IBV_SEND_SIGNALED));
#endif
		need(wait_wc(e.scq, &wc, 2000) && !wc.status);
	} else {
		rc = !wait_wc(e.scq, &wc, 1500);
		if (rc)
			fprintf(stderr, "server: no completion in 1.5 s\n");
	}
	end_sync(&e);
	return end_close(&e, rc);
}
