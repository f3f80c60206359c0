#pragma once
/* A client that writes 60 times, and does something before each. */
#include "rep.h"

static int write_each(void (*prepare)(struct end *e, int i))
{
	struct cfg c = cfg_usual();
	struct ibv_wc wc;
	struct end e;

	two_ends(&e);
	end_open(&e, c, 65536);
	end_connect(&e);
	for (int i = 0; i < 60 && !e.server; i++) {
		if (prepare)
			prepare(&e, i);
		need(!rdma_post(&e, IBV_WR_RDMA_WRITE, i, i * 512, 512, e.peer.va + i * 512,
				IBV_SEND_SIGNALED));
		need(wait_wc(e.scq, &wc, 5000));
		nap(0.2);
	}
	end_sync(&e);
	return end_close(&e, 0);
}
