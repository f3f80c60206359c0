/*
 * A thread writes, and two others poll for the completions, for 3 s at most.
 */
#include "rep.h"

#include <pthread.h>

enum { WRITES = 16 };

static struct end end;
static int total;

static void *poll_all(void *arg)
{
	double until = now_ms() + 3000;
	struct ibv_wc wc;
	int n, own = 0;

	while ((__atomic_load_n(&total, __ATOMIC_RELAXED)) < WRITES && now_ms() < until) {
		n = ibv_poll_cq(end.scq, 1, &wc);
		own += n;
		__atomic_add_fetch(&total, n, __ATOMIC_RELAXED);
	}
	return arg;
}

int main(void)
{
	struct cfg c = cfg_usual();
	pthread_t threads[2];

	two_ends(&end);
	c.sig_all = true;
	c.two_cqs = true;
	end_open(&end, c, 8192);
	end_connect(&end);
	if (!end.server) {
		for (int i = 0; i < 2; i++)
			pthread_create(&threads[i], NULL, poll_all, NULL);
		for (int i = 0; i < WRITES; i++)
			need(!rdma_post(&end, IBV_WR_RDMA_WRITE, i, i * 64, 64,
					end.peer.va + i * 64, 0));
		for (int i = 0; i < 2; i++)
			pthread_join(threads[i], NULL);
	}
	end_sync(&end);
	return end_close(&end, 0);
}
