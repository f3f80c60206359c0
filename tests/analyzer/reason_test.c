/* Why a call was refused: analyzer/model/reason.c and refused_*.c over stored traces. */
#include <errno.h>
#include <rdma/rdma_cma.h>

#include "tests/analyzer/story.h"
#include "tests/test.h"

enum {
	TO_INIT = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS,
	TO_RTR = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
		 IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER,
	TO_RTS = IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC | IBV_QP_RETRY_CNT |
		 IBV_QP_RNR_RETRY | IBV_QP_TIMEOUT,
};

static const union ibv_gid local = { .raw = { 0xfe, 0x80, [15] = 1 } };

/* The recorder's query when a context is opened. */
static void ask_device(struct story *s)
{
	static struct ibv_device_attr attr = { .max_qp_wr = 100,
					       .max_sge = 4,
					       .max_cqe = 1000,
					       .max_mr_size = 1 << 20,
					       .max_qp_rd_atom = 16,
					       .max_qp_init_rd_atom = 8,
					       .max_srq_wr = 50,
					       .max_srq_sge = 2,
					       .phys_port_cnt = 1 };
	struct ibv_port_attr port = { .active_mtu = IBV_MTU_1024,
				      .pkey_tbl_len = 1,
				      .gid_tbl_len = 4,
				      .link_layer = IBV_LINK_LAYER_ETHERNET };
	struct ibv_gid_entry gid = { .gid = local,
				     .port_num = 1,
				     .gid_type = IBV_GID_TYPE_ROCE_V1 };

	story_do(s, 0, VERB_query_device, 40, 0, W(&a_context), W(&attr));
	story_do(s, 0, VERB_query_port, 41, 0, W(&a_context), W(1), W(&port), W(sizeof(port)));
	story_do(s, 0, VERB_query_gid_table, 42, 1, W(&a_context), W(&gid), W(16), W(0),
		 W(sizeof(gid)));
}

static void begin_story(struct story *s)
{
	a_qp.state = IBV_QPS_RESET;
	story_begin(s);
	open_context(s);
	ask_device(s);
	alloc_pd(s);
	create_cq(s);
}

/* End it; the reason of the only failed verb is @because, NULL: unknown. */
static void check_failure_reason(struct story *s, const char *because)
{
	const struct fact_list *facts;
	const struct fact *found = NULL;

	story_check(s, NULL);
	facts = &s->findings->facts->list;
	for (size_t i = 0; i < facts->n; i++)
		if (facts->all[i].kind == FACT_FAILED) {
			assert_null(found);
			found = &facts->all[i];
		}
	assert_non_null(found);
	if (because)
		assert_string_equal(found->because ? found->because : "", because);
	else
		assert_null(found->because);
	story_end(s);
}

/* ibv_modify_qp(): the attributes, and the values that differ from valid ones */
static const struct of_modify {
	const char *name;
	struct ibv_qp_attr attr;
	int mask, error;
	const char *because;
} of_modify[] = {
	{ "lacks",
	  { .qp_state = IBV_QPS_INIT, .port_num = 1 },
	  TO_INIT & ~IBV_QP_PORT,
	  EINVAL,
	  "lacks IBV_QP_PORT" },
	{ "bars",
	  { .qp_state = IBV_QPS_INIT, .port_num = 1 },
	  TO_INIT | IBV_QP_AV,
	  EINVAL,
	  "IBV_QP_AV not allowed RESET -> INIT" },
	{ "stays",
	  { .port_num = 1 },
	  TO_INIT & ~IBV_QP_STATE,
	  EINVAL,
	  "IBV_QP_ACCESS_FLAGS, IBV_QP_PKEY_INDEX, IBV_QP_PORT not allowed RESET -> RESET: "
	  "attr_mask lacks IBV_QP_STATE" },
	{ "none",
	  { .qp_state = IBV_QPS_RTR },
	  TO_RTR,
	  EINVAL,
	  "there is no transition RESET -> RTR" },
	{ "port",
	  { .qp_state = IBV_QPS_INIT, .port_num = 2 },
	  TO_INIT,
	  EINVAL,
	  "port_num is 2, the device has ports 1 to 1" },
	{ "pkey",
	  { .qp_state = IBV_QPS_INIT, .port_num = 1, .pkey_index = 1 },
	  TO_INIT,
	  EINVAL,
	  "pkey_index is 1, the last index of the port is 0" },
	{ "memory", { .qp_state = IBV_QPS_INIT, .port_num = 1 }, TO_INIT, ENOMEM, NULL },
	{ "unexplained", { .qp_state = IBV_QPS_INIT, .port_num = 1 }, TO_INIT, EINVAL, NULL },
};

