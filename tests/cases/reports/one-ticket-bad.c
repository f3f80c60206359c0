/*
 * Four tasks of a client take tickets from a counter of the server, and each waits for its own
 * completion: all tickets arrive in one word. GOOD: a word for each task.
 */
#include "rep.h"

enum { ROUNDS = 6, TASKS = 4 };

static void take_ticket(struct end *e, int task)
{
	struct ibv_sge sge = { (uintptr_t)e->mem, 8, e->mr->lkey };
	struct ibv_send_wr *bad, wr = { .wr_id = task,
					.sg_list = &sge,
					.num_sge = 1,
					.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD,
					.send_flags = IBV_SEND_SIGNALED };

#ifdef GOOD
	sge.addr += task * 8;
#endif
	wr.wr.atomic.remote_addr = e->peer.va;
	wr.wr.atomic.rkey = e->peer.rkey;
	wr.wr.atomic.compare_add = 1;
	need(!ibv_post_send(e->qp, &wr, &bad));
}

int main(void)
{
	struct cfg c = cfg_usual();
	struct ibv_wc wc;
	struct end e;

	two_ends(&e);
	end_open(&e, c, 4096);
	end_connect(&e);
	for (int round = 0; round < ROUNDS && !e.server; round++) {
		for (int task = 0; task < TASKS; task++)
			take_ticket(&e, task);
		for (int task = 0; task < TASKS; task++)
			need(wait_wc(e.scq, &wc, 5000) && !wc.status);
	}
	end_sync(&e);
	return end_close(&e, 0);
}
