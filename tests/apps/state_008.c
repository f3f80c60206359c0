/*
 * STATE-008: to an IPv4 address by RoCE v2 (GID 3), from the link-local GID at index 0. `v1` is a
 * hazard: the address by RoCE v1 (GID 2), which works within the local network.
 */
#include "tests/apps/app.h"

enum { LINK_LOCAL = 0, IPV4_V1 = 2, IPV4 = 3 };

static void write_nothing(struct ibv_qp *qp, struct ibv_cq *cq)
{
	struct ibv_send_wr wr = { .opcode = IBV_WR_RDMA_WRITE }, *bad;
	struct ibv_wc wc;

	wr.send_flags = IBV_SEND_SIGNALED;
	to_rts(qp);
	MUST(ibv_post_send(qp, &wr, &bad));
	while (!ibv_poll_cq(cq, 1, &wc))
		;
	MUST(wc.status);
}

int main(int argc, char **argv)
{
	struct ibv_context *context;
	struct ibv_ah_attr address;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_qp *qp;
	bool v1 = argc > 1 && !strcmp(argv[1], "v1");

	be_on_ethernet(argv);
	context = open_first_device();
	pd = NEED(ibv_alloc_pd(context));
	cq = NEED(ibv_create_cq(context, 16, NULL, NULL, 0));
	qp = create_rc_qp(pd, cq);
	address = own_address(context, v1 ? IPV4_V1 : IPV4);
	address.grh.sgid_index = is_good(argc, argv) ? IPV4 : v1 ? IPV4_V1 : LINK_LOCAL;
	to_init(qp);
	MUST(to_rtr(qp, qp->qp_num, address));
	if (v1 || is_good(argc, argv))
		write_nothing(qp, cq);
	MUST(ibv_destroy_qp(qp));
	MUST(ibv_destroy_cq(cq));
	MUST(ibv_dealloc_pd(pd));
	MUST(ibv_close_device(context));
	return 0;
}
