/*
 * One channel for both completion queues of a server that sleeps in poll(2) until a message comes.
 *
 * Bad: it arms the queue of its sends, where no message completes; a time-out hides that no event
 * comes. GOOD: it arms that of its receives.
 */
#include "rep.h"

enum { MESSAGES = 4 };

static bool take_message(struct end *e)
{
	struct pollfd fd = { .fd = e->ch->fd, .events = POLLIN };
	struct ibv_cq *armed = e->scq, *cq;
	void *context;
	struct ibv_wc wc;

#ifdef GOOD
	armed = e->rcq;
#endif
	need(!ibv_req_notify_cq(armed, 0));
	if (ibv_poll_cq(e->rcq, 1, &wc) == 1)
		return true;
	if (poll(&fd, 1, 50) == 1 && !ibv_get_cq_event(e->ch, &cq, &context))
		ibv_ack_cq_events(cq, 1);
	return ibv_poll_cq(e->rcq, 1, &wc) == 1;
}

int main(void)
{
	struct cfg c = cfg_usual();
	struct ibv_wc wc;
	struct end e;

	two_ends(&e);
	c.channel = c.two_cqs = true;
	end_open(&e, c, 8192);
	end_connect(&e);
	for (uint64_t i = 0; i < MESSAGES; i++) {
		if (e.server)
			need(!recv_post(&e, i, i * 64, 64));
		end_sync(&e);
		nap(e.server ? 0 : 10);
		if (!e.server) {
			need(!send_post(&e, i, i * 64, 64, IBV_SEND_SIGNALED));
			need(wait_wc(e.scq, &wc, 5000));
		}
		while (e.server && !take_message(&e))
			;
		end_sync(&e);
	}
	return end_close(&e, 0);
}
