/*
 * The client sends, and waits for the completion for 0.8 s at most.
 *
 * Bad: neither the queue pair nor the request asks for a completion.
 */
#include "rep.h"

int main(void)
{
	struct cfg c = cfg_usual();
	struct ibv_wc wc;
	struct end e;

	two_ends(&e);
	c.sig_all = false;
	end_open(&e, c, 8192);
	end_connect(&e);
	if (e.server && recv_post(&e, 1, 0, 64))
		return 1;
	end_sync(&e);
	if (!e.server && !send_post(&e, 9, 0, 64, 0) && !wait_wc(e.scq, &wc, 800))
		fprintf(stderr, "time-out\n");
	if (e.server && !wait_wc(e.rcq, &wc, 5000))
		return 1;
	end_sync(&e);
	return end_close(&e, 0);
}
