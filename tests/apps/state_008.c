/*
 * STATE-008: to an IPv4 address by RoCE v2 (GID 3), from the link-local GID at index 0.
 */
#include "tests/apps/app.h"

enum { LINK_LOCAL = 0, IPV4 = 3 };

int main(int argc, char **argv)
{
	struct ibv_context *context;
	struct ibv_ah_attr address;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_qp *qp;

	be_on_ethernet(argv);
	context = open_first_device();
	pd = NEED(ibv_alloc_pd(context));
	cq = NEED(ibv_create_cq(context, 16, NULL, NULL, 0));
	qp = create_rc_qp(pd, cq);
	address = own_address(context, IPV4);
	address.grh.sgid_index = is_good(argc, argv) ? IPV4 : LINK_LOCAL;
	to_init(qp);
	MUST(to_rtr(qp, qp->qp_num, address));
	MUST(ibv_destroy_qp(qp));
	MUST(ibv_destroy_cq(cq));
	MUST(ibv_dealloc_pd(pd));
	MUST(ibv_close_device(context));
	return 0;
}
