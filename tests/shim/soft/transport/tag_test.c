#include <endian.h>
#include <errno.h>
#include <infiniband/tm_types.h>

#include "shim/soft/verbs/newer.h"
#include "tests/shim/soft/fellow.h"
#include "tests/shim/soft/pair.h"
#include "tests/test.h"

/* A pair whose second end receives from a queue with a tag matching list. */
enum { TAGS = 4, OPS = 6, DEPTH = 4, FIRST = 16 };

struct tagged {
	struct pair p;
	struct ibv_cq_ex *cq;
	struct ibv_srq *srq;
};

struct request {
	struct ibv_tmh tmh;
	struct ibv_rvh rvh;
	uint8_t header[32];
};

static struct ibv_cq_ex *make_cq(struct ibv_context *context)
{
	struct ibv_cq_init_attr_ex attr = {
		.cqe = END_CQE, .wc_flags = IBV_WC_STANDARD_FLAGS | IBV_WC_EX_WITH_TM_INFO
	};
	struct ibv_cq_ex *cq = ibv_create_cq_ex(context, &attr);

	assert_non_null(cq);
	return cq;
}

static struct ibv_srq_init_attr_ex srq_attr(struct ibv_pd *pd, struct ibv_cq_ex *cq)
{
	return (struct ibv_srq_init_attr_ex){
		.attr = { DEPTH, 1, 0 },
		.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD | IBV_SRQ_INIT_ATTR_CQ |
			     IBV_SRQ_INIT_ATTR_TM,
		.srq_type = IBV_SRQT_TM,
		.pd = pd,
		.cq = ibv_cq_ex_to_cq(cq),
		.tm_cap = { TAGS, OPS },
	};
}

static struct ibv_srq *make_srq(struct ibv_pd *pd, struct ibv_cq_ex *cq)
{
	struct ibv_srq_init_attr_ex attr = srq_attr(pd, cq);
	struct ibv_srq *srq = ibv_create_srq_ex(pd->context, &attr);

	assert_non_null(srq);
	return srq;
}

static int set_up(void **state)
{
	struct tagged *t = calloc(1, sizeof(*t));

	end_open(&t->p.a);
	end_open(&t->p.b);
	t->cq = make_cq(t->p.b.context);
	t->srq = make_srq(t->p.b.pd, t->cq);
	use_qp_of(&t->p.b, IBV_QPT_RC, t->srq);
	connect_to(t->p.a.qp, t->p.b.qp->qp_num);
	connect_to(t->p.b.qp, t->p.a.qp->qp_num);
	*state = t;
	return 0;
}

static int tear_down(void **state)
{
	struct tagged *t = *state;

	assert_int_equal(ibv_destroy_qp(t->p.b.qp), 0);
	t->p.b.qp = NULL;
	assert_int_equal(ibv_destroy_cq(ibv_cq_ex_to_cq(t->cq)), EBUSY);
	assert_int_equal(ibv_destroy_srq(t->srq), 0);
	assert_int_equal(ibv_destroy_cq(ibv_cq_ex_to_cq(t->cq)), 0);
	end_close(&t->p.a);
	end_close(&t->p.b);
	free(t);
	return 0;
}

static int post_op(struct ibv_srq *srq, struct ibv_ops_wr *wr)
{
	struct ibv_ops_wr *bad = NULL;
	int err = ibv_post_srq_ops(srq, wr, &bad);

	assert_ptr_equal(bad, err ? wr : NULL);
	return err;
}

static int add_tag(struct ibv_srq *srq, uint64_t wr_id, uint64_t tag, uint64_t mask,
		   struct ibv_sge *sge, uint32_t *ret_handle)
{
	struct ibv_ops_wr wr = { .opcode = IBV_WR_TAG_ADD };
	int err;

	wr.tm.add.recv_wr_id = wr_id;
	wr.tm.add.sg_list = sge;
	wr.tm.add.num_sge = 1;
	wr.tm.add.tag = tag;
	wr.tm.add.mask = mask;
	err = post_op(srq, &wr);
	if (ret_handle)
		*ret_handle = wr.tm.handle;
	return err;
}

