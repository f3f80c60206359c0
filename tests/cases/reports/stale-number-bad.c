/*
 * The server starts anew between the two halves of the hand-shake, and has another queue pair then.
 *
 * Bad: the client connects to the one that was announced to it first.
 */
#include "rep.h"

static void start_anew(struct end *e, struct cfg c)
{
	if (ibv_destroy_qp(e->qp) || ibv_destroy_cq(e->scq) || ibv_dereg_mr(e->mr) ||
	    ibv_dealloc_pd(e->pd) || ibv_close_device(e->ctx))
		exit(1);
	end_open(e, c, 8192);
}

int main(void)
{
	struct cfg c = cfg_usual();
	struct addr first;
	struct ibv_wc wc;
	struct end e;

	two_ends(&e);
	c.timeout = 8;
	c.retry = 2;
	end_open(&e, c, 8192);
	end_swap(&e);
	first = e.peer;
	if (e.server)
		start_anew(&e, c);
	end_swap(&e);
	if (!e.server)
		e.peer = first;
	if (recv_post(&e, 1, 0, 64) || end_rtr(&e) || end_rts(&e))
		return 1;
	end_sync(&e);
	if (!e.server && !send_post(&e, 9, 64, 64, IBV_SEND_SIGNALED) && wait_wc(e.scq, &wc, 5000))
		fprintf(stderr, "%s\n", ibv_wc_status_str(wc.status));
	end_sync(&e);
	return end_close(&e, 0);
}
