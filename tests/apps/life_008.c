/*
 * LIFE-008: an address handle is destroyed before the datagram that names it was polled.
 */
#include "tests/apps/self.h"

enum { QKEY = 0x1234 };

static struct ibv_qp *create_datagrams(void)
{
	struct ibv_qp_init_attr init = {
		.send_cq = self.cq,
		.recv_cq = self.cq,
		.cap = { SELF_ROOM, SELF_ROOM, 1, 1, 0 },
		.qp_type = IBV_QPT_UD,
	};
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1, .qkey = QKEY };
	struct ibv_qp *qp = NEED(ibv_create_qp(self.pd, &init));

	MUST(ibv_modify_qp(qp, &attr,
			   IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY));
	attr.qp_state = IBV_QPS_RTR;
	MUST(ibv_modify_qp(qp, &attr, IBV_QP_STATE));
	attr.qp_state = IBV_QPS_RTS;
	MUST(ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN));
	return qp;
}

static struct ibv_ah *create_address(void)
{
	struct ibv_ah_attr attr = { .port_num = 1 };
	struct ibv_port_attr port;

	MUST(ibv_query_port(self.context, 1, &port));
	attr.dlid = port.lid;
	if (port.link_layer == IBV_LINK_LAYER_ETHERNET) {
		attr.is_global = 1;
		attr.grh.hop_limit = 1;
		MUST(ibv_query_gid(self.context, 1, 0, &attr.grh.dgid));
	}
	return NEED(ibv_create_ah(self.pd, &attr));
}

int main(int argc, char **argv)
{
	struct ibv_send_wr wr, *bad;
	struct ibv_sge sge;
	struct ibv_qp *qp;
	struct ibv_ah *ah;

	self_open(16);
	qp = create_datagrams();
	ah = create_address();
	wr = self_write(0, &sge, IBV_SEND_SIGNALED);
	wr.opcode = IBV_WR_SEND;
	wr.wr.ud.ah = ah;
	wr.wr.ud.remote_qpn = qp->qp_num;
	wr.wr.ud.remote_qkey = QKEY;
	MUST(ibv_post_send(qp, &wr, &bad));
	if (is_good(argc, argv))
		self_poll(1);
	MUST(ibv_destroy_ah(ah));
	if (!is_good(argc, argv))
		self_poll(1);
	MUST(ibv_destroy_qp(qp));
	self_close();
	return 0;
}
