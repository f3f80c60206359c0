/*
 * The server waits for its messages in poll(2), on the descriptor of its channel.
 *
 * Good: it polls again once it has armed the CQ, and sleeps only then.
 */
#include "rep.h"

enum { MESSAGES = 4 };

static int poll_all(struct end *e)
{
	struct ibv_wc wc;
	int n = 0;

	while (ibv_poll_cq(e->rcq, 1, &wc) > 0)
		n++;
	return n;
}

static int sleep_for_event(struct end *e)
{
	struct pollfd fd = { .fd = e->ch->fd, .events = POLLIN };
	struct ibv_cq *cq;
	void *context;

	if (poll(&fd, 1, 50) == 1 && !ibv_get_cq_event(e->ch, &cq, &context))
		ibv_ack_cq_events(cq, 1);
	return poll_all(e);
}

static int take_message(struct end *e)
{
	int n = 0;

	if (ibv_req_notify_cq(e->rcq, 0))
		return 0;
	n = poll_all(e);
	return n ? n : sleep_for_event(e);
}

int main(void)
{
	struct cfg c = cfg_usual();
	struct ibv_wc wc;
	struct end e;

	two_ends(&e);
	c.channel = true;
	end_open(&e, c, 8192);
	end_connect(&e);
	for (uint64_t i = 0; i < MESSAGES; i++) {
		if (e.server && recv_post(&e, i, i * 64, 64))
			return 1;
		end_sync(&e);
		if (!e.server &&
		    (send_post(&e, i, i * 64, 64, IBV_SEND_SIGNALED) || !wait_wc(e.scq, &wc, 5000)))
			return 1;
		end_sync(&e);
		while (e.server && !take_message(&e))
			;
	}
	return end_close(&e, 0);
}
