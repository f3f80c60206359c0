/*
 * All flags of completions are asked for, of a device that lacks some: EOPNOTSUPP, and the program
 * gives up. [mellanox-hpc/ibverbs-tests its environment asks so] GOOD: the standard ones
 */
#include "rep.h"
int main(void)
{
	struct ibv_device **l = ibv_get_device_list(NULL);
	struct ibv_context *x = ibv_open_device(l[0]);
	struct ibv_cq_init_attr_ex a = { .cqe = 16, .wc_flags = IBV_CREATE_CQ_SUP_WC_FLAGS };
	ibv_free_device_list(l);
#ifdef GOOD
	a.wc_flags = IBV_WC_STANDARD_FLAGS;
#endif
	struct ibv_cq_ex *c = ibv_create_cq_ex(x, &a);
	if (!c)
		perror("ibv_create_cq_ex");
	else
		ibv_destroy_cq(ibv_cq_ex_to_cq(c));
	ibv_close_device(x);
	return !c;
}
