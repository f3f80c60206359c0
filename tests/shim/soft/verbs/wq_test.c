#include <errno.h>

#include "tests/shim/soft/pair.h"
#include "tests/test.h"

enum { BYTES = 64, WQS = 4 };

static uint8_t hash_key[40] = { 0x6d, 0x5a, 0x56, 0xda, 0x25, 0x5b, 0x0e, 0xc2,
				0x41, 0x67, 0x25, 0x3d, 0x43, 0xa3, 0x8f, 0xb0 };

static int set_up(void **state)
{
	struct end *e = calloc(1, sizeof(*e));

	setenv("VERBATIM_SOFT_LINK", "roce", 1);
	end_open(e);
	*state = e;
	return 0;
}

static int tear_down(void **state)
{
	end_close(*state);
	free(*state);
	unsetenv("VERBATIM_SOFT_LINK");
	return 0;
}

static struct ibv_wq *make_wq(struct end *e)
{
	struct ibv_wq_init_attr attr = {
		.wq_context = e,
		.wq_type = IBV_WQT_RQ,
		.max_wr = 4,
		.max_sge = 2,
		.pd = e->pd,
		.cq = e->cq,
	};
	struct ibv_wq *wq = ibv_create_wq(e->context, &attr);

	assert_non_null(wq);
	return wq;
}

static int wq_to(struct ibv_wq *wq, enum ibv_wq_state to)
{
	struct ibv_wq_attr attr = { .attr_mask = IBV_WQ_ATTR_STATE, .wq_state = to };

	return ibv_modify_wq(wq, &attr);
}

static int recv_wq(struct end *e, struct ibv_wq *wq, uint64_t wr_id, uint32_t off)
{
	struct ibv_sge sge = sge_of(e, off, BYTES);
	struct ibv_recv_wr *bad, wr = { .wr_id = wr_id, .sg_list = &sge, .num_sge = 1 };

	return ibv_post_wq_recv(wq, &wr, &bad);
}

GROUP(fabric_setup, fabric_teardown);
FIXTURE(set_up, tear_down);

TEST(states_are_those_of_the_manual)
{
	struct end *e = *state;
	struct ibv_wq *wq = make_wq(e);
	struct ibv_wq_attr attr = { .attr_mask = IBV_WQ_ATTR_CURR_STATE | IBV_WQ_ATTR_STATE,
				    .wq_state = IBV_WQS_RDY,
				    .curr_wq_state = IBV_WQS_ERR };

	assert_int_equal(wq->state, IBV_WQS_RESET);
	assert_int_equal(wq_to(wq, IBV_WQS_ERR), EINVAL);
	assert_int_equal(ibv_modify_wq(wq, &attr), EINVAL);
	attr.curr_wq_state = IBV_WQS_RESET;
	assert_int_equal(ibv_modify_wq(wq, &attr), 0);
	assert_int_equal(wq->state, IBV_WQS_RDY);
	assert_int_equal(wq_to(wq, IBV_WQS_ERR), 0);
	assert_int_equal(wq_to(wq, IBV_WQS_RDY), EINVAL);
	assert_int_equal(wq_to(wq, IBV_WQS_RESET), 0);
	assert_int_equal(wq_to(wq, IBV_WQS_UNKNOWN), EINVAL);
	attr = (struct ibv_wq_attr){ .attr_mask = IBV_WQ_ATTR_FLAGS,
				     .flags = IBV_WQ_FLAGS_CVLAN_STRIPPING,
				     .flags_mask = IBV_WQ_FLAGS_CVLAN_STRIPPING };
	assert_int_equal(ibv_modify_wq(wq, &attr), EOPNOTSUPP);
	attr.attr_mask = 0; /* the flags are not looked at */
	assert_int_equal(ibv_modify_wq(wq, &attr), 0);
	attr.attr_mask = 1 << 7;
	assert_int_equal(ibv_modify_wq(wq, &attr), EINVAL);
	assert_int_equal(ibv_destroy_wq(wq), 0);
}

TEST(error_flushes_what_was_posted)
{
	struct end *e = *state;
	struct ibv_wq *wq = make_wq(e);
	int i;

	assert_int_equal(recv_wq(e, wq, 0, 0), EINVAL); /* RESET */
	assert_int_equal(wq_to(wq, IBV_WQS_RDY), 0);
	for (i = 0; i < 4; i++)
		assert_int_equal(recv_wq(e, wq, i, 0), 0);
	assert_int_equal(recv_wq(e, wq, 4, 0), ENOMEM);
	assert_int_equal(wq_to(wq, IBV_WQS_ERR), 0);
	for (i = 0; i < 4; i++)
		assert_int_equal(expect_wc(e->cq, i, IBV_WC_WR_FLUSH_ERR).qp_num, wq->wq_num);
	assert_int_equal(ibv_destroy_wq(wq), 0);
}

