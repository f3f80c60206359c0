/*
 * A daemon that drops its rights: root until it has opened the device, then user nobody. It
 * continues to call verbs in this thread, in THREADS new ones, and in a child.
 *
 * 	drops_user WHEN THREADS		WHEN: late, after the first verbs; early, before them
 */
#include <grp.h>
#include <pthread.h>
#include <sys/wait.h>

#include "tests/apps/app.h"

enum { NOBODY = 65534 };

static struct ibv_pd *pd;
static pthread_barrier_t all;

static void drop_user(void)
{
	MUST(setgroups(0, NULL));
	MUST(setgid(NOBODY));
	MUST(setuid(NOBODY));
}

static void *use_verbs(void *arg)
{
	static char buffer[4096];

	for (int i = 0; i < 100; i++)
		MUST(ibv_dereg_mr(NEED(ibv_reg_mr(pd, buffer, sizeof(buffer), 0))));
	return arg;
}

/* None ends before all have begun, or the next would reuse its ring. */
static void *use_verbs_together(void *arg)
{
	use_verbs(arg);
	pthread_barrier_wait(&all);
	return arg;
}

int main(int argc, char **argv)
{
	bool late = argc > 1 && !strcmp(argv[1], "late");
	int threads = argc > 2 ? atoi(argv[2]) : 1, status;
	struct ibv_context *context;
	pthread_t *thread = NEED(calloc((size_t)threads + 1, sizeof(*thread)));
	pid_t child;

	if (!late)
		drop_user();
	context = open_first_device();
	pd = NEED(ibv_alloc_pd(context));
	if (late)
		drop_user();
	use_verbs(NULL);
	MUST(pthread_barrier_init(&all, NULL, (unsigned int)threads + !threads));
	for (int i = 0; i < threads; i++)
		MUST(pthread_create(&thread[i], NULL, use_verbs_together, NULL));
	for (int i = 0; i < threads; i++)
		MUST(pthread_join(thread[i], NULL));
	MUST(ibv_dealloc_pd(pd));
	MUST(ibv_close_device(context));
	child = fork();
	if (!child) {
		context = open_first_device();
		MUST(ibv_close_device(context));
		_exit(0);
	}
	NEED(waitpid(child, &status, 0) == child && !status);
	free(thread);
	return 0;
}
