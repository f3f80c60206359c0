/*
 * LIFE-003: a protection domain is deallocated while a memory region is in it.
 */
#include "tests/apps/app.h"

static char buffer[4096];

int main(int argc, char **argv)
{
	struct ibv_context *context = open_first_device();
	struct ibv_pd *pd = NEED(ibv_alloc_pd(context));
	struct ibv_mr *mr = NEED(ibv_reg_mr(pd, buffer, sizeof(buffer), IBV_ACCESS_LOCAL_WRITE));

	if (!is_good(argc, argv))
		ibv_dealloc_pd(pd);
	MUST(ibv_dereg_mr(mr));
	MUST(ibv_dealloc_pd(pd));
	MUST(ibv_close_device(context));
	return 0;
}
