/*
 * A server posts receives when its shared receive queue runs low, as the event of its limit says.
 *
 * Bad: it arms the limit once. GOOD: each time, after it has posted.
 */
#include "rep.h"

enum { RECEIVES = 8, MESSAGES = 3 * RECEIVES };

static void arm_limit(struct end *e)
{
	struct ibv_srq_attr attr = { .srq_limit = RECEIVES / 2 };

	need(!ibv_modify_srq(e->srq, &attr, IBV_SRQ_LIMIT));
}

static void fill_up(struct end *e, int *posted)
{
	static uint64_t next;

	for (; *posted < RECEIVES; ++*posted, next++)
		need(!recv_post(e, next, next % RECEIVES * 64, 64));
}

static void refill(struct end *e, int *posted)
{
	struct pollfd fd = { .fd = e->ctx->async_fd, .events = POLLIN };
	struct ibv_async_event event;

	if (poll(&fd, 1, 0) != 1 || ibv_get_async_event(e->ctx, &event))
		return;
	ibv_ack_async_event(&event);
	fill_up(e, posted);
#ifdef GOOD
	arm_limit(e);
#endif
}

int main(void)
{
	struct cfg c = cfg_usual();
	struct ibv_wc wc;
	struct end e;
	int posted = 0;

	two_ends(&e);
	c.srq = true;
	c.rnr_retry = 1;
	end_open(&e, c, 8192);
	end_connect(&e);
	if (e.server) {
		fill_up(&e, &posted);
		arm_limit(&e);
	}
	end_sync(&e);
	for (int i = 0; i < MESSAGES; i++) {
		char failed = 0;

		if (!e.server) {
			need(!send_post(&e, i, 0, 64, IBV_SEND_SIGNALED));
			failed = !wait_wc(e.scq, &wc, 5000) || wc.status;
			put(&e, &failed, 1);
		} else {
			need(!get(&e, &failed, 1));
		}
		if (failed)
			return end_close(&e, 0);
		if (e.server) {
			need(wait_wc(e.rcq, &wc, 5000) && !wc.status);
			posted--;
			refill(&e, &posted);
		}
		end_sync(&e);
	}
	return end_close(&e, 0);
}
