/*
 * A collector sleeps until a record comes. Records come in pairs, each of a header and a body.
 *
 * Bad: it polls one completion for each event, so the second one of a pair stays until the next
 * pair comes, or the watchdog. GOOD: it polls until the CQ is empty.
 */
#include "rep.h"

enum { PAIRS = 24, SIZE = 64, RECEIVES = 64, WATCHDOG_MS = 200 };

static int take(struct end *e)
{
	struct ibv_wc wc;
	int n = ibv_poll_cq(e->rcq, 1, &wc);

	need(n >= 0);
	if (!n)
		return 0;
	need(!wc.status);
	need(!recv_post(e, wc.wr_id, wc.wr_id * SIZE, SIZE));
	return 1;
}

static int take_all(struct end *e)
{
	int all = 0;

	while (take(e))
		all++;
	return all;
}

static int woken(struct end *e)
{
	struct ibv_cq *cq;
	void *arg;

	need(!ibv_get_cq_event(e->ch, &cq, &arg));
	ibv_ack_cq_events(cq, 1);
	nap(0.5); /* other work, such as a line in a log */
	need(!ibv_req_notify_cq(cq, 0));
#ifdef GOOD
	return take_all(e);
#else
	return take(e);
#endif
}

static void collect(struct end *e)
{
	struct pollfd fd = { .fd = e->ch->fd, .events = POLLIN };
	int all = 0;

	for (int i = 0; i < RECEIVES; i++)
		need(!recv_post(e, i, i * SIZE, SIZE));
	need(!ibv_req_notify_cq(e->rcq, 0));
	end_sync(e);
	while (all < 2 * PAIRS)
		all += poll(&fd, 1, WATCHDOG_MS) > 0 ? woken(e) : take_all(e);
}

static void record(struct end *e)
{
	struct ibv_wc wc;

	end_sync(e);
	for (int i = 0; i < PAIRS; i++) {
		for (int k = 0; k < 2; k++)
			need(!send_post(e, k, k * SIZE, SIZE, IBV_SEND_SIGNALED));
		for (int k = 0; k < 2; k++)
			need(wait_wc(e->scq, &wc, 5000) && !wc.status);
		nap(4);
	}
}

int main(void)
{
	struct cfg c = cfg_usual();
	struct end e;

	two_ends(&e);
	c.channel = e.server;
	end_open(&e, c, 8192);
	end_connect(&e);
	(e.server ? collect : record)(&e);
	end_sync(&e);
	return end_close(&e, 0);
}