static struct ibv_rwq_ind_table *make_table(struct end *e, struct ibv_wq **wqs)
{
	struct ibv_rwq_ind_table_init_attr attr = { .log_ind_tbl_size = 2, .ind_tbl = wqs };
	struct ibv_rwq_ind_table *table;

	table = ibv_create_rwq_ind_table(e->context, &attr);
	assert_non_null(table);
	return table;
}

static struct ibv_qp_init_attr_ex rss_attr(struct end *e, struct ibv_rwq_ind_table *table)
{
	return (struct ibv_qp_init_attr_ex){
		.qp_type = IBV_QPT_RAW_PACKET,
		.comp_mask =
			IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_RX_HASH | IBV_QP_INIT_ATTR_IND_TABLE,
		.pd = e->pd,
		.rwq_ind_tbl = table,
		.rx_hash_conf = { IBV_RX_HASH_FUNC_TOEPLITZ, sizeof(hash_key), hash_key,
				  IBV_RX_HASH_SRC_IPV4 },
	};
}

TEST(busy_objects_stay)
{
	struct end *e = *state;
	struct ibv_wq *wq = make_wq(e), *wqs[WQS] = { wq, wq, wq, wq };
	struct ibv_rwq_ind_table *table = make_table(e, wqs);
	struct ibv_qp_init_attr_ex attr = rss_attr(e, table);
	struct ibv_qp *qp = ibv_create_qp_ex(e->context, &attr);

	assert_non_null(qp);
	assert_int_equal(ibv_destroy_rwq_ind_table(table), EBUSY);
	assert_int_equal(ibv_destroy_qp(qp), 0);
	assert_int_equal(ibv_destroy_wq(wq), EBUSY);
	assert_int_equal(ibv_destroy_rwq_ind_table(table), 0);
	assert_int_equal(ibv_destroy_wq(wq), 0);
}

TEST(impossible_ones_are_refused)
{
	struct end *e = *state;
	struct ibv_wq *wq = make_wq(e), *wqs[WQS] = { wq, wq, wq, NULL };
	struct ibv_rwq_ind_table_init_attr bad = { 2, wqs, 0 };
	struct ibv_wq_init_attr none = { .wq_type = IBV_WQT_RQ, .max_wr = 1 };
	struct ibv_rwq_ind_table *table;
	struct ibv_qp_init_attr_ex attr;

	errno = 0;
	assert_null(ibv_create_rwq_ind_table(e->context, &bad));
	assert_int_equal(errno, EINVAL);
	bad.log_ind_tbl_size = 8;
	assert_null(ibv_create_rwq_ind_table(e->context, &bad));
	assert_null(ibv_create_wq(e->context, &none));
	assert_int_equal(errno, EINVAL);
	wqs[3] = wq;
	table = make_table(e, wqs);
	attr = rss_attr(e, table);
	attr.rx_hash_conf.rx_hash_key_len = 8;
	assert_null(ibv_create_qp_ex(e->context, &attr));
	assert_int_equal(errno, EINVAL);
	attr = rss_attr(e, table);
	attr.rx_hash_conf.rx_hash_fields_mask = IBV_RX_HASH_INNER;
	assert_null(ibv_create_qp_ex(e->context, &attr));
	assert_int_equal(errno, EOPNOTSUPP);
	attr = rss_attr(e, table);
	attr.send_cq = e->cq;
	assert_null(ibv_create_qp_ex(e->context, &attr));
	assert_int_equal(errno, EINVAL);
	assert_int_equal(ibv_destroy_rwq_ind_table(table), 0);
	assert_int_equal(ibv_destroy_wq(wq), 0);
}

/* clang-format off */
enum spoilt {
	/* invalid */
	NO_PD_BIT, NO_PD, NO_TABLE, NO_KEY, SHORT_KEY, LONG_KEY, OTHER_TYPE, SEND_CQ, RECV_CQ, SRQ,
	MAX_SEND, MAX_RECV,
	/* not supported */
	UNSUPPORTED, NO_TABLE_BIT = UNSUPPORTED, UNKNOWN_BIT, FLAGS, FUNCTION, FIELDS,
	SPOILT
};
/* clang-format on */

