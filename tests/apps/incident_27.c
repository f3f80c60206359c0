/*
 * Under fork support the pages of a region are missing in a child, and so is other data on the same
 * page (rdma-core#1222).
 */
#include <sys/wait.h>
#include <unistd.h>

#include "tests/apps/app.h"

enum { PAGE = 4096, HEADER = 64 };

int main(int argc, char **argv)
{
	char *block = NEED(aligned_alloc(PAGE, 2 * PAGE)), *ring;
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_mr *mr;
	pid_t child;

	MUST(setenv("VERBATIM_SOFT_FORK", "disabled", 1));
	MUST(ibv_fork_init());
	context = open_first_device();
	pd = NEED(ibv_alloc_pd(context));
	ring = block + (is_good(argc, argv) ? PAGE : HEADER);
	mr = NEED(ibv_reg_mr(pd, ring, PAGE, IBV_ACCESS_LOCAL_WRITE));
	child = fork();
	if (!child)
		_exit(0);
	NEED(child > 0 && waitpid(child, NULL, 0) == child);
	MUST(ibv_dereg_mr(mr));
	MUST(ibv_dealloc_pd(pd));
	MUST(ibv_close_device(context));
	return 0;
}