/* A buffer of @len at 4096 times @wr_id. */
static void add_at(struct tagged *t, uint64_t wr_id, uint64_t tag, uint32_t len)
{
	struct ibv_sge sge = sge_of(&t->p.b, 4096 * wr_id, len);

	assert_int_equal(add_tag(t->srq, wr_id, tag, UINT64_MAX, &sge, NULL), 0);
}

static int list_op(struct ibv_srq *srq, uint64_t wr_id, enum ibv_ops_wr_opcode opcode, int flags,
		   uint32_t number)
{
	struct ibv_ops_wr wr = { .wr_id = wr_id, .opcode = opcode, .flags = flags };

	wr.tm.unexpected_cnt = number;
	wr.tm.handle = number;
	return post_op(srq, &wr);
}

static void recv_shared(struct tagged *t, uint64_t wr_id)
{
	struct ibv_sge sge = sge_of(&t->p.b, 4096 * wr_id, 4096);
	struct ibv_recv_wr wr = { .wr_id = wr_id, .sg_list = &sge, .num_sge = 1 }, *bad;

	assert_int_equal(ibv_post_srq_recv(t->srq, &wr, &bad), 0);
}

/* @len bytes behind the header. */
static void send_tag(struct end *e, uint64_t wr_id, enum ibv_tmh_op op, uint64_t tag, uint32_t len)
{
	struct ibv_tmh tmh = { op, { 0 }, htobe32(7), htobe64(tag) };

	memcpy(e->buf, &tmh, sizeof(tmh));
	memset(e->buf + sizeof(tmh), 'x', len);
	assert_int_equal(send_at(e, wr_id, 0, sizeof(tmh) + len), 0);
}

enum { SOURCE = 65536, LONG = 20000 };

static void send_rendezvous(struct end *e, uint64_t wr_id, uint64_t tag, uint32_t rkey,
			    uint32_t size)
{
	struct request request = {
		.tmh = { IBV_TMH_RNDV, { 0 }, htobe32(9), htobe64(tag) },
		.rvh = { htobe64((uintptr_t)e->buf + SOURCE), htobe32(rkey), htobe32(LONG) },
	};

	memset(e->buf + SOURCE, 'l', LONG);
	memcpy(e->buf, &request, sizeof(request));
	assert_int_equal(send_at(e, wr_id, 0, size), 0);
}

struct seen {
	int status;
	uint64_t wr_id;
	int opcode;
	unsigned int flags;
	uint32_t byte_len;
	struct ibv_wc_tm_info info;
};

/* Wait for one completion; gives up after ten seconds. */
static struct seen poll_tag(struct ibv_cq_ex *cq)
{
	struct ibv_poll_cq_attr attr = { 0 };
	struct seen seen = { .status = -1 };
	int tries;

	for (tries = 0; ibv_start_poll(cq, &attr); tries++) {
		assert_true(tries < 200000);
		usleep(50);
	}
	seen.status = cq->status;
	seen.wr_id = cq->wr_id;
	seen.opcode = ibv_wc_read_opcode(cq);
	seen.flags = ibv_wc_read_wc_flags(cq);
	seen.byte_len = ibv_wc_read_byte_len(cq);
	ibv_wc_read_tm_info(cq, &seen.info);
	ibv_end_poll(cq);
	return seen;
}

static struct seen expect_tag(struct ibv_cq_ex *cq, uint64_t wr_id, int opcode, unsigned int flags)
{
	struct seen seen = poll_tag(cq);

	assert_int_equal(seen.status, IBV_WC_SUCCESS);
	assert_int_equal(seen.wr_id, wr_id);
	assert_int_equal(seen.opcode, opcode);
	assert_int_equal(seen.flags, flags);
	return seen;
}

