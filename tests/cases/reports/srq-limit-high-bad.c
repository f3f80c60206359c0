/*
 * A server is to be told when its shared receive queue runs low.
 *
 * Bad: the limit is more than it ever posts, so the event comes at once, and says nothing. GOOD: it
 * is a quarter of what it posts.
 */
#include "rep.h"

int main(void)
{
	enum { RECEIVES = 16 };
	struct ibv_srq_attr attr = { .srq_limit = 48 };
	struct cfg c = cfg_usual();
	struct ibv_wc wc;
	struct end e;

#ifdef GOOD
	attr.srq_limit = RECEIVES / 4;
#endif
	two_ends(&e);
	c.srq = true;
	c.max_srq = 64;
	end_open(&e, c, 8192);
	end_connect(&e);
	for (int i = 0; e.server && i < RECEIVES; i++)
		need(!recv_post(&e, i, i * 64, 64));
	if (e.server)
		need(!ibv_modify_srq(e.srq, &attr, IBV_SRQ_LIMIT));
	end_sync(&e);
	for (int i = 0; i < 4; i++) {
		if (!e.server)
			need(!send_post(&e, i, 0, 64, IBV_SEND_SIGNALED));
		need(wait_wc(e.server ? e.rcq : e.scq, &wc, 5000) && !wc.status);
		if (e.server)
			need(!recv_post(&e, wc.wr_id, wc.wr_id * 64, 64));
	}
	end_sync(&e);
	return end_close(&e, 0);
}