static void spoil_attr(struct ibv_qp_init_attr_ex *attr, enum spoilt what, struct end *e)
{
	struct ibv_rx_hash_conf *conf = &attr->rx_hash_conf;

	attr->comp_mask &= what == NO_PD_BIT      ? ~(uint32_t)IBV_QP_INIT_ATTR_PD
			   : what == NO_TABLE_BIT ? ~(uint32_t)IBV_QP_INIT_ATTR_IND_TABLE
						  : UINT32_MAX;
	attr->comp_mask |= what == UNKNOWN_BIT ? IBV_QP_INIT_ATTR_XRCD
			   : what == FLAGS     ? IBV_QP_INIT_ATTR_CREATE_FLAGS
					       : 0;
	attr->create_flags = what == FLAGS ? IBV_QP_CREATE_SCATTER_FCS : 0;
	attr->pd = what == NO_PD ? NULL : e->pd;
	attr->rwq_ind_tbl = what == NO_TABLE ? NULL : attr->rwq_ind_tbl;
	attr->qp_type = what == OTHER_TYPE ? IBV_QPT_UD : IBV_QPT_RAW_PACKET;
	attr->send_cq = what == SEND_CQ ? e->cq : NULL;
	attr->recv_cq = what == RECV_CQ ? e->cq : NULL;
	attr->srq = what == SRQ ? (struct ibv_srq *)(void *)e : NULL; /* never read */
	attr->cap.max_send_wr = what == MAX_SEND;
	attr->cap.max_recv_wr = what == MAX_RECV;
	conf->rx_hash_key = what == NO_KEY ? NULL : hash_key;
	conf->rx_hash_key_len =
		(uint8_t)(sizeof(hash_key) + (what == LONG_KEY) - (what == SHORT_KEY));
	conf->rx_hash_function = what == FUNCTION ? 0 : IBV_RX_HASH_FUNC_TOEPLITZ;
	conf->rx_hash_fields_mask = what == FIELDS ? IBV_RX_HASH_INNER : IBV_RX_HASH_SRC_IPV4;
}

TEST(hashing_looks_at_each_attribute)
{
	struct end *e = *state;
	struct ibv_wq *wq = make_wq(e), *wqs[WQS] = { wq, wq, wq, wq };
	struct ibv_rwq_ind_table *table = make_table(e, wqs);
	struct ibv_qp_init_attr_ex attr;
	struct ibv_qp *qp;

	for (int what = 0; what < SPOILT; what++) {
		attr = rss_attr(e, table);
		spoil_attr(&attr, (enum spoilt)what, e);
		errno = 0;
		if (ibv_create_qp_ex(e->context, &attr))
			fail_msg("attribute %d", what);
		if (errno != (what < UNSUPPORTED ? EINVAL : EOPNOTSUPP))
			fail_msg("attribute %d: %s", what, strerror(errno));
	}
	attr = rss_attr(e, table);
	attr.comp_mask |= IBV_QP_INIT_ATTR_CREATE_FLAGS;
	qp = ibv_create_qp_ex(e->context, &attr);
	assert_non_null(qp);
	assert_int_equal(ibv_destroy_qp(qp), 0);
	assert_int_equal(ibv_destroy_rwq_ind_table(table), 0);
	assert_int_equal(ibv_destroy_wq(wq), 0);
}

static struct ibv_qp *make_sender(struct end *e)
{
	struct ibv_qp_init_attr attr = {
		.send_cq = e->cq,
		.recv_cq = e->cq,
		.qp_type = IBV_QPT_RAW_PACKET,
		.cap = { 8, 1, 1, 1, 0 },
	};
	struct ibv_qp_attr init = { .qp_state = IBV_QPS_INIT, .port_num = 1 };
	struct ibv_qp *qp = ibv_create_qp(e->pd, &attr);

	assert_non_null(qp);
	assert_int_equal(ibv_modify_qp(qp, &init, IBV_QP_STATE | IBV_QP_PORT), 0);
	assert_int_equal(to_state(qp, IBV_QPS_RTR), 0);
	assert_int_equal(to_state(qp, IBV_QPS_RTS), 0);
	return qp;
}

/* From 10.0.0.@host; returns the number of the work queue that got it. */
static uint32_t send_from(struct end *e, uint8_t host)
{
	static const uint8_t ipv4[] = { 0x45, 0, 0, 46, 0, 0, 0, 0, 64, 59, 0, 0, 10, 0, 0 };
	struct ibv_wc first, second;

	memset(e->buf, 0, BYTES);
	e->buf[12] = 8;
	memcpy(e->buf + 14, ipv4, sizeof(ipv4));
	e->buf[29] = host;
	assert_int_equal(send_at(e, 1000, 0, BYTES), 0);
	first = poll_one(e->cq);
	second = poll_one(e->cq);
	if (first.wr_id == 1000)
		first = second;
	assert_int_equal(first.status, IBV_WC_SUCCESS);
	assert_memory_equal(e->buf + 1000, e->buf, BYTES);
	return first.qp_num;
}

