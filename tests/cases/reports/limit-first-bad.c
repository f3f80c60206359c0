/*
 * A server posts receives to its shared receive queue after the event of the limit.
 *
 * Bad: the limit is armed where the server starts. GOOD: again after each event.
 */
#include "rep.h"

enum { RECEIVES = 16, LIMIT = 4, MESSAGES = 2 * RECEIVES - LIMIT };

static void arm_limit(struct end *e)
{
	struct ibv_srq_attr attr = { .srq_limit = LIMIT };

	need(!ibv_modify_srq(e->srq, &attr, IBV_SRQ_LIMIT));
}

static void post_receives(struct end *e, int n)
{
	static uint64_t next;

	for (int i = 0; i < n; i++, next++)
		need(!recv_post(e, next, next % RECEIVES * 64, 64));
}

static void take_event(struct end *e, int *taken)
{
	struct pollfd fd = { .fd = e->ctx->async_fd, .events = POLLIN };
	struct ibv_async_event event;

	if (poll(&fd, 1, 0) != 1 || ibv_get_async_event(e->ctx, &event))
		return;
	ibv_ack_async_event(&event);
	post_receives(e, *taken);
	*taken = 0;
#ifdef GOOD
	arm_limit(e);
#endif
}

static void serve(struct end *e)
{
	struct ibv_wc wc;
	int taken = 0;

	post_receives(e, RECEIVES);
	arm_limit(e);
	end_sync(e);
	for (int i = 0; i < MESSAGES; i++) {
		need(wait_wc(e->rcq, &wc, 5000) && !wc.status);
		taken++;
		take_event(e, &taken);
		end_sync(e);
	}
}

static void send_messages(struct end *e)
{
	struct ibv_wc wc;

	end_sync(e);
	for (int i = 0; i < MESSAGES; i++) {
		need(!send_post(e, i, 0, 64, IBV_SEND_SIGNALED));
		need(wait_wc(e->scq, &wc, 5000) && !wc.status);
		end_sync(e);
	}
}

int main(void)
{
	struct cfg c = cfg_usual();
	struct end e;

	two_ends(&e);
	c.srq = true;
	end_open(&e, c, 8192);
	end_connect(&e);
	(e.server ? serve : send_messages)(&e);
	return end_close(&e, 0);
}