static void expect_status(struct ibv_cq_ex *cq, uint64_t wr_id, int status)
{
	struct seen seen = poll_tag(cq);

	assert_int_equal(seen.status, status);
	assert_int_equal(seen.wr_id, wr_id);
}

static void expect_no_tag(struct ibv_cq_ex *cq)
{
	struct ibv_poll_cq_attr attr = { 0 };

	assert_int_equal(ibv_start_poll(cq, &attr), ENOENT);
}

enum { MATCHED = IBV_WC_TM_MATCH | IBV_WC_TM_DATA_VALID };

GROUP(fabric_setup, fabric_teardown);
FIXTURE(set_up, tear_down);

TEST(device_tells_its_limits)
{
	struct tagged *t = *state;
	struct ibv_device_attr_ex attr;

	assert_int_equal(ibv_query_device_ex(t->p.a.context, NULL, &attr), 0);
	assert_int_equal(attr.tm_caps.flags, IBV_TM_CAP_RC);
	assert_true(attr.tm_caps.max_num_tags >= TAGS && attr.tm_caps.max_ops >= OPS &&
		    attr.tm_caps.max_sge >= 1);
	assert_true(attr.tm_caps.max_rndv_hdr_size >= sizeof(struct request));
}

TEST(message_goes_to_the_oldest_match_without_its_header)
{
	struct tagged *t = *state;
	struct seen seen;

	add_at(t, 1, 0x11, 64);
	add_at(t, 2, 0x22, 64);
	add_at(t, 3, 0x22, 64);
	send_tag(&t->p.a, 5, IBV_TMH_EAGER, 0x22, 50);
	expect_wc(t->p.a.cq, 5, IBV_WC_SUCCESS);
	seen = expect_tag(t->cq, 2, IBV_WC_TM_RECV, MATCHED);
	assert_int_equal(seen.byte_len, 50);
	assert_int_equal(seen.info.tag, 0x22);
	assert_int_equal(seen.info.priv, 7);
	assert_memory_equal(t->p.b.buf + 8192, t->p.a.buf + 16, 50);
	send_tag(&t->p.a, 6, IBV_TMH_EAGER, 0x22, 0);
	assert_int_equal(expect_tag(t->cq, 3, IBV_WC_TM_RECV, MATCHED).byte_len, 0);
	expect_no_tag(t->cq);
}

TEST(mask_chooses_bits)
{
	struct tagged *t = *state;
	struct ibv_sge sge = sge_of(&t->p.b, 0, 64);

	recv_shared(t, FIRST);
	assert_int_equal(add_tag(t->srq, 1, 0x1200, 0xff00, &sge, NULL), 0);
	send_tag(&t->p.a, 5, IBV_TMH_EAGER, 0x1300, 1);
	assert_int_equal(expect_tag(t->cq, FIRST, IBV_WC_TM_RECV, 0).byte_len, 17);
	send_tag(&t->p.a, 6, IBV_TMH_EAGER, 0xab12cd, 1);
	assert_int_equal(expect_tag(t->cq, 1, IBV_WC_TM_RECV, MATCHED).info.tag, 0xab12cd);
}

TEST(new_buffer_matches_after_synchronization)
{
	struct tagged *t = *state;
	int synced = IBV_OPS_SIGNALED | IBV_OPS_TM_SYNC;

	recv_shared(t, FIRST);
	recv_shared(t, FIRST + 1);
	add_at(t, 1, 1, 64);
	send_tag(&t->p.a, 5, IBV_TMH_EAGER, 2, 0);
	assert_int_equal(expect_tag(t->cq, FIRST, IBV_WC_TM_RECV, 0).info.tag, 0);
	/* one that was added before still matches, a new one does not */
	add_at(t, 2, 2, 64);
	send_tag(&t->p.a, 6, IBV_TMH_EAGER, 1, 0);
	expect_tag(t->cq, 1, IBV_WC_TM_RECV, MATCHED);
	send_tag(&t->p.a, 7, IBV_TMH_EAGER, 2, 0);
	expect_tag(t->cq, FIRST + 1, IBV_WC_TM_RECV, 0);
	assert_int_equal(list_op(t->srq, 9, IBV_WR_TAG_SYNC, synced, 1), 0);
	expect_tag(t->cq, 9, IBV_WC_TM_SYNC, IBV_WC_TM_SYNC_REQ);
	assert_int_equal(list_op(t->srq, 10, IBV_WR_TAG_SYNC, synced, 2), 0);
	expect_tag(t->cq, 10, IBV_WC_TM_SYNC, 0);
	send_tag(&t->p.a, 8, IBV_TMH_EAGER, 2, 0);
	expect_tag(t->cq, 2, IBV_WC_TM_RECV, MATCHED);
}