static void modify_is_refused(void **state)
{
	const struct of_modify *row = *state;
	struct ibv_qp_attr attr = row->attr;
	struct story s;

	begin_story(&s);
	create_qp(&s);
	story_do(&s, 0, VERB_modify_qp, 30, row->error, W(&a_qp), W(&attr), W(row->mask));
	check_failure_reason(&s, row->because);
}

TEST_ROWS(of_modify, modify_is_refused);

static const struct of_rtr {
	const char *name;
	struct ibv_qp_attr attr;
	int error;
	const char *because;
} of_rtr[] = {
	{ "mtu", { .path_mtu = IBV_MTU_4096 }, EINVAL, "path_mtu is 4096 bytes, port 1 has 1024" },
	{ "reads",
	  { .path_mtu = IBV_MTU_256, .max_dest_rd_atomic = 17 },
	  EINVAL,
	  "max_dest_rd_atomic is 17, the device's max_qp_rd_atom is 16" },
	{ "no_mtu",
	  { .path_mtu = 9 },
	  EINVAL,
	  "path_mtu is 9, which is not a value of enum ibv_mtu" },
	{ "timer", { .min_rnr_timer = 32 }, EINVAL, "min_rnr_timer is 32, the maximum is 31" },
	{ "not_global",
	  { .ah_attr.port_num = 1 },
	  EINVAL,
	  "port 1 is Ethernet, and is_global of the address is 0" },
	{ "empty_gid",
	  { .ah_attr = { .port_num = 1, .is_global = 1, .grh.sgid_index = 3 } },
	  EINVAL,
	  "port 1 has no GID at sgid_index 3, and dgid is ::" },
	{ "empty_gid_since_5.10",
	  { .ah_attr = { .port_num = 1, .is_global = 1, .grh.sgid_index = 3 } },
	  ENODATA,
	  "port 1 has no GID at sgid_index 3, and dgid is ::" },
	{ "other_port",
	  { .ah_attr = { .port_num = 3, .is_global = 1 } },
	  EINVAL,
	  "the address' port_num is 3, the device has ports 1 to 1" },
	{ "unanswered",
	  { .ah_attr = { .port_num = 1,
			 .is_global = 1,
			 .grh.dgid.raw = { [10] = 0xff, 0xff, 10, 0, 0, 2 } } },
	  ETIMEDOUT,
	  "::ffff:10.0.0.2 did not respond from fe80::1, RoCE v1, sgid_index 0 of port 1" },
};

static void rtr_is_refused(void **state)
{
	struct ibv_qp_attr init = { .qp_state = IBV_QPS_INIT, .port_num = 1 };
	const struct of_rtr *row = *state;
	struct ibv_qp_attr attr = row->attr;
	struct story s;

	begin_story(&s);
	create_qp(&s);
	story_do(&s, 0, VERB_modify_qp, 30, 0, W(&a_qp), W(&init), W(TO_INIT));
	attr.qp_state = IBV_QPS_RTR;
	story_do(&s, 0, VERB_modify_qp, 31, (uint64_t)row->error, W(&a_qp), W(&attr), W(TO_RTR));
	check_failure_reason(&s, row->because);
}

TEST_ROWS(of_rtr, rtr_is_refused);

/* Like story_post(), but it returns @ret. */
static void post_fails(struct story *s, enum verb verb, int opcode, int nsge, unsigned int flags,
		       int ret)
{
	struct event_post *event = (struct event_post *)s->words;
	struct event_wr *wr = (struct event_wr *)(event + 1);
	struct event_sge *sge = (struct event_sge *)(wr + 1);

	event->object = W(&a_qp);
	event->verb = (uint16_t)verb;
	event->nwr = 1;
	event->ret = ret;
	event->bad = 1;
	wr->opcode = (uint8_t)opcode;
	wr->flags = (uint8_t)flags;
	wr->nsge = (uint8_t)nsge;
	for (int i = 0; i < nsge; i++)
		sge[i] = (struct event_sge){ 0x1000, 64, 0x10 };
	story_event(s, 0, EVENT_POST,
		    (sizeof(*event) + sizeof(*wr) + (size_t)nsge * sizeof(*sge)) / 8);
}