TEST(packets_are_spread_by_their_address)
{
	struct end *e = *state;
	struct ibv_flow_attr rule = { .type = IBV_FLOW_ATTR_ALL_DEFAULT,
				      .port = 1,
				      .size = sizeof(rule) };
	struct ibv_rwq_ind_table *table;
	struct ibv_qp_init_attr_ex attr;
	uint32_t number, seen = 0;
	struct ibv_wq *wqs[WQS];
	struct ibv_flow *flow;
	struct ibv_qp *rss;
	int i, j;

	for (i = 0; i < WQS; i++) {
		wqs[i] = make_wq(e);
		assert_int_equal(wq_to(wqs[i], IBV_WQS_RDY), 0);
	}
	table = make_table(e, wqs);
	attr = rss_attr(e, table);
	rss = ibv_create_qp_ex(e->context, &attr);
	flow = ibv_create_flow(rss, &rule);
	assert_non_null(flow);
	assert_int_equal(ibv_destroy_qp(e->qp), 0);
	e->qp = make_sender(e);
	for (i = 0; i < 16; i++) {
		for (j = 0; j < WQS; j++)
			while (recv_wq(e, wqs[j], j, 1000) == 0)
				;
		number = send_from(e, i * 17);
		/* the same sender always comes to the same queue */
		assert_int_equal(send_from(e, i * 17), number);
		for (j = 0; j < WQS; j++)
			if (wqs[j]->wq_num == number)
				seen |= 1 << j;
	}
	assert_int_equal(seen, 15);
	assert_int_equal(ibv_destroy_flow(flow), 0);
	assert_int_equal(ibv_destroy_qp(rss), 0);
	assert_int_equal(ibv_destroy_rwq_ind_table(table), 0);
	for (i = 0; i < WQS; i++)
		assert_int_equal(ibv_destroy_wq(wqs[i]), 0);
}

TEST(an_overrun_cq_makes_its_work_queue_fatal)
{
	struct end *e = *state;
	struct ibv_wq_init_attr init = {
		.wq_type = IBV_WQT_RQ, .max_wr = 4, .max_sge = 1, .pd = e->pd
	};
	struct ibv_flow_attr rule = { .type = IBV_FLOW_ATTR_ALL_DEFAULT,
				      .port = 1,
				      .size = sizeof(rule) };
	struct ibv_wq *wqs[WQS];
	struct ibv_rwq_ind_table *table;
	struct ibv_qp_init_attr_ex attr;
	struct ibv_async_event event;
	struct ibv_flow *flow;
	struct ibv_qp *rss;
	int i;

	init.cq = ibv_create_cq(e->context, 1, NULL, NULL, 0);
	wqs[0] = wqs[1] = wqs[2] = wqs[3] = ibv_create_wq(e->context, &init);
	assert_non_null(wqs[0]);
	assert_int_equal(wq_to(wqs[0], IBV_WQS_RDY), 0);
	table = make_table(e, wqs);
	attr = rss_attr(e, table);
	rss = ibv_create_qp_ex(e->context, &attr);
	flow = ibv_create_flow(rss, &rule);
	assert_non_null(flow);
	assert_int_equal(ibv_destroy_qp(e->qp), 0);
	e->qp = make_sender(e);
	for (i = 0; i < 2; i++) { /* two, for a queue of one entry */
		assert_int_equal(recv_wq(e, wqs[0], i, 1000), 0);
		assert_int_equal(send_at(e, 1, 0, BYTES), 0);
		expect_wc(e->cq, 1, IBV_WC_SUCCESS);
	}
	assert_int_equal(ibv_get_async_event(e->context, &event), 0);
	assert_int_equal(event.event_type, IBV_EVENT_CQ_ERR);
	ibv_ack_async_event(&event);
	assert_int_equal(ibv_get_async_event(e->context, &event), 0);
	assert_int_equal(event.event_type, IBV_EVENT_WQ_FATAL);
	assert_ptr_equal(event.element.wq, wqs[0]);
	ibv_ack_async_event(&event);
	assert_int_equal(ibv_destroy_flow(flow), 0);
	assert_int_equal(ibv_destroy_qp(rss), 0);
	assert_int_equal(ibv_destroy_rwq_ind_table(table), 0);
	assert_int_equal(ibv_destroy_wq(wqs[0]), 0);
	assert_int_equal(ibv_destroy_cq(init.cq), 0);
}
