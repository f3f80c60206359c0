/*
 * An echo server answers from where the request came, and posts the buffer again for the next one.
 *
 * Bad: it has one buffer, and posts it while the answer is in flight. GOOD: it has two, and posts
 * the other one before it answers.
 */
#include "rep.h"

enum { REQUESTS = 20, SIZE = 256, OTHER = 4096 };

static void serve(struct end *e)
{
	struct ibv_wc wc;

	need(!recv_post(e, 0, 0, SIZE));
	end_sync(e);
	for (int i = 0; i < REQUESTS; i++) {
		need(wait_wc(e->rcq, &wc, 5000) && !wc.status);
#ifdef GOOD
		need(!recv_post(e, !wc.wr_id, !wc.wr_id * SIZE, SIZE));
#endif
		need(!send_post(e, 2, wc.wr_id * SIZE, wc.byte_len, IBV_SEND_SIGNALED));
#ifndef GOOD
		need(!recv_post(e, 0, 0, SIZE));
#endif
		need(wait_wc(e->scq, &wc, 5000) && !wc.status);
	}
}

static void ask(struct end *e)
{
	struct ibv_wc wc;

	end_sync(e);
	for (int i = 0; i < REQUESTS; i++) {
		need(!recv_post(e, 1, OTHER, SIZE));
		memset(e->mem, i, SIZE);
		need(!send_post(e, 2, 0, SIZE, IBV_SEND_SIGNALED));
		need(wait_wc(e->scq, &wc, 5000) && !wc.status);
		need(wait_wc(e->rcq, &wc, 5000) && !wc.status);
		need(e->mem[OTHER] == (char)i);
	}
}

int main(void)
{
	struct cfg c = cfg_usual();
	struct end e;

	c.two_cqs = true;
	two_ends(&e);
	end_open(&e, c, 8192);
	end_connect(&e);
	(e.server ? serve : ask)(&e);
	end_sync(&e);
	return end_close(&e, 0);
}
