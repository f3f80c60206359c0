/*
 * Records are written into a ring at the peer, each with immediate data. The writer counts the
 * receives that the peer has posted, not the slots. GOOD: it does not pass a slot that is not read.
 */
#include "rep.h"

enum { RECORDS = 32, SLOTS = 8, SIZE = 512 };

static void write_record(struct end *e, int i)
{
	struct ibv_wc wc;

	memset(e->mem, i, SIZE);
	need(!rdma_post(e, IBV_WR_RDMA_WRITE_WITH_IMM, i, 0, SIZE, e->peer.va + i % SLOTS * SIZE,
			IBV_SEND_SIGNALED));
	need(wait_wc(e->scq, &wc, 5000) && !wc.status);
}

int main(void)
{
	struct cfg c = cfg_usual();
	int burst = 2 * SLOTS;
	struct ibv_wc wc;
	struct end e;

#ifdef GOOD
	burst = SLOTS;
#endif
	two_ends(&e);
	end_open(&e, c, SLOTS * SIZE);
	for (int i = 0; i < RECORDS && e.server; i++)
		need(!recv_post(&e, i, 0, 0));
	end_connect(&e);
	for (int i = 0; i < RECORDS; i += burst) {
		for (int k = 0; k < burst && !e.server; k++)
			write_record(&e, i + k);
		end_sync(&e);
		for (int k = 0; k < burst && e.server; k++)
			need(wait_wc(e.rcq, &wc, 5000) && !wc.status);
		end_sync(&e);
	}
	return end_close(&e, 0);
}
