/*
 * FORK-001: a child by fork() while memory is registered, without fork support. The device
 * simulates a kernel that does not copy registered pages.
 */
#include <sys/wait.h>
#include <unistd.h>

#include "tests/apps/app.h"

enum { PAGES = 4096 * 4 };

int main(int argc, char **argv)
{
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_mr *mr;
	void *memory = NEED(aligned_alloc(4096, PAGES));
	pid_t child;
	int status;

	MUST(setenv("VERBATIM_SOFT_FORK", "disabled", 1));
	if (is_good(argc, argv))
		MUST(ibv_fork_init());
	context = open_first_device();
	pd = NEED(ibv_alloc_pd(context));
	mr = NEED(ibv_reg_mr(pd, memory, PAGES, IBV_ACCESS_LOCAL_WRITE));
	child = fork();
	if (child == 0)
		_exit(0);
	NEED(child > 0 && waitpid(child, &status, 0) == child);
	MUST(ibv_dereg_mr(mr));
	MUST(ibv_dealloc_pd(pd));
	MUST(ibv_close_device(context));
	return 0;
}
