#pragma once
/*
 * Queue pairs for datagrams, in place of those that pair.h opens.
 */
#include <arpa/inet.h>

#include "tests/shim/soft/pair.h"

enum { QKEY = 0x1234, GRH = 40 };

HELPER struct ibv_ah_attr local_attr(void)
{
	return (struct ibv_ah_attr){ .dlid = 1, .sl = 3, .port_num = 1 };
}

/* An address with a GRH: from entry @sgid_index to @dgid. */
HELPER struct ibv_ah_attr global_attr(const union ibv_gid *dgid, uint8_t sgid_index)
{
	return (struct ibv_ah_attr){
		.dlid = 1,
		.sl = 2,
		.port_num = 1,
		.is_global = 1,
		.grh = { .dgid = *dgid,
			 .flow_label = 0x12345,
			 .sgid_index = sgid_index,
			 .hop_limit = 9,
			 .traffic_class = 0x81 },
	};
}

HELPER union ibv_gid gid_at(const struct end *e, int index)
{
	union ibv_gid gid;

	assert_int_equal(ibv_query_gid(e->context, 1, index, &gid), 0);
	return gid;
}

HELPER struct ibv_ah *make_ah(struct end *e, struct ibv_ah_attr attr)
{
	struct ibv_ah *ah = ibv_create_ah(e->pd, &attr);

	assert_non_null(ah);
	return ah;
}

HELPER void open_datagrams(struct ibv_qp *qp, uint32_t qkey)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1, .qkey = qkey };

	assert_int_equal(
		ibv_modify_qp(qp, &attr,
			      IBV_QP_STATE | IBV_QP_PORT | IBV_QP_PKEY_INDEX | IBV_QP_QKEY),
		0);
	assert_int_equal(to_state(qp, IBV_QPS_RTR), 0);
	attr.qp_state = IBV_QPS_RTS;
	assert_int_equal(ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_SQ_PSN), 0);
}

HELPER void use_datagrams(struct end *e, struct ibv_srq *srq)
{
	use_qp_of(e, IBV_QPT_UD, srq);
	open_datagrams(e->qp, QKEY);
}

HELPER int datagrams_setup(void **state)
{
	struct pair *p = calloc(1, sizeof(*p));

	end_open(&p->a);
	end_open(&p->b);
	use_datagrams(&p->a, NULL);
	use_datagrams(&p->b, NULL);
	*state = p;
	return 0;
}

HELPER int datagrams_roce_setup(void **state)
{
	setenv("VERBATIM_SOFT_LINK", "roce", 1);
	return datagrams_setup(state);
}

HELPER int datagrams_roce_teardown(void **state)
{
	unsetenv("VERBATIM_SOFT_LINK");
	return pair_teardown(state);
}

HELPER struct ibv_send_wr make_datagram(struct ibv_ah *ah, uint32_t qpn, uint32_t qkey,
					uint64_t wr_id)
{
	struct ibv_send_wr wr = { .wr_id = wr_id, .opcode = IBV_WR_SEND };

	wr.wr.ud.ah = ah;
	wr.wr.ud.remote_qpn = qpn;
	wr.wr.ud.remote_qkey = qkey;
	return wr;
}

/* Send @len bytes at @off to @qpn; success is expected even if they are lost. */
HELPER void post_datagram(struct end *e, struct ibv_ah *ah, uint32_t qpn, uint32_t qkey,
			  uint32_t off, uint32_t len)
{
	assert_int_equal(send_wr(e, make_datagram(ah, qpn, qkey, 99), sge_of(e, off, len)), 0);
	expect_wc(e->cq, 99, IBV_WC_SUCCESS);
	assert_int_equal(state_of(e->qp), IBV_QPS_RTS);
}
