/*
 * Threads, a fork and an exec, all with verbs; marks, too
 *
 *	crowd N       four threads, N protection domains each; a child that makes N
 *	              and becomes "crowd leaf N"
 *	crowd leaf N  makes N
 */
#include "tests/apps/app.h"

#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include "shim/trace/verbatim.h"

enum { THREADS = 4 };

static struct ibv_context *context;
static long count;

static void *call_verbs(void *unused)
{
	verbatim_phase("calls", 1);
	for (long i = 0; i < count; i++) {
		struct ibv_pd *pd = NEED(ibv_alloc_pd(context));
		struct ibv_cq *cq = NEED(ibv_create_cq(context, 4, NULL, NULL, 0));
		struct ibv_wc wc;

		MUST(ibv_poll_cq(cq, 1, &wc));
		MUST(ibv_req_notify_cq(cq, 0));
		MUST(ibv_destroy_cq(cq));
		MUST(ibv_dealloc_pd(pd));
	}
	verbatim_phase("calls", 0);
	return unused;
}

static void go_on_as_leaf(char **argv)
{
	int status;
	pid_t pid = fork();

	if (!pid) {
		context = open_first_device();
		call_verbs(NULL);
		execl("/proc/self/exe", argv[0], "leaf", argv[1], NULL);
		_exit(127);
	}
	MUST(waitpid(pid, &status, 0) != pid || status);
}

int main(int argc, char **argv)
{
	bool leaf = argc == 3;
	pthread_t threads[THREADS];

	if (argc < 2)
		return 2;
	count = atol(argv[argc - 1]);
	context = open_first_device();
	if (leaf)
		return call_verbs(NULL) != NULL;
	for (int i = 0; i < THREADS; i++)
		MUST(pthread_create(&threads[i], NULL, call_verbs, NULL));
	for (int i = 0; i < THREADS; i++)
		MUST(pthread_join(threads[i], NULL));
	go_on_as_leaf(argv);
	MUST(ibv_close_device(context));
	return 0;
}
