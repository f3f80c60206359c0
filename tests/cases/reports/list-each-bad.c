/*
 * Before each transfer a program checks that its device is still there.
 *
 * Bad: the lists are never freed. GOOD: each is.
 */
#include "rep.h"

enum { TRANSFERS = 6 };

static int count_devices(void)
{
	int n = 0;
	struct ibv_device **list = ibv_get_device_list(&n);

	need(list);
#ifdef GOOD
	ibv_free_device_list(list);
#endif
	return n;
}

int main(void)
{
	struct ibv_wc wc;
	struct end e;

	two_ends(&e);
	end_open(&e, cfg_usual(), 8192);
	end_connect(&e);
	for (int i = 0; !e.server && i < TRANSFERS; i++) {
		need(count_devices());
		need(!rdma_post(&e, IBV_WR_RDMA_WRITE, i, 0, 64, e.peer.va, IBV_SEND_SIGNALED));
		need(wait_wc(e.scq, &wc, 5000) && !wc.status);
	}
	end_sync(&e);
	return end_close(&e, 0);
}