static const struct of_post {
	const char *name;
	enum ibv_qp_state state;
	enum verb verb;
	int opcode, nsge;
	unsigned int flags;
	int error;
	const char *because;
} of_post[] = {
	{ "state", IBV_QPS_INIT, VERB_post_send, IBV_WR_SEND, 1, 0, EINVAL, "qp1 was in INIT" },
	{ "receive", IBV_QPS_RESET, VERB_post_recv, 0, 1, 0, EINVAL, "qp1 was in RESET" },
	{ "opcode", IBV_QPS_RTS, VERB_post_send, IBV_WR_TSO, 1, 0, EINVAL,
	  "qp1 is of type RC, which does not support IBV_WR_TSO" },
	{ "no_opcode", IBV_QPS_RTS, VERB_post_send, 77, 1, 0, EINVAL,
	  "opcode is 77, which is not a value of enum ibv_wr_opcode" },
	{ "elements", IBV_QPS_RTS, VERB_post_send, IBV_WR_SEND, 3, 0, EINVAL,
	  "3 SGEs, max_send_sge is 2" },
	{ "elements_of_a_receive", IBV_QPS_RTS, VERB_post_recv, 0, 3, 0, EINVAL,
	  "3 SGEs, max_recv_sge is 1" },
	{ "inline", IBV_QPS_RTS, VERB_post_send, IBV_WR_SEND, 2, IBV_SEND_INLINE, EINVAL,
	  "128 bytes inline, max_inline_data is 100" },
	{ "inline_read", IBV_QPS_RTS, VERB_post_send, IBV_WR_RDMA_READ, 1, IBV_SEND_INLINE, EINVAL,
	  "IBV_WR_RDMA_READ with IBV_SEND_INLINE: its data comes from the peer" },
	{ "room", IBV_QPS_RTS, VERB_post_send, IBV_WR_SEND, 2, 0, ENOMEM,
	  "not a full queue: 0 of 4 sends of qp1 were outstanding; the device or its library had "
	  "no resources" },
	{ "room_of_a_receive", IBV_QPS_RTS, VERB_post_recv, 0, 1, 0, ENOMEM,
	  "not a full queue: 0 of 4 receives of qp1 were outstanding; the device or its library "
	  "had no resources" },
	{ "no_data", IBV_QPS_RTS, VERB_wr_complete, IBV_WR_SEND, 0, 0, EINVAL,
	  "wr[0], IBV_WR_SEND, has no data: call ibv_wr_set_sge() or a similar function after the "
	  "one that begins the request" },
	{ "batch_left_open", IBV_QPS_RTS, VERB_wr_complete, IBV_WR_SEND, 1, 0, EINVAL,
	  "its requests look valid. Probably an earlier ibv_wr_start() of qp1 was "
	  "followed by neither ibv_wr_complete() nor ibv_wr_abort(), as when a function returns in "
	  "between; or the data of a request was set twice" },
	{ "builder_unexplained", IBV_QPS_RTS, VERB_wr_complete, IBV_WR_RDMA_READ, 1, 0, EINVAL,
	  NULL },
	{ "send_unexplained", IBV_QPS_RTS, VERB_post_send, IBV_WR_SEND, 2, 0, EINVAL, NULL },
};

/* The queue pair has no receive queue. */
static const struct of_post no_receives = { "no_receives",
					    IBV_QPS_RTS,
					    VERB_post_recv,
					    0,
					    1,
					    0,
					    ENOMEM,
					    "qp1 was created with max_recv_wr 0" };

static void post_is_refused(void **state)
{
	const struct of_post *row = *state;
	struct ibv_qp_init_attr attr = { .send_cq = &a_cq,
					 .recv_cq = &a_cq,
					 .qp_type = IBV_QPT_RC,
					 .cap = { .max_send_wr = 4,
						  .max_recv_wr = row == &no_receives ? 0 : 4,
						  .max_send_sge = 2,
						  .max_recv_sge = 1,
						  .max_inline_data = 100 } };
	struct story s;

	begin_story(&s);
	a_qp.state = row->state;
	story_do(&s, 0, VERB_create_qp, 4, W(&a_qp), W(&a_pd), W(&attr));
	post_fails(&s, row->verb, row->opcode, row->nsge, row->flags, row->error);
	check_failure_reason(&s, row->because);
}

