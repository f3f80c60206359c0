/*
 * Many threads that each call three verbs, and all live until the last has called them
 *
 *	first_verbs THREADS
 */
#include <infiniband/verbs.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { MOST = 10000, LENGTH = 4096, STACK = 64 << 10 };

static char buffer[LENGTH];
static struct ibv_pd *pd;
static struct ibv_cq *cq;
static pthread_barrier_t all;

static void *call_verbs(void *arg)
{
	struct ibv_mr *mr = ibv_reg_mr(pd, buffer, LENGTH, IBV_ACCESS_LOCAL_WRITE);
	struct ibv_wc wc;

	(void)arg;
	ibv_poll_cq(cq, 1, &wc);
	if (mr)
		ibv_dereg_mr(mr);
	pthread_barrier_wait(&all);
	return mr;
}

static int run_threads(int n)
{
	static pthread_t threads[MOST];
	pthread_attr_t attr;

	pthread_barrier_init(&all, NULL, (unsigned int)n);
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, STACK);
	for (int i = 0; i < n; i++)
		if (pthread_create(&threads[i], &attr, call_verbs, NULL))
			exit(1); /* the others wait for it */
	for (int i = 0; i < n; i++)
		pthread_join(threads[i], NULL);
	return 0;
}

int main(int argc, char **argv)
{
	int n = argc > 1 ? atoi(argv[1]) : 1;
	struct ibv_device **list = ibv_get_device_list(NULL);
	struct ibv_context *context = list && list[0] ? ibv_open_device(list[0]) : NULL;

	pd = context ? ibv_alloc_pd(context) : NULL;
	cq = pd ? ibv_create_cq(context, 1, NULL, NULL, 0) : NULL;
	if (!cq || n < 1 || n > MOST) {
		fputs("first_verbs: no device\n", stderr);
		return 1;
	}
	return run_threads(n);
}
