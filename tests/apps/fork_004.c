/*
 * FORK-004: under fork support a region shares its page with other data that the child needs, and
 * the process forks.
 */
#include <sys/wait.h>
#include <unistd.h>

#include "tests/apps/app.h"

enum { PAGE = 4096 };

int main(int argc, char **argv)
{
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_mr *mr;
	char *memory = NEED(aligned_alloc(PAGE, PAGE));
	size_t before = is_good(argc, argv) ? 0 : 16;
	pid_t child;
	int status;

	MUST(setenv("VERBATIM_SOFT_FORK", "disabled", 1));
	MUST(ibv_fork_init());
	context = open_first_device();
	pd = NEED(ibv_alloc_pd(context));
	mr = NEED(ibv_reg_mr(pd, memory + before, PAGE - before, IBV_ACCESS_LOCAL_WRITE));
	child = fork();
	if (child == 0)
		_exit(0);
	NEED(child > 0 && waitpid(child, &status, 0) == child);
	MUST(ibv_dereg_mr(mr));
	MUST(ibv_dealloc_pd(pd));
	MUST(ibv_close_device(context));
	return 0;
}
