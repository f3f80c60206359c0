/*
 * A server is started anew, and its client connects to the new one.
 *
 * Bad: the client writes to the place that the former server told it. GOOD: to that of the new one.
 */
#include "rep.h"

static void serve(struct end *e, struct cfg c)
{
	end_open(e, c, e->len);
	end_connect(e);
	end_sync(e);
	exit(end_close(e, 0));
}

/* The next server has its memory elsewhere. */
static void begin(struct end *e, struct cfg c, size_t size)
{
	two_ends(e);
	e->len = size;
	if (e->server)
		serve(e, c);
	end_open(e, c, size);
	end_connect(e);
}

int main(void)
{
	struct cfg c = cfg_usual();
	struct addr former;
	struct ibv_wc wc;
	struct end e;
	int rc;

	c.psn = 7;
	begin(&e, c, 1 << 16);
	former = e.peer;
	end_sync(&e);
	if (end_close(&e, 0))
		return 1;
	need(mmap(NULL, 1 << 20, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) != MAP_FAILED);
	begin(&e, c, 1 << 12);
#ifdef GOOD
	(void)former;
#else
	e.peer.rkey = former.rkey;
	e.peer.va = former.va;
#endif
	need(!rdma_post(&e, IBV_WR_RDMA_WRITE, 1, 0, 64, e.peer.va, IBV_SEND_SIGNALED));
	need(wait_wc(e.scq, &wc, 5000));
	rc = wc.status != IBV_WC_SUCCESS;
	end_sync(&e);
	return end_close(&e, rc);
}
