/*
 * The client writes four times, and destroys its queue pair.
 *
 * Good: the last write is signalled, and its completion polled.
 */
#include "rep.h"

enum { N = 4 };

int main(void)
{
	struct ibv_wc wc;
	struct end e;

	two_ends(&e);
	end_open(&e, cfg_usual(), 8192);
	end_connect(&e);
	for (int i = 0; !e.server && i < N; i++)
		need(!rdma_post(&e, IBV_WR_RDMA_WRITE, i, i * 64, 64, e.peer.va + i * 64,
				i == N - 1 ? IBV_SEND_SIGNALED : 0));
	if (!e.server)
		need(wait_wc(e.scq, &wc, 5000));
	need(e.server || !ibv_destroy_qp(e.qp));
	end_sync(&e);
	need(!e.server || !ibv_destroy_qp(e.qp));
	need(!ibv_dereg_mr(e.mr) && !ibv_destroy_cq(e.scq) && !ibv_dealloc_pd(e.pd));
	need(!ibv_close_device(e.ctx));
	if (e.child)
		waitpid(e.child, NULL, 0);
	return 0;
}
