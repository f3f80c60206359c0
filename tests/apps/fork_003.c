/*
 * FORK-003: a child process uses the memory region's domain of its parent.
 */
#include <sys/wait.h>
#include <unistd.h>

#include "tests/apps/app.h"

static char buffer[4096];

static void use_own(void)
{
	struct ibv_context *context = open_first_device();

	MUST(ibv_close_device(context));
}

static void use_parents(struct ibv_pd *pd)
{
	ibv_reg_mr(pd, buffer, sizeof(buffer), IBV_ACCESS_LOCAL_WRITE);
}

int main(int argc, char **argv)
{
	struct ibv_context *context = open_first_device();
	struct ibv_pd *pd = NEED(ibv_alloc_pd(context));
	pid_t child = fork();
	int status;

	if (child == 0) {
		if (is_good(argc, argv))
			use_own();
		else
			use_parents(pd);
		_exit(0);
	}
	NEED(child > 0 && waitpid(child, &status, 0) == child);
	MUST(ibv_dealloc_pd(pd));
	MUST(ibv_close_device(context));
	return 0;
}