TEST(message_without_tag_is_not_unexpected)
{
	struct tagged *t = *state;
	uint64_t i;

	for (i = 0; i < 3; i++)
		recv_shared(t, FIRST + i);
	add_at(t, 1, 1, 64);
	send_tag(&t->p.a, 5, IBV_TMH_NO_TAG, 1, 3);
	assert_int_equal(expect_tag(t->cq, FIRST, IBV_WC_TM_NO_TAG, 0).byte_len, 19);
	assert_int_equal(send_at(&t->p.a, 6, 0, 4), 0); /* shorter than a header */
	assert_int_equal(expect_tag(t->cq, FIRST + 1, IBV_WC_TM_NO_TAG, 0).byte_len, 4);
	assert_int_equal(rdma_at(&t->p.a, IBV_WR_RDMA_WRITE_WITH_IMM, 7, 0, 0, 0), 0);
	expect_tag(t->cq, FIRST + 2, IBV_WC_RECV_RDMA_WITH_IMM, IBV_WC_WITH_IMM);
	assert_int_equal(list_op(t->srq, 9, IBV_WR_TAG_SYNC, IBV_OPS_SIGNALED, 0), 0);
	expect_tag(t->cq, 9, IBV_WC_TM_SYNC, 0);
	expect_none(t->p.b.cq);
}

TEST(deleted_buffer_matches_nothing)
{
	struct tagged *t = *state;
	struct ibv_sge sge = sge_of(&t->p.b, 0, 64);
	uint32_t first, second;

	recv_shared(t, FIRST);
	assert_int_equal(add_tag(t->srq, 1, 1, UINT64_MAX, &sge, &first), 0);
	assert_int_equal(list_op(t->srq, 5, IBV_WR_TAG_DEL, IBV_OPS_SIGNALED, first), 0);
	expect_tag(t->cq, 5, IBV_WC_TM_DEL, 0);
	assert_int_equal(add_tag(t->srq, 2, 2, UINT64_MAX, &sge, &second), 0);
	/* an old handle means no other buffer */
	assert_int_equal(list_op(t->srq, 6, IBV_WR_TAG_DEL, IBV_OPS_SIGNALED, first), 0);
	expect_status(t->cq, 6, IBV_WC_TM_ERR);
	send_tag(&t->p.a, 7, IBV_TMH_EAGER, 2, 0);
	expect_tag(t->cq, 2, IBV_WC_TM_RECV, MATCHED);
	/* an entry that was matched meanwhile cannot be removed either */
	assert_int_equal(list_op(t->srq, 8, IBV_WR_TAG_DEL, IBV_OPS_SIGNALED, second), 0);
	expect_status(t->cq, 8, IBV_WC_TM_ERR);
	send_tag(&t->p.a, 9, IBV_TMH_EAGER, 1, 0);
	expect_tag(t->cq, FIRST, IBV_WC_TM_RECV, 0);
	assert_int_equal(list_op(t->srq, 0, IBV_WR_TAG_DEL, 0, TAGS), EINVAL);
}

