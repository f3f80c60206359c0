/*
 * The protection domain is busy: a region for credits that another module registered is still
 * there (perftest#52).
 */
#include <errno.h>

#include "tests/apps/ends.h"

static char credits[64];
static struct ibv_mr *credit_mr;

static void make_credits(void)
{
	credit_mr = NEED(ibv_reg_mr(ends.pd, credits, sizeof(credits), IBV_ACCESS_LOCAL_WRITE));
}

int main(int argc, char **argv)
{
	ends_open();
	make_credits();
	for (int i = 0; i < 2; i++) {
		MUST(ibv_destroy_qp(ends.qp[i]));
		MUST(ibv_dereg_mr(ends.mr[i]));
		MUST(ibv_destroy_cq(ends.cq[i]));
	}
	if (is_good(argc, argv))
		MUST(ibv_dereg_mr(credit_mr));
	if (ibv_dealloc_pd(ends.pd) == EBUSY)
		fprintf(stderr, "Failed to deallocate PD - Device or resource busy\n");
	MUST(ibv_close_device(ends.context));
	return 0;
}
