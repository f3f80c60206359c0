/*
 * FORK-005: under fork support a buffer is freed before it is deregistered.
 */
#include "tests/apps/app.h"

enum { BYTES = 8192 };

int main(int argc, char **argv)
{
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_mr *mr;
	char *memory = NEED(aligned_alloc(4096, BYTES));

	MUST(setenv("VERBATIM_SOFT_FORK", "disabled", 1));
	MUST(ibv_fork_init());
	context = open_first_device();
	pd = NEED(ibv_alloc_pd(context));
	mr = NEED(ibv_reg_mr(pd, memory, BYTES, IBV_ACCESS_LOCAL_WRITE));
	if (!is_good(argc, argv))
		free(memory);
	MUST(ibv_dereg_mr(mr));
	if (is_good(argc, argv))
		free(memory);
	MUST(ibv_dealloc_pd(pd));
	MUST(ibv_close_device(context));
	return 0;
}
