/*
 * Threads that come and go:
 *
 * 	threads short N   N threads one after the other, each with one control verb
 * 	threads live N    N threads at one time, each polls its own CQ twice
 * 	threads service N N threads at one time, each with 2,000 control verbs and as many polls
 * 	threads batch N   N threads in batches of 16, each with two polls of an empty CQ
 * 	threads cancel N  N threads one after the other, each cancelled while it waits inside a verb
 * 	threads exit FILE eight threads arm CQs until another one calls exit(3) meanwhile;
 * 	                  how often each has done so is in FILE, eight 64-bit numbers
 */
#include "tests/apps/app.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <unistd.h>

static struct ibv_context *context;
static pthread_barrier_t barrier;

static void *one_verb(void *unused)
{
	(void)unused;
	MUST(ibv_dealloc_pd(NEED(ibv_alloc_pd(context))));
	return NULL;
}

static void *poll_cqs(void *cq)
{
	struct ibv_wc wc;

	for (int i = 0; i < 2; i++)
		MUST(ibv_poll_cq(cq, 1, &wc));
	return NULL;
}

static void *polls_and_waits(void *cq)
{
	poll_cqs(cq);
	pthread_barrier_wait(&barrier);
	return NULL;
}

static void *serve_clients(void *cq)
{
	struct ibv_wc wc;

	pthread_barrier_wait(&barrier);
	for (int i = 0; i < 1000; i++) {
		MUST(ibv_dealloc_pd(NEED(ibv_alloc_pd(context))));
		MUST(ibv_poll_cq(cq, 1, &wc));
		MUST(ibv_poll_cq(cq, 1, &wc));
	}
	pthread_barrier_wait(&barrier);
	return NULL;
}

static void run_threads(long n, void *(*body)(void *), void *arg)
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

static void *wait_for_event(void *channel)
{
	struct ibv_cq *cq;
	void *context_of;

	MUST(ibv_dealloc_pd(NEED(ibv_alloc_pd(context))));
	pthread_barrier_wait(&barrier);
	ibv_get_cq_event(channel, &cq, &context_of); /* there is none */
	return NULL;
}

static void cancel_threads(long n)
{
	struct ibv_comp_channel *channel = NEED(ibv_create_comp_channel(context));
	pthread_t thread;
	void *end;

	pthread_barrier_init(&barrier, NULL, 2);
	for (; n > 0; n--) {
		MUST(pthread_create(&thread, NULL, wait_for_event, channel));
		pthread_barrier_wait(&barrier);
		MUST(pthread_cancel(thread));
		MUST(pthread_join(thread, &end));
		MUST(end != PTHREAD_CANCELED);
	}
	MUST(ibv_destroy_comp_channel(channel));
}

static void *arm_for_ever(void *count)
{
	struct ibv_cq *cq = NEED(ibv_create_cq(context, 1, NULL, NULL, 0));

	for (;;) {
		MUST(ibv_req_notify_cq(cq, 0));
		atomic_fetch_add((_Atomic uint64_t *)count, 1);
	}
	return NULL;
}

static _Noreturn void exit_in_their_midst(const char *path)
{
	enum { N = 8 };
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
	_Atomic uint64_t *counts;
	pthread_t thread;

	MUST(fd < 0 || ftruncate(fd, N * sizeof(*counts)));
	counts = mmap(NULL, N * sizeof(*counts), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	MUST(counts == MAP_FAILED);
	for (int i = 0; i < N; i++)
		MUST(pthread_create(&thread, NULL, arm_for_ever, (void *)(uintptr_t)&counts[i]));
	for (int i = 0; i < N; i++)
		while (atomic_load(&counts[i]) < 100)
			sched_yield();
	exit(3);
}

int main(int argc, char **argv)
{
	long n = argc > 2 ? atol(argv[2]) : 1;
	struct ibv_cq *cq;

	context = open_first_device();
	cq = NEED(ibv_create_cq(context, 1, NULL, NULL, 0));
	if (argc > 1 && !strcmp(argv[1], "short"))
		for (long i = 0; i < n; i++)
			run_threads(1, one_verb, NULL);
	else if (argc > 1 && !strcmp(argv[1], "live"))
		pthread_barrier_init(&barrier, NULL, (unsigned int)n),
			run_threads(n, polls_and_waits, cq);
	else if (argc > 1 && !strcmp(argv[1], "service"))
		pthread_barrier_init(&barrier, NULL, (unsigned int)n),
			run_threads(n, serve_clients, cq);
	else if (argc > 1 && !strcmp(argv[1], "cancel"))
		cancel_threads(n);
	else if (argc > 2 && !strcmp(argv[1], "exit"))
		exit_in_their_midst(argv[2]);
	else
		for (long i = 0; i < n; i += 16)
			run_threads(16, poll_cqs, cq);
	MUST(ibv_destroy_cq(cq));
	MUST(ibv_close_device(context));
	return 0;
}