TEST_ROWS(of_post, post_is_refused);

TEST(a_queue_without_room)
{
	const void *row = &no_receives;

	post_is_refused((void **)&row);
}

/* Nothing is wrong with the request: only an open batch explains that. */
TEST(a_post_beside_an_open_batch)
{
	struct ibv_qp_init_attr_ex attr = {
		.send_cq = &a_cq,
		.recv_cq = &a_cq,
		.qp_type = IBV_QPT_RC,
		.pd = &a_pd,
		.cap = { .max_send_wr = 4, .max_send_sge = 2 },
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.send_ops_flags = IBV_QP_EX_WITH_SEND,
	};
	struct story s;

	begin_story(&s);
	a_qp.state = IBV_QPS_RTS;
	story_do(&s, 0, VERB_create_qp_ex, 4, W(&a_qp), W(&a_context), W(&attr));
	post_fails(&s, VERB_post_send, IBV_WR_SEND, 1, 0, EINVAL);
	check_failure_reason(&s, "possibly ibv_wr_start() was not followed by ibv_wr_complete() or "
				 "ibv_wr_abort()");
}

/* The requests of the batch are not known. */
TEST(a_batch_is_ended_that_was_not_begun)
{
	struct ibv_qp_init_attr attr = { .send_cq = &a_cq,
					 .recv_cq = &a_cq,
					 .qp_type = IBV_QPT_RC,
					 .cap = { .max_send_wr = 4 } };
	struct story s;
	struct event_post *event = (struct event_post *)s.words;

	begin_story(&s);
	a_qp.state = IBV_QPS_RTS;
	story_do(&s, 0, VERB_create_qp, 4, W(&a_qp), W(&a_pd), W(&attr));
	event->object = W(&a_qp);
	event->verb = VERB_wr_complete;
	event->ret = EINVAL;
	story_event(&s, 0, EVENT_POST, sizeof(*event) / 8);
	check_failure_reason(&s, "possibly ibv_wr_start() was not called since the last "
				 "ibv_wr_complete() or ibv_wr_abort(): a batch ends with each of "
				 "them");
}

/* A creation that fails with @error; story_do() has no errno. */
static void refuse_call(struct story *s, enum verb verb, int error, ...)
{
	struct event_return *event = (struct event_return *)s->words;
	struct story_call call;
	va_list list;

	va_start(list, error);
	call = story_call_args(s, 0, verb, 5, list);
	va_end(list);
	event->call_seq = call.seq;
	event->verb = (uint16_t)verb;
	event->error = error;
	story_event(s, 0, EVENT_RETURN, sizeof(*event) / 8);
}

static const struct of_qp {
	const char *name;
	struct ibv_qp_cap cap;
	const char *because;
} of_qp[] = {
	{ "sends", { .max_send_wr = 101 }, "max_send_wr is 101, the device's max_qp_wr is 100" },
	{ "receives", { .max_recv_wr = 200 }, "max_recv_wr is 200, the device's max_qp_wr is 100" },
	{ "send_sge", { .max_send_sge = 5 }, "max_send_sge is 5, the device's max_sge is 4" },
	{ "recv_sge", { .max_recv_sge = 5 }, "max_recv_sge is 5, the device's max_sge is 4" },
	{ "inline_data",
	  { .max_inline_data = 900 },
	  "within the device's limits, except possibly max_inline_data 900, which has a limit "
	  "that cannot be queried" },
	{ "qp_unexplained", { .max_send_wr = 10 }, NULL },
};

static void qp_is_refused(void **state)
{
	const struct of_qp *row = *state;
	struct ibv_qp_init_attr attr = {
		.send_cq = &a_cq, .recv_cq = &a_cq, .qp_type = IBV_QPT_RC, .cap = row->cap
	};
	struct story s;

	begin_story(&s);
	refuse_call(&s, VERB_create_qp, EINVAL, W(&a_pd), W(&attr));
	check_failure_reason(&s, row->because);
}

TEST_ROWS(of_qp, qp_is_refused);

