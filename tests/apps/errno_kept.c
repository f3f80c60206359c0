/*
 * What the recorder does outside verbs: prints on stderr the errno after each step (errno.sh).
 *
 * The C library's own steps leave errno alone if they succeed.
 */
#include <dlfcn.h>
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "shim/trace/verbatim.h"
#include "tests/apps/app.h"

#define STEP(what)                                               \
	do {                                                     \
		errno = EDOM;                                    \
		what;                                            \
		fprintf(stderr, "%s: errno %d\n", #what, errno); \
	} while (0)

enum { QUERIES = 500, NOTIFICATIONS = 20000, BYTES = 1 << 16 };

static char *const program[] = { "/bin/true", NULL };
static struct ibv_context *context;

static void wait_for(pid_t child)
{
	waitpid(child, NULL, 0);
}

static pid_t fork_child(void)
{
	pid_t child = fork();

	if (!child)
		_exit(0);
	return child;
}

static pid_t vfork_child(void)
{
	pid_t child = vfork();

	if (!child) {
		execv(program[0], program);
		_exit(1);
	}
	return child;
}

static void start_processes(void)
{
	pid_t child = 0;

	STEP(child = fork_child());
	wait_for(child);
	STEP(child = vfork_child());
	wait_for(child);
	STEP(posix_spawn(&child, program[0], NULL, NULL, program, environ));
	wait_for(child);
}

/* Many events, which fill a small ring: those of calls, and of the data plane. */
static void fill_ring(struct ibv_cq *cq)
{
	struct ibv_port_attr port;

	for (int i = 0; i < QUERIES && errno == EDOM; i++)
		MUST(ibv_query_port(context, 1, &port));
	for (int i = 0; i < NOTIFICATIONS && errno == EDOM; i++)
		MUST(ibv_req_notify_cq(cq, 0));
}

static void give_back_memory(struct ibv_pd *pd)
{
	char *at =
		NEED(mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
	struct ibv_mr *mr = NEED((ibv_reg_mr)(pd, at, BYTES, IBV_ACCESS_LOCAL_WRITE));

	STEP(madvise(at, BYTES, MADV_DONTNEED));
	STEP(munmap(at, BYTES));
	MUST(ibv_dereg_mr(mr));
}

/* The filter allows all system calls. */
static void enter_sandbox(void)
{
	struct sock_filter allow = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	struct sock_fprog filter = { .len = 1, .filter = &allow };

	STEP(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
	STEP(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter));
}

static void change_user(void)
{
	if (geteuid())
		return;
	STEP(seteuid(1));
	STEP(seteuid(0));
}

int main(void)
{
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	void *library = NULL;

	STEP(verbatim_mark("before the first verb"));
	context = open_first_device();
	STEP(verbatim_phase("all", 1));
	STEP(pd = NEED(ibv_alloc_pd(context)));
	STEP(cq = NEED(ibv_create_cq(context, 1, NULL, NULL, 0)));
	STEP(library = dlopen("libm.so.6", RTLD_NOW));
	STEP(dlsym(library, "cos"));
	STEP(dlclose(library));
	start_processes();
	give_back_memory(pd);
	STEP(fill_ring(cq));
	STEP(MUST(ibv_destroy_cq(cq)));
	change_user();
	enter_sandbox();
	STEP(MUST(ibv_dealloc_pd(pd)));
	STEP(MUST(ibv_close_device(context)));
	STEP(verbatim_phase("all", 0));
	return 0;
}
