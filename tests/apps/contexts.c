/*
 * Verbs called in unusual contexts. An argument selects one:
 *
 * 	loader       in a thread that the holder of the loader's lock waits for
 * 	constructor  in the constructor and the destructor of a library, and in a
 * 		     thread that its constructor waits for
 * 	handler      in a signal handler that interrupts malloc(), the loader and
 * 		     other verbs
 * 	exit         in a function of atexit(), in a destructor of a thread, of the program
 * 	fork         before a fork in a thread that is waited for, in the child, after vfork()
 * 	dlopen       while another thread loads and unloads
 *
 * The library is LIBRARY of the environment: it calls back by the address in HOOK. What the program
 * prints does not depend on time.
 */
#include <dlfcn.h>
#include <link.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/apps/app.h"

static char buffer[4096];
static struct ibv_context *context;
static struct ibv_pd *pd;
static struct ibv_cq *cq;
static struct ibv_qp *qp, *other;
static _Atomic int failures;

static struct ibv_qp *make_qp(void)
{
	struct ibv_qp *made = create_rc_qp(pd, cq);

	connect_to_itself(context, made);
	return made;
}

static void open_all(void)
{
	context = open_first_device();
	pd = NEED(ibv_alloc_pd(context));
	cq = NEED(ibv_create_cq(context, 64, NULL, NULL, 0));
	qp = make_qp();
	other = make_qp();
}

static int post_one(struct ibv_qp *to)
{
	struct ibv_recv_wr wr = { .wr_id = 1 }, *bad;
	struct ibv_wc wc;

	while (ibv_poll_cq(cq, 1, &wc) > 0)
		;
	return ibv_post_recv(to, &wr, &bad);
}

/* A control verb and a post. A full queue is not a failure. */
static void call_verbs(void)
{
	struct ibv_mr *mr = ibv_reg_mr(pd, buffer, sizeof(buffer), 0);

	failures += !mr || ibv_dereg_mr(mr);
	post_one(other);
}

static void *thread_of_verbs(void *unused)
{
	call_verbs();
	MUST(ibv_destroy_qp(create_rc_qp(pd, cq)));
	return unused;
}

static void wait_for_thread(void)
{
	pthread_t thread;

	MUST(pthread_create(&thread, NULL, thread_of_verbs, NULL));
	pthread_join(thread, NULL);
}

static int in_loader(struct dl_phdr_info *info, size_t size, void *arg)
{
	(void)info;
	(void)size;
	(void)arg;
	wait_for_thread();
	call_verbs();
	return 1;
}

static void try_loader(void)
{
	dl_iterate_phdr(in_loader, NULL);
}

static void wait_and_call(void)
{
	wait_for_thread();
	call_verbs();
}

static void try_constructor(void)
{
	char text[32];
	void *library;

	snprintf(text, sizeof(text), "%p", (void *)wait_and_call);
	setenv("HOOK", text, 1);
	library = NEED(dlopen(getenv("LIBRARY"), RTLD_NOW | RTLD_LOCAL));
	dlclose(library);
	NEED(dlopen(getenv("LIBRARY"),
		    RTLD_NOW | RTLD_LOCAL)); /* its destructor is the program's */
}

/* Verbs that take no lock in the software device, which this thread may hold. */
static void on_signal(int signal)
{
	__be16 pkey;

	(void)signal;
	failures += ibv_query_pkey(context, 1, 0, &pkey) != 0;
}

static void try_handler(void)
{
	struct itimerval timer = { .it_interval.tv_usec = 100, .it_value.tv_usec = 100 };
	struct sigaction action = { .sa_handler = on_signal, .sa_flags = SA_RESTART };
	__be16 pkey;

	sigaction(SIGALRM, &action, NULL);
	setitimer(ITIMER_REAL, &timer, NULL);
	for (int i = 0; i < 300; i++) {
		void *library = dlopen(getenv("LIBRARY"), RTLD_NOW | RTLD_LOCAL);

		for (int k = 0; k < 100; k++)
			free(malloc(16u << k % 16));
		failures += ibv_query_pkey(context, 1, 0, &pkey) != 0;
		post_one(qp);
		if (library)
			dlclose(library);
	}
	timer = (struct itimerval){ 0 };
	setitimer(ITIMER_REAL, &timer, NULL);
}

static pthread_key_t key;

static void at_thread_end(void *unused)
{
	(void)unused;
	call_verbs();
}

static void *thread_with_key(void *unused)
{
	pthread_setspecific(key, &key);
	call_verbs();
	return unused;
}

static void try_exit(void)
{
	pthread_t thread;

	MUST(pthread_key_create(&key, at_thread_end));
	MUST(pthread_create(&thread, NULL, thread_with_key, NULL));
	pthread_join(thread, NULL);
	atexit(call_verbs);
}

static bool last;

__attribute__((destructor)) static void at_program_end(void)
{
	if (last)
		call_verbs();
}

/* From the program's view other threads have stopped when their verbs have returned. */
static void before_fork(void)
{
	wait_for_thread();
	MUST(ibv_destroy_qp(make_qp()));
}

static void try_fork(void)
{
	int status;
	pid_t pid;

	pid = fork();
	if (!pid) {
		open_all(); /* the parent's objects are not the child's */
		call_verbs();
		_exit(failures != 0);
	}
	waitpid(pid, &status, 0);
	failures += status;
	pid = vfork();
	if (!pid) {
		execl("/bin/true", "true", NULL);
		_exit(1);
	}
	waitpid(pid, &status, 0);
	failures += status;
}

static _Atomic bool stop;

static void *load_and_unload(void *unused)
{
	while (!stop) {
		void *library = dlopen(getenv("LIBRARY"), RTLD_NOW | RTLD_LOCAL);

		if (library)
			dlclose(library);
	}
	return unused;
}

static void try_dlopen(void)
{
	pthread_t thread;

	MUST(pthread_create(&thread, NULL, load_and_unload, NULL));
	for (int i = 0; i < 300; i++)
		call_verbs();
	stop = true;
	pthread_join(thread, NULL);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} contexts[] = {
		{ "loader", try_loader },   { "constructor", try_constructor },
		{ "handler", try_handler }, { "exit", try_exit },
		{ "fork", try_fork },       { "dlopen", try_dlopen },
	};

	if (argc > 1 && !strcmp(argv[1], "fork"))
		pthread_atfork(before_fork, call_verbs, NULL);
	open_all();
	for (size_t i = 0; argc > 1 && i < sizeof(contexts) / sizeof(contexts[0]); i++)
		if (!strcmp(argv[1], contexts[i].name))
			contexts[i].run();
	last = argc > 1 && !strcmp(argv[1], "exit");
	printf("%d failures\n", failures);
	return failures != 0;
}