TEST(a_queue_pair_needs_both_cqs)
{
	static const char *const because[] = { "send_cq is NULL", "recv_cq is NULL", "no CQ" };

	for (int i = 0; i < 3; i++) {
		struct ibv_qp_init_attr attr = { .send_cq = i != 1 ? NULL : &a_cq,
						 .recv_cq = i != 0 ? NULL : &a_cq,
						 .qp_type = IBV_QPT_RC };
		struct story s;

		begin_story(&s);
		refuse_call(&s, VERB_create_qp, EINVAL, W(&a_pd), W(&attr));
		check_failure_reason(&s, because[i]);
	}
}

/* The one side of XRC has no CQ by which it receives. */
TEST(a_queue_pair_that_only_sends_needs_one_cq)
{
	struct ibv_qp_init_attr attr = { .send_cq = &a_cq, .qp_type = IBV_QPT_XRC_SEND };
	struct story s;

	begin_story(&s);
	refuse_call(&s, VERB_create_qp, EINVAL, W(&a_pd), W(&attr));
	check_failure_reason(&s, NULL);
}

/* The verb returns @ret, an errno or -1 with EINVAL. */
static void refuse_int(struct story *s, enum verb verb, int ret, ...)
{
	struct story_call call;
	va_list list;

	va_start(list, ret);
	call = story_call_args(s, 0, verb, 5, list);
	va_end(list);
	story_fails(s, &call, (uint64_t)(int64_t)ret, EINVAL);
}

TEST(a_cq_cannot_grow_beyond_the_device)
{
	struct story s;

	begin_story(&s);
	refuse_int(&s, VERB_resize_cq, EINVAL, W(&a_cq), W(1001));
	check_failure_reason(&s, "cqe is 1001, the device's max_cqe is 1000");
}

TEST(a_port_that_the_device_does_not_have)
{
	struct ibv_port_attr port;
	union ibv_gid gid;
	struct story s;

	begin_story(&s);
	refuse_int(&s, VERB_query_port, EINVAL, W(&a_context), W(2), W(&port), W(sizeof(port)));
	check_failure_reason(&s, "port_num is 2, the device has ports 1 to 1");
	begin_story(&s);
	refuse_int(&s, VERB_query_gid, -1, W(&a_context), W(1), W(99), W(&gid));
	check_failure_reason(&s, "index is 99, and gid_tbl_len of port 1 is 4");
	begin_story(&s);
	refuse_int(&s, VERB_query_gid, -1, W(&a_context), W(1), W(3), W(&gid));
	check_failure_reason(&s, NULL);
}

TEST(a_connected_queue_pair_joins_no_group)
{
	union ibv_gid group = { .raw = { 0xff, 0x12 } };
	struct story s;

	begin_story(&s);
	create_qp(&s);
	refuse_int(&s, VERB_attach_mcast, EINVAL, W(&a_qp), W(&group), W(0));
	check_failure_reason(&s, "qp1 is of type RC, and only UD joins a multicast group");
}

TEST(a_gid_that_is_no_group)
{
	struct ibv_qp_init_attr attr = { .send_cq = &a_cq,
					 .recv_cq = &a_cq,
					 .qp_type = IBV_QPT_UD };
	union ibv_gid group = local;
	struct story s;

	begin_story(&s);
	story_do(&s, 0, VERB_create_qp, 4, W(&a_qp), W(&a_pd), W(&attr));
	refuse_int(&s, VERB_attach_mcast, EINVAL, W(&a_qp), W(&group), W(0));
	check_failure_reason(&s, "fe80::1 is not a multicast GID: these begin with ff");
}

TEST(a_limit_beyond_the_srq)
{
	struct ibv_srq_init_attr attr = { .attr = { .max_wr = 16, .max_sge = 1 } };
	struct ibv_srq srq = { .context = &a_context, .pd = &a_pd };

	for (uint32_t limit = 16; limit <= 17; limit++) {
		struct ibv_srq_attr change = { .srq_limit = limit };
		struct story s;

		begin_story(&s);
		story_do(&s, 0, VERB_create_srq, 6, W(&srq), W(&a_pd), W(&attr));
		refuse_int(&s, VERB_modify_srq, EINVAL, W(&srq), W(&change), W(IBV_SRQ_LIMIT));
		check_failure_reason(&s, limit == 17 ? "srq_limit is 17, and max_wr of srq1 is 16"
						     : NULL);
	}
}

