/*
 * Many threads with verbs, until SIGUSR1
 *
 *	throng N    N threads: each registers a region, polls a CQ, and deregisters the region
 *
 * Prints "ready" when all run, and at the end "all went well" if no verb failed, no system call was
 * interrupted, and no value was lost that a thread has in its registers.
 */
#include "tests/apps/app.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <unistd.h>

enum { MOST = 1000 };

static struct ibv_pd *pd;
static atomic_bool over;
static atomic_int running, failed;

/* Sums in registers, also those of vectors, that go wrong if one of them changes. */
static void work_round(struct ibv_cq *cq, char *buffer, uint64_t *sum, double *sums)
{
	struct ibv_mr *mr = NEED(ibv_reg_mr(pd, buffer, 64, IBV_ACCESS_LOCAL_WRITE));
	struct ibv_wc wc;
	double a = 1, b = 2, c = 3;

	MUST(ibv_poll_cq(cq, 1, &wc));
	for (int i = 0; i < 5000; i++) {
		*sum = *sum * 6364136223846793005u + 1442695040888963407u;
		a += 1, b += 2, c += 3;
	}
	MUST(ibv_dereg_mr(mr));
	*sums += a + b + c - 6;
}

static void *work_on(void *arg)
{
	struct ibv_cq *cq = arg;
	uint64_t sum = 1, again = 1, rounds = 0;
	double sums = 0;
	char buffer[64];

	atomic_fetch_add(&running, 1);
	while (!atomic_load(&over)) {
		work_round(cq, buffer, &sum, &sums);
		rounds++;
		errno = 0;
		if (usleep(20000) || errno)
			atomic_fetch_add(&failed, 1);
	}
	for (uint64_t i = 0; i < 5000 * rounds; i++)
		again = again * 6364136223846793005u + 1442695040888963407u;
	if (again != sum || sums != 30000.0 * (double)rounds)
		atomic_fetch_add(&failed, 1);
	return NULL;
}

int main(int argc, char **argv)
{
	const int n = argc > 1 ? atoi(argv[1]) : 1;
	struct ibv_context *context = open_first_device();
	pthread_t threads[MOST];
	struct ibv_cq *cqs[MOST];
	sigset_t wake;
	int signal;

	NEED(n > 0 && n <= MOST);
	sigemptyset(&wake);
	sigaddset(&wake, SIGUSR1);
	sigprocmask(SIG_BLOCK, &wake, NULL);
	pd = NEED(ibv_alloc_pd(context));
	for (int i = 0; i < n; i++) {
		cqs[i] = NEED(ibv_create_cq(context, 4, NULL, NULL, 0));
		MUST(pthread_create(&threads[i], NULL, work_on, cqs[i]));
	}
	while (atomic_load(&running) < n)
		usleep(1000);
	puts("ready");
	fflush(stdout);
	MUST(sigwait(&wake, &signal));
	atomic_store(&over, true);
	for (int i = 0; i < n; i++) {
		MUST(pthread_join(threads[i], NULL));
		MUST(ibv_destroy_cq(cqs[i]));
	}
	MUST(ibv_dealloc_pd(pd));
	MUST(ibv_close_device(context));
	if (!atomic_load(&failed))
		puts("all went well");
	return atomic_load(&failed) != 0;
}
