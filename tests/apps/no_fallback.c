/*
 * Asks for all fields of completions, which not all devices have, and gives up if it is refused
 * instead of using fewer.
 */
#include "tests/apps/app.h"

int main(void)
{
	struct ibv_context *context = open_first_device();
	struct ibv_cq_init_attr_ex attr = { .cqe = 16, .wc_flags = IBV_CREATE_CQ_SUP_WC_FLAGS };
	struct ibv_cq_ex *cq = ibv_create_cq_ex(context, &attr);

	if (cq)
		MUST(ibv_destroy_cq(ibv_cq_ex_to_cq(cq)));
	MUST(ibv_close_device(context));
	return !cq;
}