TEST(a_window_of_no_type)
{
	struct story s;

	begin_story(&s);
	refuse_call(&s, VERB_alloc_mw, EINVAL, W(&a_pd), W(7));
	check_failure_reason(&s, "type is 7, which is not a value of enum ibv_mw_type");
	begin_story(&s);
	refuse_call(&s, VERB_alloc_mw, EINVAL, W(&a_pd), W(IBV_MW_TYPE_2));
	check_failure_reason(&s, NULL);
}

TEST(a_cq_that_is_too_long_is_refused)
{
	struct story s;

	begin_story(&s);
	refuse_call(&s, VERB_create_cq, ENOMEM, W(&a_context), W(1001), W(0), W(0), W(0));
	check_failure_reason(&s, "cqe is 1001, the device's max_cqe is 1000");
}

TEST(a_vector_that_the_device_does_not_have)
{
	struct story s;

	begin_story(&s);
	refuse_call(&s, VERB_create_cq, EINVAL, W(&a_context), W(16), W(0), W(0), W(1));
	check_failure_reason(&s, "comp_vector is 1, the device has 1, from 0 on");
}

TEST(a_vector_that_the_device_has_is_not_blamed)
{
	struct story s;

	begin_story(&s);
	refuse_call(&s, VERB_create_cq, EINVAL, W(&a_context), W(16), W(0), W(0), W(0));
	check_failure_reason(&s, NULL);
}

TEST(an_srq_that_is_too_long_is_refused)
{
	struct ibv_srq_init_attr attr = { .attr = { .max_wr = 51, .max_sge = 1 } };
	struct story s;

	begin_story(&s);
	refuse_call(&s, VERB_create_srq, EINVAL, W(&a_pd), W(&attr));
	check_failure_reason(&s, "max_wr is 51, the device's max_srq_wr is 50");
}

TEST(remote_writes_need_local_ones)
{
	struct story s;

	begin_story(&s);
	refuse_call(&s, VERB_reg_mr, EINVAL, W(&a_pd), W(0x1000), W(64),
		    W(IBV_ACCESS_REMOTE_WRITE));
	check_failure_reason(&s, "IBV_ACCESS_REMOTE_WRITE without IBV_ACCESS_LOCAL_WRITE");
}

TEST(a_region_may_be_too_long)
{
	struct story s;

	begin_story(&s);
	refuse_call(&s, VERB_reg_mr, EINVAL, W(&a_pd), W(0x1000), W(2 << 20), W(1));
	check_failure_reason(&s, "2097152 bytes, the device's max_mr_size is 1048576");
}

TEST(memory_that_is_not_there_is_named)
{
	struct story s;

	begin_story(&s);
	refuse_call(&s, VERB_reg_mr, EFAULT, W(&a_pd), W(0x1000), W(0x2000), W(0));
	check_failure_reason(
		&s, "0x1000 to 0x3000 cannot be pinned: it is not completely mapped, or it "
		    "is GPU memory");
}

TEST(a_limit_of_pinned_memory_is_named)
{
	struct story s;

	story_limits = (struct event_process){ .page_size = 4096,
					       .memlock = 64 << 10,
					       .ipc_lock = IPC_LOCK_MISSING };
	begin_story(&s);
	reg_mr(&s, &a_mr);
	refuse_call(&s, VERB_create_cq, ENOMEM, W(&a_context), W(100), W(0), W(0), W(0));
	story_limits = (struct event_process){ 0 };
	check_failure_reason(&s,
			     "4 KiB pinned by 1 region, RLIMIT_MEMLOCK 64 KiB, no CAP_IPC_LOCK");
}

TEST(a_limit_that_does_not_bind_is_not_blamed)
{
	struct story s;

	story_limits = (struct event_process){ .page_size = 4096,
					       .memlock = 64 << 10,
					       .ipc_lock = IPC_LOCK_HELD };
	begin_story(&s);
	reg_mr(&s, &a_mr);
	refuse_call(&s, VERB_create_cq, ENOMEM, W(&a_context), W(100), W(0), W(0), W(0));
	story_limits = (struct event_process){ 0 };
	check_failure_reason(
		&s, "not because of RLIMIT_MEMLOCK, which CAP_IPC_LOCK lifts (4 KiB pinned "
		    "by 1 region), and within the device's limits: the device or the "
		    "kernel had no resources");
}

TEST(an_address_handle_has_the_same_reasons)
{
	struct ibv_ah_attr attr = { .port_num = 1 };
	struct story s;

	begin_story(&s);
	refuse_call(&s, VERB_create_ah, EINVAL, W(&a_pd), W(&attr));
	check_failure_reason(&s, "port 1 is Ethernet, and is_global of the address is 0");
}

