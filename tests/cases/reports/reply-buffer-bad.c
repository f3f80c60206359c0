/*
 * A server marshals each reply into its only reply buffer, and sends it, while earlier replies of
 * the same burst of calls are in flight. GOOD: a buffer for each reply of a burst.
 */
#include "rep.h"

enum { ROUNDS = 8, BURST = 8, SIZE = 512, REPLIES = BURST * SIZE };

static void await(struct ibv_cq *cq, int n)
{
	struct ibv_wc wc;

	for (int i = 0; i < n; i++)
		need(wait_wc(cq, &wc, 5000) && !wc.status);
}

static void take_burst(struct end *e)
{
	for (int i = 0; i < BURST; i++)
		need(!recv_post(e, i, i * SIZE, SIZE));
}

static void reply(struct end *e, int i)
{
	int at = REPLIES;

#ifdef GOOD
	at += i * SIZE;
#endif
	await(e->rcq, 1);
	memset(e->mem + at, i, SIZE);
	need(!send_post(e, i, at, SIZE, IBV_SEND_SIGNALED));
}

int main(void)
{
	struct cfg c = cfg_usual();
	struct end e;

	c.two_cqs = true;
	two_ends(&e);
	end_open(&e, c, 2 * REPLIES);
	end_connect(&e);
	for (int round = 0; round < ROUNDS; round++) {
		take_burst(&e);
		end_sync(&e);
		for (int i = 0; i < BURST && !e.server; i++)
			need(!send_post(&e, i, REPLIES + i * SIZE, 64, IBV_SEND_SIGNALED));
		end_sync(&e);
		for (int i = 0; i < BURST && e.server; i++)
			reply(&e, i);
		await(e.scq, BURST);
		if (!e.server)
			await(e.rcq, BURST);
	}
	end_sync(&e);
	return end_close(&e, 0);
}
