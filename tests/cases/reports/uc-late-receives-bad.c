/*
 * Eight messages over an unreliable connection.
 *
 * The mistake: the server posts its receives 30 ms after the first three were sent.
 */
#include "rep.h"

static void send_some(struct end *e, int from, int to)
{
	struct ibv_wc wc;

	for (int i = from; i < to; i++) {
		need(!send_post(e, i, i * 64, 64, IBV_SEND_SIGNALED));
		need(wait_wc(e->scq, &wc, 5000));
	}
}

int main(void)
{
	struct cfg c = cfg_usual();
	struct ibv_wc wc;
	struct end e;

	two_ends(&e);
	c.type = IBV_QPT_UC;
	end_open(&e, c, 8192);
	end_connect(&e);
	if (!e.server)
		send_some(&e, 0, 3);
	end_sync(&e);
	nap(30);
	for (int i = 0; i < 8 && e.server; i++)
		need(!recv_post(&e, i, i * 64, 64));
	end_sync(&e);
	if (!e.server)
		send_some(&e, 3, 8);
	for (int i = 3; i < 8 && e.server; i++)
		need(wait_wc(e.rcq, &wc, 5000));
	end_sync(&e);
	return end_close(&e, 0);
}
