/*
 * FORK-002: ibv_fork_init() after the first registration. The device simulates a kernel that does
 * not copy registered pages.
 */
#include "tests/apps/app.h"

static char buffer[4096];

int main(int argc, char **argv)
{
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_mr *mr;

	MUST(setenv("VERBATIM_SOFT_FORK", "disabled", 1));
	if (is_good(argc, argv))
		MUST(ibv_fork_init());
	context = open_first_device();
	pd = NEED(ibv_alloc_pd(context));
	mr = NEED(ibv_reg_mr(pd, buffer, sizeof(buffer), IBV_ACCESS_LOCAL_WRITE));
	if (!is_good(argc, argv))
		ibv_fork_init();
	MUST(ibv_dereg_mr(mr));
	MUST(ibv_dealloc_pd(pd));
	MUST(ibv_close_device(context));
	return 0;
}
