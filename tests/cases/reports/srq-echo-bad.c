/*
 * A server that takes its requests from an SRQ answers from the buffer of the request, and gives
 * the buffer back to the SRQ while the answer is in flight. GOOD: after the answer's completion.
 */
#include "rep.h"

enum { REQUESTS = 20, SLOTS = 8, SIZE = 256, OTHER = SLOTS * SIZE };

static void await(struct ibv_cq *cq, struct ibv_wc *wc)
{
	need(wait_wc(cq, wc, 5000) && !wc->status);
}

static void answer(struct end *e)
{
	struct ibv_wc request, sent;

	await(e->rcq, &request);
	need(!send_post(e, 100, request.wr_id * SIZE, request.byte_len, IBV_SEND_SIGNALED));
#ifdef GOOD
	await(e->scq, &sent);
#endif
	need(!recv_post(e, request.wr_id, request.wr_id * SIZE, SIZE));
#ifndef GOOD
	await(e->scq, &sent);
#endif
}

static void ask(struct end *e)
{
	struct ibv_wc wc;

	need(!send_post(e, 100, OTHER, SIZE, IBV_SEND_SIGNALED));
	await(e->scq, &wc);
	await(e->rcq, &wc);
	need(!recv_post(e, wc.wr_id, wc.wr_id * SIZE, SIZE));
}

int main(void)
{
	struct cfg c = cfg_usual();
	struct end e;

	c.srq = c.two_cqs = true;
	two_ends(&e);
	end_open(&e, c, 4096);
	for (int i = 0; i < SLOTS; i++)
		need(!recv_post(&e, i, i * SIZE, SIZE));
	end_connect(&e);
	for (int i = 0; i < REQUESTS; i++)
		(e.server ? answer : ask)(&e);
	end_sync(&e);
	return end_close(&e, 0);
}
