/*
 * A server answers in the buffer of the request, which it has posted again before: the next request
 * may come first. GOOD: it posts the buffer behind the answer.
 */
#include "rep.h"

enum { SLOTS = 8, SLOT = 256, OWN = 4096 };

/* The next completion with @opcode; one of the other kind that comes first is for the next call. */
static struct ibv_wc next_of(struct end *e, enum ibv_wc_opcode opcode)
{
	static struct ibv_wc early;
	static bool is_early;
	struct ibv_wc wc;

	if (is_early && early.opcode == opcode) {
		is_early = false;
		return early;
	}
	need(wait_wc(e->scq, &wc, 5000) && !wc.status);
	if (wc.opcode == opcode)
		return wc;
	need(!is_early);
	early = wc;
	is_early = true;
	return next_of(e, opcode);
}

static void serve(struct end *e)
{
	int slot = (int)next_of(e, IBV_WC_RECV).wr_id;

#ifndef GOOD
	need(!recv_post(e, slot, slot * SLOT, SLOT));
#endif
	need(!send_post(e, 99, slot * SLOT, 64, IBV_SEND_SIGNALED));
	next_of(e, IBV_WC_SEND);
#ifdef GOOD
	need(!recv_post(e, slot, slot * SLOT, SLOT));
#endif
}

static void ask(struct end *e)
{
	int slot;

	need(!send_post(e, 99, OWN, 64, IBV_SEND_SIGNALED));
	next_of(e, IBV_WC_SEND);
	slot = (int)next_of(e, IBV_WC_RECV).wr_id;
	need(!recv_post(e, slot, slot * SLOT, SLOT));
}

int main(void)
{
	struct end e;

	two_ends(&e);
	end_open(&e, cfg_usual(), 8192);
	for (int i = 0; i < SLOTS; i++)
		need(!recv_post(&e, i, i * SLOT, SLOT));
	end_connect(&e);
	for (int i = 0; i < 20; i++)
		(e.server ? serve : ask)(&e);
	end_sync(&e);
	return end_close(&e, 0);
}
