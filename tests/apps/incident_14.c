/*
 * The first GID of the table is link-local and RoCE v1, the peer's is an IPv4 address of RoCE v2:
 * connecting works, and the first message runs out of retries (nccl#426).
 */
#include "tests/apps/ends.h"

/* As ends_to_rtr(), by the GID at @index. */
static void connect_by(struct ibv_qp *qp, uint32_t number, uint8_t index)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RTR,
				    .path_mtu = IBV_MTU_1024,
				    .dest_qp_num = number,
				    .max_dest_rd_atomic = 1,
				    .min_rnr_timer = 12,
				    .ah_attr = { .port_num = 1,
						 .is_global = 1,
						 .grh = { .hop_limit = 1, .sgid_index = index } } };

	MUST(ibv_query_gid(ends.context, 1, 3, &attr.ah_attr.grh.dgid));
	MUST(ibv_modify_qp(qp, &attr,
			   IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
				   IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
				   IBV_QP_MIN_RNR_TIMER));
}

int main(int argc, char **argv)
{
	ends_make();
	for (int i = 0; i < 2; i++)
		ends_init(ends.qp[i]);
	for (int i = 0; i < 2; i++) {
		connect_by(ends.qp[i], ends.qp[!i]->qp_num, is_good(argc, argv) ? 3 : 0);
		ends_to_rts(ends.qp[i]);
	}
	MUST(ends_receive(1));
	MUST(ends_send(1, IBV_WR_SEND, IBV_SEND_SIGNALED));
	if (ends_await(0, 1) == IBV_WC_SUCCESS)
		ends_await(1, 1);
	ends_close();
	return 0;
}
