/*
 * A client asks a server, which writes its answers into the client's memory. One answer takes long:
 * the client gives it up, and needs memory for a receive.
 *
 * Bad: it uses the place of the answer, which then comes. GOOD: it uses other memory.
 */
#include "rep.h"

enum { REQUESTS = 8, SLOW = 6, ANSWER = 512, RECEIVES = 8192, REQUEST = 4096, PATIENCE_MS = 30 };

static void serve(struct end *e)
{
	struct ibv_wc wc;

	for (int i = 0; i < REQUESTS; i++) {
		need(wait_wc(e->rcq, &wc, 5000) && !wc.status);
		if (i == SLOW)
			nap(3 * PATIENCE_MS);
		e->mem[ANSWER - 1] = i + 1;
		need(!rdma_post(e, IBV_WR_RDMA_WRITE, i, 0, ANSWER, e->peer.va, IBV_SEND_SIGNALED));
		need(wait_wc(e->scq, &wc, 5000) && !wc.status);
		if (i == SLOW)
			return;
	}
}

static bool ask(struct end *e, int i)
{
	volatile char *last = e->mem + ANSWER - 1;
	double end = now_ms() + PATIENCE_MS;
	struct ibv_wc wc;

	need(!send_post(e, i, REQUEST, 64, IBV_SEND_SIGNALED));
	need(wait_wc(e->scq, &wc, 5000) && !wc.status);
	while (*last != i + 1 && (i != SLOW || now_ms() < end))
		nap(0.05);
	return *last == i + 1;
}

int main(void)
{
	struct cfg c = cfg_usual();
	struct end e;

	c.two_cqs = true;
	two_ends(&e);
	end_open(&e, c, 16384);
	for (int i = 0; i < 16; i++)
		need(!recv_post(&e, i, RECEIVES + i * 64, 64));
	end_connect(&e);
	if (e.server)
		serve(&e);
	for (int i = 0; !e.server && i <= SLOW; i++)
		if (!ask(&e, i))
#ifdef GOOD
			need(!recv_post(&e, 99, RECEIVES + 1024, 64));
#else
			need(!recv_post(&e, 99, 0, 64));
#endif
	end_sync(&e);
	return end_close(&e, 0);
}
