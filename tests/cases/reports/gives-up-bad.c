/*
 * A client that waits for each of its messages, 0.8 s at most, and goes on.
 *
 * The mistake: it has forgotten the flag of one of them.
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
	for (int i = 0; i < 30 && e.server; i++)
		need(!recv_post(&e, i, i * 64, 64));
	end_sync(&e);
	for (int i = 0; i < 30; i++) {
		if (e.server) {
			need(wait_wc(e.rcq, &wc, 9000));
			continue;
		}
		need(!send_post(&e, i, i * 64, 64, i == 10 ? 0 : IBV_SEND_SIGNALED));
		if (!wait_wc(e.scq, &wc, 800))
			fprintf(stderr, "message %d: time-out\n", i);
	}
	end_sync(&e);
	return end_close(&e, 0);
}
