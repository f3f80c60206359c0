/*
 * A client writes with a window of eight requests, and polls with room for eight completions.
 *
 * Bad: what a poll returns is handled as one completion: the rest is lost, and the last requests
 * are waited for in vain. GOOD: all are handled.
 */
#include "rep.h"

enum { ALL = 32, WINDOW = 8, SIZE = 64 };

static int write_all(struct end *e)
{
	double end = now_ms() + 400;
	int sent = 0, done = 0;

	while (done < ALL) {
		struct ibv_wc wc[WINDOW];
		int n;

		for (; sent < ALL && sent - done < WINDOW; sent++)
			need(!rdma_post(e, IBV_WR_RDMA_WRITE, (uint64_t)sent, SIZE * (size_t)sent,
					SIZE, e->peer.va + SIZE * (uint64_t)sent,
					IBV_SEND_SIGNALED));
		need((n = ibv_poll_cq(e->scq, WINDOW, wc)) >= 0);
#ifdef GOOD
		done += n;
#else
		done += n > 0;
#endif
		if (now_ms() > end) {
			fprintf(stderr, "%d of %d\n", done, ALL);
			return 1;
		}
	}
	return 0;
}

int main(void)
{
	struct end e;
	int rc = 0;

	two_ends(&e);
	struct cfg c = cfg_usual();
	c.sq = c.cqe = 32;
	end_open(&e, c, 65536);
	end_connect(&e);
	if (!e.server)
		rc = write_all(&e);
	end_sync(&e);
	return end_close(&e, rc);
}
