/*
 * Threads that come and go:
 *
 *	threads short N   N threads one after the other, each with one control verb
 *	threads live N    N threads at one time, each polls its own CQ twice
 *	threads batch N   N threads in batches of 16, each with two polls of an empty CQ
 */
#include "tests/apps/app.h"

#include <pthread.h>

static struct ibv_context *context;
static pthread_barrier_t barrier;

static void *one_verb(void *unused)
{
	(void)unused;
	MUST(ibv_dealloc_pd(NEED(ibv_alloc_pd(context))));
	return NULL;
}

static void *polls(void *cq)
{
	struct ibv_wc wc;

	for (int i = 0; i < 2; i++)
		MUST(ibv_poll_cq(cq, 1, &wc));
	return NULL;
}

static void *polls_and_waits(void *cq)
{
	polls(cq);
	pthread_barrier_wait(&barrier);
	return NULL;
}

static void run(long n, void *(*body)(void *), void *arg)
{
	pthread_t *threads = NEED(calloc((size_t)n, sizeof(*threads)));
	pthread_attr_t attr;

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 128 << 10);
	for (long i = 0; i < n; i++)
		MUST(pthread_create(&threads[i], &attr, body, arg));
	for (long i = 0; i < n; i++)
		pthread_join(threads[i], NULL);
	free(threads);
}

int main(int argc, char **argv)
{
	long n = argc > 2 ? atol(argv[2]) : 1;
	struct ibv_cq *cq;

	context = open_first_device();
	cq = NEED(ibv_create_cq(context, 1, NULL, NULL, 0));
	if (argc > 1 && !strcmp(argv[1], "short"))
		for (long i = 0; i < n; i++)
			run(1, one_verb, NULL);
	else if (argc > 1 && !strcmp(argv[1], "live"))
		pthread_barrier_init(&barrier, NULL, (unsigned int)n), run(n, polls_and_waits, cq);
	else
		for (long i = 0; i < n; i += 16)
			run(16, polls, cq);
	MUST(ibv_destroy_cq(cq));
	MUST(ibv_close_device(context));
	return 0;
}
