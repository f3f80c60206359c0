/*
 * The peer is allowed to write to a region, in which receives are outstanding.
 *
 * Bad: the region is changed under them. GOOD: before they are posted.
 */
#include "rep.h"

enum { RECEIVES = 4, SIZE = 64 };

static void allow_writes(struct end *e)
{
	need(!ibv_rereg_mr(e->mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0,
			   IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE));
}

static void receive(struct end *e)
{
	struct ibv_wc wc;

#ifdef GOOD
	allow_writes(e);
#endif
	for (int i = 0; i < RECEIVES; i++)
		need(!recv_post(e, i, i * SIZE, SIZE));
#ifndef GOOD
	allow_writes(e);
#endif
	end_sync(e);
	for (int i = 0; i < RECEIVES; i++)
		need(wait_wc(e->rcq, &wc, 5000) && !wc.status);
}

static void send_messages(struct end *e)
{
	struct ibv_wc wc;

	end_sync(e);
	for (int i = 0; i < RECEIVES; i++) {
		need(!send_post(e, i, 0, SIZE, IBV_SEND_SIGNALED));
		need(wait_wc(e->scq, &wc, 5000) && !wc.status);
	}
}

int main(void)
{
	struct cfg c = cfg_usual();
	struct end e;

	two_ends(&e);
	c.mr_access = IBV_ACCESS_LOCAL_WRITE;
	end_open(&e, c, 8192);
	end_connect(&e);
	(e.server ? receive : send_messages)(&e);
	end_sync(&e);
	return end_close(&e, 0);
}
