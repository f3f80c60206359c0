/*
 * Rendezvous by RDMA READ: the client offers a buffer, the server reads it and says FIN, and the
 * client deregisters it.
 *
 * Bad: FIN is posted behind the READ without a fence, and may arrive before all was read. GOOD:
 * IBV_SEND_FENCE.
 */
#include "rep.h"

#ifdef GOOD
#define FIN (IBV_SEND_SIGNALED | IBV_SEND_FENCE)
#else
#define FIN IBV_SEND_SIGNALED
#endif
enum { MESSAGES = 5, SIZE = 64, BUFFER = 32768 };

struct offer {
	uint64_t addr;
	uint32_t rkey;
};

static char *offer_of(struct end *e, int i)
{
	return e->mem + SIZE * i;
}

static void wait_for(struct ibv_cq *cq)
{
	struct ibv_wc wc;

	need(wait_wc(cq, &wc, 1000) && !wc.status);
}

static void offer_buffer(struct end *e, int i, char *buffer)
{
	struct ibv_mr *mr = ibv_reg_mr(e->pd, buffer, BUFFER, IBV_ACCESS_REMOTE_READ);

	need(mr);
	*(struct offer *)offer_of(e, MESSAGES + i) = (struct offer){ (uintptr_t)buffer, mr->rkey };
	need(!send_post(e, 10, SIZE * (size_t)(MESSAGES + i), SIZE, IBV_SEND_SIGNALED));
	wait_for(e->scq);
	wait_for(e->rcq); /* FIN */
	need(!ibv_dereg_mr(mr));
}

static void read_buffer(struct end *e, int i)
{
	struct offer offer;

	wait_for(e->rcq);
	memcpy(&offer, offer_of(e, i), sizeof(offer));
	e->peer.rkey = offer.rkey;
	need(!rdma_post(e, IBV_WR_RDMA_READ, 20, 4096, BUFFER, offer.addr, IBV_SEND_SIGNALED));
	need(!send_post(e, 21, 0, SIZE, FIN));
	wait_for(e->scq);
	wait_for(e->scq);
}

int main(void)
{
	struct end e;

	two_ends(&e);
	struct cfg c = cfg_usual();
	c.two_cqs = true;
	c.sq = c.rq = c.cqe = 16;
	end_open(&e, c, 65536);
	for (int i = 0; i < MESSAGES; i++)
		need(!recv_post(&e, (uint64_t)i, SIZE * (size_t)i, SIZE));
	end_connect(&e);
	for (int i = 0; i < MESSAGES; i++) {
		char *buffer = malloc(BUFFER);

		need(buffer);
		if (e.server)
			read_buffer(&e, i);
		else
			offer_buffer(&e, i, buffer);
		free(buffer);
	}
	end_sync(&e);
	return end_close(&e, 0);
}
