/*
 * The client sends four messages, and then polls for their completions, each for 1.2 s at most.
 *
 * Bad: it waits for a fifth completion.
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
	for (int i = 0; e.server && i < N; i++)
		need(!recv_post(&e, i, i * 64, 64));
	end_sync(&e);
	for (int i = 0; !e.server && i < N; i++)
		need(!send_post(&e, i, i * 64, 64, IBV_SEND_SIGNALED));
	for (int i = 0; i < N; i++)
		need(wait_wc(e.server ? e.rcq : e.scq, &wc, 5000));
	if (!e.server && !wait_wc(e.scq, &wc, 1200))
		fprintf(stderr, "time-out\n");
	end_sync(&e);
	return end_close(&e, 0);
}
