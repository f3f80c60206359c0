/*
 * A client asks a server, and waits for the answer for half a second at most.
 *
 * Bad: the server drops the connection when the request is in its CQ, not polled. GOOD: it polls
 * it, and answers.
 */
#include "rep.h"

int main(void)
{
	struct cfg c = cfg_usual();
	struct ibv_wc wc;
	struct end e;
	int rc = 0;

	c.two_cqs = true;
	two_ends(&e);
	end_open(&e, c, 8192);
	need(!recv_post(&e, 1, 4096, 64));
	end_connect(&e);
	if (!e.server) {
		need(!send_post(&e, 2, 0, 64, IBV_SEND_SIGNALED));
		need(wait_wc(e.scq, &wc, 5000) && !wc.status);
		end_sync(&e);
		if (!wait_wc(e.rcq, &wc, 500))
			exit(1);
	} else {
		end_sync(&e);
#ifdef GOOD
		need(wait_wc(e.rcq, &wc, 5000) && !wc.status);
		need(!send_post(&e, 3, 0, 64, IBV_SEND_SIGNALED));
		need(wait_wc(e.scq, &wc, 5000) && !wc.status);
#endif
	}
	return end_close(&e, rc);
}
