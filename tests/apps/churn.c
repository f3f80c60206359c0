/*
 * A program that makes and frees objects again and again:
 *
 * 	churn WHAT N [WHAT N]...
 *
 * 	regions    register and deregister memory N times
 * 	qps        make, connect and destroy a queue pair
 * 	queries    ask for the state of a port
 * 	threads    a thread that calls verbs
 * 	forks      a process that calls verbs
 * 	stacks     allocate a protection domain in a call chain of its own
 * 	marks      leave a mark
 * 	files      load the library CHURN_FILE by another name, register memory there, and unload it
 * 	alive      register memory that is never deregistered
 */
#include "tests/apps/app.h"

#include <dlfcn.h>
#include <pthread.h>
#include <sys/wait.h>
#include <unistd.h>

#include "shim/trace/verbatim.h"

static struct ibv_context *context;
static struct ibv_pd *pd;
static struct ibv_cq *cq;
static char memory[4096];
static bool alive;

static struct ibv_mr *add_region(void)
{
	return NEED(ibv_reg_mr(pd, memory, sizeof(memory), IBV_ACCESS_LOCAL_WRITE));
}

static void do_regions(long n)
{
	while (n--)
		MUST(ibv_dereg_mr(add_region()));
}

static void do_qps(long n)
{
	struct ibv_qp_init_attr init = { .send_cq = cq,
					 .recv_cq = cq,
					 .qp_type = IBV_QPT_RC,
					 .cap = { .max_send_wr = 4, .max_recv_wr = 4 } };
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1 };

	while (n--) {
		struct ibv_qp *qp = NEED(ibv_create_qp(pd, &init));

		MUST(ibv_modify_qp(qp, &attr,
				   IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT |
					   IBV_QP_ACCESS_FLAGS));
		MUST(ibv_destroy_qp(qp));
	}
}

static void do_queries(long n)
{
	struct ibv_port_attr attr;

	while (n--)
		MUST(ibv_query_port(context, 1, &attr));
}

static void *run_thread(void *arg)
{
	(void)arg;
	do_regions(2);
	return NULL;
}

static void do_threads(long n)
{
	pthread_t thread;

	while (n--) {
		MUST(pthread_create(&thread, NULL, run_thread, NULL));
		MUST(pthread_join(thread, NULL));
	}
}

static void do_forks(long n)
{
	while (n--) {
		pid_t pid = fork();

		if (!pid) {
			struct ibv_context *own = open_first_device();

			MUST(ibv_dealloc_pd(NEED(ibv_alloc_pd(own))));
			MUST(ibv_close_device(own));
			_exit(0);
		}
		waitpid(pid, NULL, 0);
	}
}

static void go_left(unsigned long which, int depth);

/* The bits of @which choose one of two calls at each level. */
__attribute__((noinline)) static void go_right(unsigned long which, int depth)
{
	if (!depth)
		MUST(ibv_dealloc_pd(NEED(ibv_alloc_pd(context))));
	else
		(which & 1 ? go_right : go_left)(which >> 1, depth - 1);
	__asm__ volatile("" ::: "memory"); /* no tail call */
}

__attribute__((noinline)) static void go_left(unsigned long which, int depth)
{
	__asm__ volatile("" ::: "memory"); /* another function than the other one */
	if (!depth)
		MUST(ibv_dealloc_pd(NEED(ibv_alloc_pd(context))));
	else
		(which & 1 ? go_right : go_left)(which >> 1, depth - 1);
	__asm__ volatile("" ::: "memory");
}

static void do_stacks(long n)
{
	while (n--)
		go_left((unsigned long)n, 16);
}

static void do_marks(long n)
{
	while (n--)
		verbatim_mark("and on it goes");
}

static void do_files(long n)
{
	const char *path = getenv("CHURN_FILE");
	char copy[4096];

	while (n--) {
		struct ibv_mr *(*add)(struct ibv_pd *, void *, size_t);
		void *library;

		snprintf(copy, sizeof(copy), "%.4000s.%ld", path, n);
		MUST(link(path, copy));
		library = NEED(dlopen(copy, RTLD_NOW));
		*(void **)&add = NEED(dlsym(library, "churn_register"));
		MUST(ibv_dereg_mr(NEED(add(pd, memory, sizeof(memory)))));
		dlclose(library);
		unlink(copy);
	}
}

static void do_alive(long n)
{
	alive = true;
	while (n--)
		add_region();
}

static const struct {
	const char *what;
	void (*run)(long n);
} tasks[] = {
	{ "regions", do_regions }, { "qps", do_qps },     { "queries", do_queries },
	{ "threads", do_threads }, { "forks", do_forks }, { "stacks", do_stacks },
	{ "marks", do_marks },     { "files", do_files }, { "alive", do_alive },
};

int main(int argc, char **argv)
{
	context = open_first_device();
	pd = NEED(ibv_alloc_pd(context));
	cq = NEED(ibv_create_cq(context, 16, NULL, NULL, 0));
	for (int i = 1; i + 1 < argc; i += 2)
		for (size_t t = 0; t < sizeof(tasks) / sizeof(*tasks); t++)
			if (!strcmp(argv[i], tasks[t].what))
				tasks[t].run(atol(argv[i + 1]));
	if (!alive) {
		MUST(ibv_destroy_cq(cq));
		MUST(ibv_dealloc_pd(pd));
		MUST(ibv_close_device(context));
	}
	return 0;
}
