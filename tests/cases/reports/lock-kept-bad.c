/*
 * Two processes use a lock in the memory of the server, by compare-and-swap.
 *
 * Bad: the server's error path returns without the release, and the client tries in vain; here 300
 * times. GOOD: it releases the lock.
 */
#include "rep.h"

enum { ROUNDS = 5, TRIES = 300 };

static uint64_t swap(struct end *e, struct ibv_qp *qp, uint64_t from, uint64_t to)
{
	uint64_t lock = e->server ? (uintptr_t)e->mem : e->peer.va;
	uint32_t rkey = e->server ? e->mr->rkey : e->peer.rkey;
	struct ibv_sge g = { (uintptr_t)e->mem + 64, 8, e->mr->lkey };
	struct ibv_send_wr w = { .sg_list = &g,
				 .num_sge = 1,
				 .opcode = IBV_WR_ATOMIC_CMP_AND_SWP,
				 .send_flags = IBV_SEND_SIGNALED,
				 .wr.atomic = { lock, from, to, rkey } },
			   *bad;
	struct ibv_wc wc;

	need(!ibv_post_send(qp, &w, &bad));
	need(wait_wc(e->scq, &wc, 1000) && !wc.status);
	return *(uint64_t *)(e->mem + 64);
}

/* The server reaches its own memory by a queue pair that is connected to itself. */
static struct ibv_qp *connect_to_self(struct end *e)
{
	struct ibv_qp_init_attr init = { .send_cq = e->scq,
					 .recv_cq = e->scq,
					 .qp_type = IBV_QPT_RC,
					 .cap = { 4, 1, 1, 1, 0 } };
	struct end self = *e;
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT,
				    .port_num = 1,
				    .qp_access_flags = e->c.access };

	need(self.qp = ibv_create_qp(e->pd, &init));
	need(!ibv_modify_qp(self.qp, &attr,
			    IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS));
	self.peer = e->own;
	self.peer.qpn = self.qp->qp_num;
	need(!end_rtr(&self) && !end_rts(&self));
	return self.qp;
}

static int use_lock(struct end *e, struct ibv_qp *qp, uint64_t me)
{
	for (int i = 0; i < ROUNDS; i++) {
		int tries = 0;

		while (swap(e, qp, 0, me)) {
			if (++tries == TRIES) {
				fprintf(stderr, "the lock is not free\n");
				return 1;
			}
			nap(1);
		}
#ifndef GOOD
		if (e->server && i == ROUNDS - 1)
			return 0; /* the error path */
#endif
		need(swap(e, qp, me, 0) == me);
	}
	return 0;
}

int main(void)
{
	struct ibv_qp *self = NULL;
	struct end e;
	int rc = 0;

	two_ends(&e);
	struct cfg c = cfg_usual();
	c.sq = c.rq = c.cqe = 16;
	end_open(&e, c, 4096);
	if (e.server)
		self = connect_to_self(&e);
	end_connect(&e);
	if (e.server)
		rc = use_lock(&e, self, 1);
	end_sync(&e);
	if (!e.server)
		rc = use_lock(&e, e.qp, 2);
	end_sync(&e);
	if (self)
		need(!ibv_destroy_qp(self));
	return end_close(&e, rc);
}
