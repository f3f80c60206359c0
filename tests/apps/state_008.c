/*
 * STATE-008: to an IPv4 address by RoCE v2 (GID 3), from the link-local GID at index 0.
 */
#include "tests/apps/app.h"

enum { LINK_LOCAL = 0, IPV4 = 3 };

static void to_rtr(struct ibv_context *context, struct ibv_qp *qp, uint8_t sgid_index)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1 };

	MUST(ibv_modify_qp(qp, &attr,
			   IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS));
	attr.qp_state = IBV_QPS_RTR;
	attr.path_mtu = IBV_MTU_1024;
	attr.dest_qp_num = qp->qp_num;
	attr.max_dest_rd_atomic = 1;
	attr.min_rnr_timer = 12;
	attr.ah_attr.port_num = 1;
	attr.ah_attr.is_global = 1;
	attr.ah_attr.grh.hop_limit = 64;
	attr.ah_attr.grh.sgid_index = sgid_index;
	MUST(ibv_query_gid(context, 1, IPV4, &attr.ah_attr.grh.dgid));
	MUST(ibv_modify_qp(qp, &attr,
			   IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
				   IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
				   IBV_QP_MIN_RNR_TIMER));
}

int main(int argc, char **argv)
{
	struct ibv_context *context;
	struct ibv_pd *pd;
	struct ibv_cq *cq;
	struct ibv_qp *qp;

	be_on_ethernet(argv);
	context = open_first_device();
	pd = NEED(ibv_alloc_pd(context));
	cq = NEED(ibv_create_cq(context, 16, NULL, NULL, 0));
	qp = create_rc_qp(pd, cq);
	to_rtr(context, qp, is_good(argc, argv) ? IPV4 : LINK_LOCAL);
	MUST(ibv_destroy_qp(qp));
	MUST(ibv_destroy_cq(cq));
	MUST(ibv_dealloc_pd(pd));
	MUST(ibv_close_device(context));
	return 0;
}