TEST(an_address_handle_is_not_resolved)
{
	struct ibv_ah_attr attr = { .port_num = 1, .is_global = 1, .grh.dgid = local };
	struct story s;

	begin_story(&s);
	refuse_call(&s, VERB_create_ah, ETIMEDOUT, W(&a_pd), W(&attr));
	check_failure_reason(
		&s, "fe80::1 did not respond from fe80::1, RoCE v1, sgid_index 0 of port 1");
}

TEST(a_key_beyond_the_table)
{
	struct story s;
	__be16 key;

	begin_story(&s);
	refuse_int(&s, VERB_query_pkey, -1, W(&a_context), W(1), W(1), W(&key));
	check_failure_reason(&s, "index is 1, and pkey_tbl_len of port 1 is 1");
}

TEST(an_srq_without_room)
{
	struct ibv_srq_init_attr attr = { .attr = { .max_wr = 0, .max_sge = 1 } };
	struct story s;

	begin_story(&s);
	refuse_call(&s, VERB_create_srq, EINVAL, W(&a_pd), W(&attr));
	check_failure_reason(&s, "max_wr is 0");
}

TEST(an_srq_grows_beyond_the_device)
{
	struct ibv_srq_init_attr attr = { .attr = { .max_wr = 16, .max_sge = 1 } };
	struct ibv_srq srq = { .context = &a_context, .pd = &a_pd };
	struct ibv_srq_attr change = { .max_wr = 51 };
	struct story s;

	begin_story(&s);
	story_do(&s, 0, VERB_create_srq, 6, W(&srq), W(&a_pd), W(&attr));
	refuse_int(&s, VERB_modify_srq, EINVAL, W(&srq), W(&change), W(IBV_SRQ_MAX_WR));
	check_failure_reason(&s, "max_wr is 51, the device's max_srq_wr is 50");
}

TEST(a_datagram_without_a_destination)
{
	struct ibv_qp_init_attr attr = { .send_cq = &a_cq,
					 .recv_cq = &a_cq,
					 .qp_type = IBV_QPT_UD,
					 .cap = { .max_send_wr = 4, .max_send_sge = 1 } };
	struct story s;

	begin_story(&s);
	a_qp.state = IBV_QPS_RTS;
	story_do(&s, 0, VERB_create_qp, 4, W(&a_qp), W(&a_pd), W(&attr));
	post_fails(&s, VERB_post_send, IBV_WR_SEND, 1, 0, EINVAL);
	check_failure_reason(&s, "wr[0].wr.ud.ah is NULL");
}

TEST(a_window_is_bound_too_early)
{
	struct ibv_mw mw = { .context = &a_context, .pd = &a_pd };
	struct ibv_mw_bind bind = { 0 };
	struct story s;

	begin_story(&s);
	create_qp(&s);
	refuse_int(&s, VERB_bind_mw, EINVAL, W(&a_qp), W(&mw), W(&bind));
	check_failure_reason(&s, "qp1 was in RESET");
}

/* A queue pair whose PD and CQ belong to different devices. */
TEST(contexts_do_not_mix)
{
	struct ibv_context another = { .num_comp_vectors = 1 };
	struct ibv_pd pd = { .context = &another };
	struct ibv_qp_init_attr attr = { .send_cq = &a_cq, .qp_type = IBV_QPT_RC };
	struct rdma_event_channel channel = { .fd = 7 };
	struct rdma_cm_id made = { .channel = &channel, .verbs = &a_context }, *id = &made;
	struct story s;

	begin_story(&s);
	story_do(&s, 0, VERB_open_device, 50, W(&another), W(0x8000));
	story_do(&s, 0, VERB_alloc_pd, 51, W(&pd), W(&another));
	story_do(&s, 0, VERB_rdma_create_event_channel, 20, W(&channel));
	story_do(&s, 0, VERB_rdma_create_id, 21, 0, W(&channel), W(&id), W(0), W(RDMA_PS_TCP));
	story_do(&s, 0, VERB_rdma_bind_addr, 22, 0, W(id), W(0));
	refuse_int(&s, VERB_rdma_create_qp, -1, W(id), W(&pd), W(&attr));
	check_failure_reason(&s, "pd2 is of another context than cq1");
}
