/*
 * The cost of recording a post while several threads post
 *
 *	threads N            by the recorder, which comes by LD_PRELOAD
 *	threads N UST.so     by LTTng's tracepoint in UST.so
 *
 * The verb does nothing (fake_verbs.c). Each thread has its own queue pair and posts alternately on
 * a context that was not opened and on one that is recorded; the figure is the additional processor
 * time of a recorded post, the median over the threads:
 *
 *	post_N SAMPLE SAMPLE ...
 *
 * Run it under hold, whose rings are never full.
 */
#include <dlfcn.h>
#include <infiniband/verbs.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include "scripts/bench/fake_verbs.h"
#include "scripts/bench/sample.h"

enum { THREADS = 16, CALLS = 2000 };

static struct ibv_context *straight, *traced;
static pthread_barrier_t together;
static int nthreads;
static long pause_ns; /* LTTng's reader has to follow */

struct worker {
	pthread_t thread;
	double samples[SAMPLES];
};

static int64_t processor_time(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &ts);
	return (int64_t)ts.tv_sec * 1000000000 + ts.tv_nsec;
}

static int64_t time_posts(struct ibv_context *context, long n)
{
	struct ibv_sge sge = { .addr = 0x1000, .length = 64, .lkey = 7 };
	struct ibv_send_wr wr = { .wr_id = 1,
				  .sg_list = &sge,
				  .num_sge = 1,
				  .opcode = IBV_WR_SEND,
				  .send_flags = IBV_SEND_SIGNALED },
			   *bad;
	struct ibv_qp qp = { .context = context, .qp_type = IBV_QPT_RC };
	int64_t start = processor_time();

	while (n--)
		ibv_post_send(&qp, &wr, &bad);
	return processor_time() - start;
}

static double one_sample(void)
{
	const struct timespec pause = { .tv_nsec = pause_ns };
	double more[PAIRS];

	for (int i = 0; i < PAIRS; i++) {
		int64_t bare;

		pthread_barrier_wait(&together);
		bare = time_posts(straight, CALLS);
		more[i] = (double)(time_posts(traced, CALLS) - bare) / CALLS;
		if (pause_ns)
			nanosleep(&pause, NULL);
	}
	return sample_median(more, PAIRS);
}

static void *run_worker(void *arg)
{
	const struct timespec pause = { .tv_nsec = 20000000 };
	struct worker *worker = arg;

	time_posts(traced, 1); /* its ring is created, and found by hold */
	nanosleep(&pause, NULL);
	for (int i = 0; i < SAMPLES; i++)
		worker->samples[i] = one_sample();
	return NULL;
}

static int use_lttng(const char *path)
{
	void *lib = dlopen(path, RTLD_NOW);
	void **next = lib ? dlsym(lib, "ust_next") : NULL;

	if (!next) {
		fprintf(stderr, "%s\n", dlerror());
		return 1;
	}
	traced = fake_context();
	*next = (void *)traced->ops.post_send;
	traced->ops.post_send = (int (*)(struct ibv_qp *, struct ibv_send_wr *,
					 struct ibv_send_wr **))dlsym(lib, "ust_post_send");
	pause_ns = 3000000l * nthreads;
	return 0;
}

static void print_workers(const struct worker *workers)
{
	double samples[SAMPLES], all[THREADS];
	char name[32];

	for (int s = 0; s < SAMPLES; s++) {
		for (int i = 0; i < nthreads; i++)
			all[i] = workers[i].samples[s];
		samples[s] = sample_median(all, nthreads);
	}
	snprintf(name, sizeof(name), "post_%d", nthreads);
	sample_print(name, samples, SAMPLES);
}

int main(int argc, char **argv)
{
	struct worker workers[THREADS];
	struct ibv_device **list;

	nthreads = argc > 1 ? atoi(argv[1]) : 0;
	if (nthreads < 1 || nthreads > THREADS)
		return 2;
	if (argc > 2 && use_lttng(argv[2]))
		return 1;
	list = ibv_get_device_list(NULL);
	if (argc == 2)
		traced = ibv_open_device(list[0]);
	straight = fake_context();
	ibv_free_device_list(list);
	pthread_barrier_init(&together, NULL, (unsigned int)nthreads);
	for (int i = 0; i < nthreads; i++)
		if (pthread_create(&workers[i].thread, NULL, run_worker, &workers[i]))
			return 1;
	for (int i = 0; i < nthreads; i++)
		pthread_join(workers[i].thread, NULL);
	print_workers(workers);
	return 0;
}
