/*
 * Many hand-shakes wait at the server; the client's queue pair is in RTS and sends long before the
 * server's is in RTR, and gives up. [Mooncake#2793] GOOD: sends when the server has said that it is
 * connected
 */
#include "rep.h"
int main(void)
{
	struct end e;
	struct cfg c = cfg_usual();
	struct ibv_wc wc;
	int rc = 0;
	char b = 'x';
	two_ends(&e);
	c.timeout = 8;
	c.retry = 3;
	end_open(&e, c, 1 << 16);
	need(!recv_post(&e, 1, 0, 64));
	end_swap(&e);
	if (e.server) {
		nap(700); /* others before it */
		need(!end_rtr(&e));
		need(!end_rts(&e));
		put(&e, &b, 1);
		rc = !wait_wc(e.scq, &wc, 1500) || wc.status;
	} else {
		need(!end_rtr(&e));
		need(!end_rts(&e));
#ifdef GOOD
		need(!get(&e, &b, 1));
#endif
		need(!send_post(&e, 7, 0, 64, IBV_SEND_SIGNALED));
		rc = !wait_wc(e.scq, &wc, 3000) || wc.status;
		if (rc)
			fprintf(stderr, "client: %s\n", ibv_wc_status_str(wc.status));
#ifndef GOOD
		get(&e, &b, 1);
#endif
	}
	end_sync(&e);
	return end_close(&e, rc);
}
