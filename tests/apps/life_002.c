/*
 * LIFE-002: two owners deallocate one protection domain.
 *
 * The second one may crash: the begin of the call is in the trace.
 */
#include "tests/apps/app.h"

static void first_owner(struct ibv_pd *pd)
{
	MUST(ibv_dealloc_pd(pd));
}

static void second_owner(struct ibv_pd *pd)
{
	ibv_dealloc_pd(pd);
}

int main(int argc, char **argv)
{
	struct ibv_context *context = open_first_device();
	struct ibv_pd *pd = NEED(ibv_alloc_pd(context));

	first_owner(pd);
	if (is_good(argc, argv))
		pd = NEED(ibv_alloc_pd(context)); /* perhaps at the same address */
	second_owner(pd);
	MUST(ibv_close_device(context));
	return 0;
}