TEST(list_and_its_operations_are_limited)
{
	struct tagged *t = *state;
	struct ibv_sge sge = sge_of(&t->p.b, 0, 64);
	uint64_t i;

	for (i = 0; i < TAGS; i++)
		add_at(t, i, i, 64);
	assert_int_equal(add_tag(t->srq, 9, 9, UINT64_MAX, &sge, NULL), ENOMEM);
	assert_int_equal(list_op(t->srq, 5, IBV_WR_TAG_SYNC, IBV_OPS_SIGNALED, 0), 0);
	expect_tag(t->cq, 5, IBV_WC_TM_SYNC, 0);
	for (i = 0; i < OPS; i++)
		assert_int_equal(list_op(t->srq, i, IBV_WR_TAG_SYNC, IBV_OPS_SIGNALED, 0), 0);
	assert_int_equal(list_op(t->srq, 0, IBV_WR_TAG_SYNC, IBV_OPS_SIGNALED, 0), ENOMEM);
	for (i = 0; i < OPS; i++)
		expect_tag(t->cq, i, IBV_WC_TM_SYNC, 0);
	/* a buffer makes room when its completion is polled */
	send_tag(&t->p.a, 7, IBV_TMH_EAGER, 2, 0);
	assert_int_equal(add_tag(t->srq, 9, 9, UINT64_MAX, &sge, NULL), ENOMEM);
	expect_tag(t->cq, 2, IBV_WC_TM_RECV, MATCHED);
	assert_int_equal(add_tag(t->srq, 9, 9, UINT64_MAX, &sge, NULL), 0);
}

TEST(bad_operations_are_refused)
{
	struct tagged *t = *state;
	struct ibv_srq_init_attr init = { .attr = { DEPTH, 1, 0 } };
	struct ibv_srq *plain = ibv_create_srq(t->p.b.pd, &init);
	struct ibv_ops_wr wr = { .opcode = IBV_WR_TAG_ADD };

	assert_int_equal(list_op(plain, 1, IBV_WR_TAG_SYNC, 0, 0), EINVAL);
	assert_int_equal(ibv_destroy_srq(plain), 0);
	assert_int_equal(list_op(t->srq, 1, IBV_WR_TAG_SYNC + 1, 0, 0), EINVAL);
	assert_int_equal(list_op(t->srq, 1, IBV_WR_TAG_SYNC, 4, 0), EINVAL);
	wr.tm.add.num_sge = 99;
	assert_int_equal(post_op(t->srq, &wr), EINVAL);
}

TEST(list_stops_at_the_first_bad_operation)
{
	struct tagged *t = *state;
	struct ibv_ops_wr wr[3] = {
		{ .wr_id = 1,
		  .next = &wr[1],
		  .opcode = IBV_WR_TAG_SYNC,
		  .flags = IBV_OPS_SIGNALED },
		{ .wr_id = 2, .next = &wr[2], .opcode = IBV_WR_TAG_SYNC, .flags = 4 },
		{ .wr_id = 3, .opcode = IBV_WR_TAG_SYNC, .flags = IBV_OPS_SIGNALED },
	};
	struct ibv_ops_wr *bad = NULL;

	assert_int_equal(ibv_post_srq_ops(t->srq, wr, &bad), EINVAL);
	assert_ptr_equal(bad, &wr[1]);
	expect_tag(t->cq, 1, IBV_WC_TM_SYNC, 0);
	expect_no_tag(t->cq);
}

TEST(creation_needs_what_belongs_to_tag_matching)
{
	struct tagged *t = *state;
	struct ibv_context *context = t->p.b.context;
	struct ibv_srq_init_attr_ex attr = srq_attr(t->p.b.pd, t->cq);
	struct ibv_qp_init_attr init = { .send_cq = t->p.b.cq,
					 .recv_cq = t->p.b.cq,
					 .srq = t->srq,
					 .qp_type = IBV_QPT_UD,
					 .cap = { 1, 0, 1, 0, 0 } };

	attr.comp_mask &= ~IBV_SRQ_INIT_ATTR_TM;
	assert_null(ibv_create_srq_ex(context, &attr));
	assert_int_equal(errno, EINVAL);
	attr = srq_attr(t->p.b.pd, t->cq);
	attr.tm_cap.max_num_tags = UINT32_MAX;
	assert_null(ibv_create_srq_ex(context, &attr));
	assert_int_equal(errno, EINVAL);
	attr = srq_attr(t->p.b.pd, t->cq);
	attr.cq = t->p.b.cq; /* not an extended one */
	assert_null(ibv_create_srq_ex(context, &attr));
	assert_int_equal(errno, EINVAL);
	assert_null(ibv_create_qp(t->p.b.pd, &init)); /* IBV_TM_CAP_RC */
	assert_int_equal(errno, EINVAL);
}

