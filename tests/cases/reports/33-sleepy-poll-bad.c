/*
 * A poller that sleeps 20 ms after 10 empty polls: the answers lie in the CQ. [monarch#3391] GOOD:
 * polls on. A case for stat and diff
 */
#include "rep.h"
static int poll_one(struct end *e, struct ibv_wc *wc)
{
	for (int spin = 0;;) {
		int n = ibv_poll_cq(e->scq, 1, wc);
		if (n)
			return n;
#ifndef GOOD
		if (!e->server && ++spin > 10) {
			nap(20);
			spin = 0;
		}
#endif
		nap(0.05);
		(void)spin;
	}
}
int main(void)
{
	struct end e;
	struct ibv_wc wc;
	two_ends(&e);
	end_open(&e, cfg_usual(), 1 << 16);
	for (int i = 0; i < 32; i++)
		need(!recv_post(&e, i, i * 64, 64));
	end_connect(&e);
	for (int i = 0; i < 100;) {
		if (!e.server)
			need(!send_post(&e, 1000 + i, 4096, 64,
					0 + (i % 16 ? 0 : IBV_SEND_SIGNALED)));
		do {
			need(poll_one(&e, &wc) == 1 && !wc.status);
		} while (wc.wr_id >= 1000);
		need(!recv_post(&e, wc.wr_id, wc.wr_id * 64, 64));
		i++;
		if (e.server) {
			nap(3);
			need(!send_post(&e, 1000 + i, 4096, 64, i % 16 ? 0 : IBV_SEND_SIGNALED));
		}
	}
	nap(5);
	end_sync(&e);
	return end_close(&e, 0);
}
