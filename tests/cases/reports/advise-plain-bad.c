/*
 * A region is prefetched by ibv_advise_mr().
 *
 * The mistake: it was registered without IBV_ACCESS_ON_DEMAND.
 */
#include "rep.h"

int main(void)
{
	struct cfg c = cfg_usual();
	struct ibv_sge sge;
	struct end e;

	two_ends(&e);

	end_open(&e, c, 8192);
	sge = (struct ibv_sge){ (uintptr_t)e.mem, 4096, e.mr->lkey };
	if (!e.server)
		ibv_advise_mr(e.pd, IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE, 0, &sge, 1);
	end_sync(&e);
	return end_close(&e, 0);
}