TEST(message_longer_than_its_buffer_fails_both_ends)
{
	struct tagged *t = *state;

	add_at(t, 1, 1, 8);
	send_tag(&t->p.a, 5, IBV_TMH_EAGER, 1, 9);
	expect_wc(t->p.a.cq, 5, IBV_WC_REM_INV_REQ_ERR);
	expect_status(t->cq, 1, IBV_WC_LOC_LEN_ERR);
	assert_int_equal(state_of(t->p.b.qp), IBV_QPS_ERR);
}

TEST(receives_of_buffers_are_counted)
{
	struct soft_comp_cntr_init_attr init = { .type = COMP_CNTR_BYTES };
	struct soft_qp_attach_comp_cntr_attr attach = { .op_mask = 1 << SHM_COUNT_RECV };
	struct tagged *t = *state;
	struct soft_comp_cntr *received = soft_create_comp_cntr(t->p.b.context, &init);
	uint64_t value;

	assert_non_null(received);
	use_qp_of(&t->p.a, IBV_QPT_RC, NULL);
	use_qp_of(&t->p.b, IBV_QPT_RC, t->srq);
	assert_int_equal(soft_qp_attach_comp_cntr(t->p.b.qp, received, &attach), 0);
	connect_to(t->p.a.qp, t->p.b.qp->qp_num);
	connect_to(t->p.b.qp, t->p.a.qp->qp_num);
	add_at(t, 1, 1, 8);
	add_at(t, 2, 2, 8);
	send_tag(&t->p.a, 4, IBV_TMH_EAGER, 1, 7);
	assert_int_equal(soft_read_comp_cntr(received, &value), 0);
	assert_int_equal(value, 7);
	assert_int_equal(soft_read_err_comp_cntr(received, &value), 0);
	assert_int_equal(value, 0);
	send_tag(&t->p.a, 5, IBV_TMH_EAGER, 2, 9);
	assert_int_equal(soft_read_comp_cntr(received, &value), 0);
	assert_int_equal(value, 7);
	assert_int_equal(soft_read_err_comp_cntr(received, &value), 0);
	assert_int_equal(value, 1);
	assert_int_equal(ibv_destroy_qp(t->p.b.qp), 0);
	assert_int_equal(soft_destroy_comp_cntr(received), 0);
	t->p.b.qp = make_qp_of(&t->p.b, IBV_QPT_RC, t->srq);
}

TEST(reset_drops_completions_of_buffers)
{
	struct tagged *t = *state;
	uint64_t i;

	for (i = 0; i < TAGS; i++)
		add_at(t, i, i, 64);
	send_tag(&t->p.a, 5, IBV_TMH_EAGER, 1, 9);
	assert_int_equal(to_state(t->p.b.qp, IBV_QPS_RESET), 0);
	expect_no_tag(t->cq);
	add_at(t, 9, 9, 64); /* its slot is free again */
}

TEST(rendezvous_is_read_and_finished)
{
	struct tagged *t = *state;
	struct ibv_tmh *fin = (void *)(t->p.a.buf + 4096);
	struct seen seen;

	add_at(t, 1, 1, LONG);
	assert_int_equal(recv_at(&t->p.a, 20, 4096, 64), 0);
	send_rendezvous(&t->p.a, 5, 1, t->p.a.mr->rkey, sizeof(struct request));
	assert_int_equal(expect_wc(t->p.a.cq, 5, IBV_WC_SUCCESS).opcode, IBV_WC_SEND);
	seen = expect_tag(t->cq, 1, IBV_WC_TM_RECV, IBV_WC_TM_MATCH);
	assert_int_equal(seen.info.tag, 1);
	assert_int_equal(seen.info.priv, 9);
	assert_int_equal(expect_tag(t->cq, 1, IBV_WC_TM_RECV, IBV_WC_TM_DATA_VALID).byte_len, LONG);
	assert_memory_equal(t->p.b.buf + 4096, t->p.a.buf + SOURCE, LONG);
	assert_int_equal(expect_wc(t->p.a.cq, 20, IBV_WC_SUCCESS).byte_len, sizeof(*fin));
	assert_int_equal(fin->opcode, IBV_TMH_FIN);
	assert_int_equal(be32toh(fin->app_ctx), 9);
	assert_int_equal(be64toh(fin->tag), 1);
}

TEST(fin_waits_for_a_receive_and_nothing_waits_for_it)
{
	struct tagged *t = *state;

	add_at(t, 1, 1, LONG);
	add_at(t, 2, 2, 64);
	send_rendezvous(&t->p.a, 5, 1, t->p.a.mr->rkey, sizeof(struct request));
	expect_wc(t->p.a.cq, 5, IBV_WC_SUCCESS);
	send_tag(&t->p.a, 6, IBV_TMH_EAGER, 2, 9);
	expect_wc(t->p.a.cq, 6, IBV_WC_SUCCESS);
	assert_int_equal(recv_at(&t->p.a, 20, 4096, 64), 0);
	assert_int_equal(expect_wc(t->p.a.cq, 20, IBV_WC_SUCCESS).opcode, IBV_WC_RECV);
}

TEST(unread_rendezvous_is_forgotten_with_its_queue_pair)
{
	struct tagged *t = *state;

	add_at(t, 1, 1, LONG);
	send_rendezvous(&t->p.a, 5, 1, t->p.a.mr->rkey, sizeof(struct request));
	expect_wc(t->p.a.cq, 5, IBV_WC_SUCCESS);
	assert_int_equal(to_state(t->p.a.qp, IBV_QPS_RESET), 0);
	assert_int_equal(to_init(t->p.a.qp, 0), 0);
	assert_int_equal(recv_at(&t->p.a, 20, 4096, 64), 0);
	expect_none(t->p.a.cq);
}

TEST(rendezvous_with_a_wrong_key_fails_the_read)
{
	struct tagged *t = *state;

	add_at(t, 1, 1, LONG);
	send_rendezvous(&t->p.a, 5, 1, 0x666, sizeof(struct request));
	expect_wc(t->p.a.cq, 5, IBV_WC_SUCCESS); /* it had arrived */
	expect_tag(t->cq, 1, IBV_WC_TM_RECV, IBV_WC_TM_MATCH);
	expect_status(t->cq, 1, IBV_WC_REM_ACCESS_ERR);
	assert_int_equal(state_of(t->p.a.qp), IBV_QPS_ERR);
	assert_int_equal(state_of(t->p.b.qp), IBV_QPS_ERR);
}

/* Without the header of a rendezvous, or with more data than the buffer takes. */
TEST(rendezvous_that_cannot_be_read_is_the_programs)
{
	struct tagged *t = *state;

	add_at(t, 1, 1, LONG);
	send_rendezvous(&t->p.a, 5, 1, t->p.a.mr->rkey, sizeof(struct ibv_tmh) + 4);
	expect_status(t->cq, 1, IBV_WC_TM_RNDV_INCOMPLETE);
	add_at(t, 2, 1, LONG - 1);
	send_rendezvous(&t->p.a, 6, 1, t->p.a.mr->rkey, sizeof(struct request));
	expect_status(t->cq, 2, IBV_WC_TM_RNDV_INCOMPLETE);
	assert_memory_equal(t->p.b.buf + 8192, t->p.a.buf + sizeof(struct ibv_tmh),
			    sizeof(struct request) - sizeof(struct ibv_tmh));
	assert_int_equal(state_of(t->p.b.qp), IBV_QPS_RTS);
}

/* In another process: unexpected, matched, and by rendezvous. */
static void send_three(struct end *e, int fd, struct address yours)
{
	(void)yours;
	await_word(fd);
	assert_int_equal(recv_at(e, 20, 4096, 64), 0);
	send_tag(e, 1, IBV_TMH_EAGER, 99, 20);
	send_tag(e, 2, IBV_TMH_EAGER, 1, 3000);
	expect_wc(e->cq, 1, IBV_WC_SUCCESS);
	expect_wc(e->cq, 2, IBV_WC_SUCCESS);
	send_rendezvous(e, 3, 2, e->mr->rkey, sizeof(struct request));
	expect_wc(e->cq, 3, IBV_WC_SUCCESS);
	expect_wc(e->cq, 20, IBV_WC_SUCCESS);
	await_word(fd);
}

TEST(other_processes_match_and_are_read)
{
	struct fellow f = fellow_start(send_three);
	struct tagged *t = *state;
	uint8_t all[LONG];

	assert_int_equal(to_state(t->p.b.qp, IBV_QPS_RESET), 0);
	fellow_meet(&f, &t->p.b);
	recv_shared(t, FIRST);
	add_at(t, 1, 1, 4096);
	add_at(t, 2, 2, LONG);
	say_bytes(f.fd, "g", 1);
	assert_int_equal(expect_tag(t->cq, FIRST, IBV_WC_TM_RECV, 0).byte_len, 36);
	memset(all, 'x', sizeof(all));
	assert_memory_equal(t->p.b.buf + 4096 * FIRST + 16, all, 20);
	assert_int_equal(expect_tag(t->cq, 1, IBV_WC_TM_RECV, MATCHED).info.tag, 1);
	assert_memory_equal(t->p.b.buf + 4096, all, 3000);
	expect_tag(t->cq, 2, IBV_WC_TM_RECV, IBV_WC_TM_MATCH);
	expect_tag(t->cq, 2, IBV_WC_TM_RECV, IBV_WC_TM_DATA_VALID);
	memset(all, 'l', sizeof(all));
	assert_memory_equal(t->p.b.buf + 8192, all, LONG);
	say_bytes(f.fd, "e", 1);
	assert_int_equal(fellow_stop(&f), 0);
}

/* Both ends match tags: the end of a rendezvous has no tag. */
TEST(fin_is_a_message_without_tag)
{
	struct tagged *t = *state;
	struct ibv_sge sge = sge_of(&t->p.a, 4096, 4096);
	struct ibv_recv_wr wr = { .wr_id = 20, .sg_list = &sge, .num_sge = 1 }, *bad;
	struct ibv_cq_ex *cq = make_cq(t->p.a.context);
	struct ibv_srq *srq = make_srq(t->p.a.pd, cq);

	use_qp_of(&t->p.a, IBV_QPT_RC, srq);
	assert_int_equal(to_state(t->p.b.qp, IBV_QPS_RESET), 0);
	connect_to(t->p.a.qp, t->p.b.qp->qp_num);
	connect_to(t->p.b.qp, t->p.a.qp->qp_num);
	assert_int_equal(ibv_post_srq_recv(srq, &wr, &bad), 0);
	add_at(t, 1, 1, LONG);
	send_rendezvous(&t->p.a, 5, 1, t->p.a.mr->rkey, sizeof(struct request));
	expect_wc(t->p.a.cq, 5, IBV_WC_SUCCESS);
	assert_int_equal(expect_tag(cq, 20, IBV_WC_TM_NO_TAG, 0).byte_len, sizeof(struct ibv_tmh));
	assert_int_equal(ibv_destroy_qp(t->p.a.qp), 0);
	t->p.a.qp = NULL;
	assert_int_equal(ibv_destroy_srq(srq), 0);
	assert_int_equal(ibv_destroy_cq(ibv_cq_ex_to_cq(cq)), 0);
}
