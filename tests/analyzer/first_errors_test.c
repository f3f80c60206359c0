/* analyzer/facts/first_errors.c over stored traces. */
#include "tests/analyzer/story.h"
#include "tests/test.h"

static const struct event_sge sge = { 0x7000, 4096, 0x10 };

TEST(the_first_error_has_its_request)
{
	const struct first_error *e;
	struct story s;

	story_with_qp(&s);
	story_post(&s, 0, VERB_post_send, &a_qp, 1, IBV_WR_SEND, sge);
	story_post(&s, 0, VERB_post_send, &a_qp, 2, IBV_WR_RDMA_READ, sge); /* 1:11 */
	story_post(&s, 0, VERB_post_send, &a_qp, 3, IBV_WR_SEND, sge);
	story_poll(&s, 0, &a_cq, 1, IBV_WC_SUCCESS, 0x21);
	story_poll(&s, 0, &a_cq, 2, IBV_WC_REM_ACCESS_ERR, 0x21); /* 1:14 */
	story_poll(&s, 0, &a_cq, 3, IBV_WC_WR_FLUSH_ERR, 0x21);
	story_check(&s, NULL);
	assert_int_equal(s.findings->facts->errors.n, 1);
	e = &s.findings->facts->errors.all[0];
	assert_int_equal(e->event.n, 14);
	assert_int_equal(e->status, IBV_WC_REM_ACCESS_ERR);
	assert_int_equal(e->vendor_err, 0x88);
	assert_int_equal(e->request.id.n, 11);
	assert_int_equal(e->request.opcode, IBV_WR_RDMA_READ);
	assert_int_equal(e->request.sge.lkey, 0x10);
	assert_int_equal(e->request.sge.addr, 0x7000);
	assert_int_equal(e->flushes, 1);
	story_end(&s);
}

/* The receive was posted long before, as is usual; both have the wr_id 0. */
TEST(where_either_side_failed_both_are_reported)
{
	const struct first_error *e;
	struct story s;

	story_with_qp(&s);
	story_post(&s, 0, VERB_post_recv, &a_qp, 0, 0, sge);           /* 1:10 */
	story_post(&s, 0, VERB_post_send, &a_qp, 0, IBV_WR_SEND, sge); /* 1:11 */
	story_poll(&s, 0, &a_cq, 0, IBV_WC_LOC_PROT_ERR, 0x21);
	story_check(&s, NULL);
	e = &s.findings->facts->errors.all[0];
	assert_int_equal(e->request.id.n, 11);
	assert_false(e->request.is_recv);
	assert_int_equal(e->other.id.n, 10);
	assert_true(e->other.is_recv);
	assert_int_equal(e->other.nsge, 1);
	story_end(&s);
}

/* Both requests have wr_id 0; the receive is longer than its region. */
TEST(the_one_outside_its_region_failed)
{
	static const struct event_sge beyond = { 0x7000, 8192, 0x10 };
	struct ibv_mr mr = a_mr;
	const struct first_error *e;
	struct story s;

	mr.addr = (void *)0x7000;
	story_with_qp(&s);
	reg_mr(&s, &mr);
	story_post(&s, 0, VERB_post_recv, &a_qp, 0, 0, beyond);
	story_post(&s, 0, VERB_post_send, &a_qp, 0, IBV_WR_SEND, sge);
	story_poll(&s, 0, &a_cq, 0, IBV_WC_LOC_PROT_ERR, 0x21);
	story_check(&s, NULL);
	e = &s.findings->facts->errors.all[0];
	assert_true(e->request.is_recv);
	assert_int_equal(e->request.sge.length, 8192);
	assert_int_equal(e->other.id.thread, 0);
	story_end(&s);
}

TEST(the_request_of_a_bind_is_its_call)
{
	struct ibv_mw mw = { .context = &a_context, .pd = &a_pd, .rkey = 0x31 };
	struct ibv_mw_bind bind = { .wr_id = 7,
				    .send_flags = IBV_SEND_SIGNALED,
				    .bind_info = { .mr = &a_mr, .addr = 0x7000, .length = 16 } };
	const struct first_error *e;
	struct story s;

	story_with_qp(&s);
	story_do(&s, 0, VERB_bind_mw, 16, 0, W(&a_qp), W(&mw), W(&bind));
	story_poll(&s, 0, &a_cq, 7, IBV_WC_MW_BIND_ERR, 0x21);
	story_check(&s, NULL);
	e = &s.findings->facts->errors.all[0];
	assert_int_equal(e->request.id.thread, e->event.thread);
	assert_int_equal(e->request.id.n, e->event.n - 2);
	assert_int_equal(e->request.opcode, IBV_WR_BIND_MW);
	assert_int_equal(e->request.nsge, 0);
	story_end(&s);
}

TEST(a_flush_alone_is_no_error)
{
	struct story s;

	story_with_qp(&s);
	story_post(&s, 0, VERB_post_recv, &a_qp, 1, 0, sge);
	story_poll(&s, 0, &a_cq, 1, IBV_WC_WR_FLUSH_ERR, 0x21);
	story_check(&s, NULL);
	assert_int_equal(s.findings->facts->errors.n, 0);
	story_end(&s);
}

TEST(an_unknown_queue_pair_has_its_number)
{
	struct story s;

	story_with_qp(&s);
	story_poll(&s, 0, &a_cq, 9, IBV_WC_RETRY_EXC_ERR, 0x999);
	story_poll(&s, 0, &a_cq, 9, IBV_WC_RETRY_EXC_ERR, 0x999);
	story_check(&s, NULL);
	assert_int_equal(s.findings->facts->errors.n, 1);
	assert_int_equal(s.findings->facts->errors.all[0].qp_num, 0x999);
	assert_int_equal(s.findings->facts->errors.all[0].request.id.thread, 0);
	story_end(&s);
}

TEST(unknown_queue_pairs_are_told_apart_by_process_and_number)
{
	struct story s;
	int other;

	story_with_qp(&s);
	other = story_thread(&s, STORY_PID + 50, 0, 0);
	story_poll(&s, 0, &a_cq, 1, IBV_WC_RETRY_EXC_ERR, 0x21); /* the known one */
	story_poll(&s, 0, &a_cq, 2, IBV_WC_RETRY_EXC_ERR, 0x999);
	story_poll(&s, other, &a_cq, 3, IBV_WC_REM_OP_ERR, 0x999);
	story_poll(&s, other, &a_cq, 4, IBV_WC_REM_OP_ERR, 0x21);
	story_poll(&s, 0, &a_cq, 5, IBV_WC_WR_FLUSH_ERR, 0x999);
	story_check(&s, NULL);
	assert_int_equal(s.findings->facts->errors.n, 4);
	for (uint32_t i = 0; i < 4; i++) {
		assert_int_equal(s.findings->facts->errors.all[i].wr_id, i + 1);
		assert_int_equal(s.findings->facts->errors.all[i].flushes, i == 1);
	}
	story_end(&s);
}

/* Each is found by its number directly, or this test takes minutes. */
TEST(of_many_unknown_queue_pairs_each_has_its_flushes)
{
	enum { QPS = 200000 };
	struct story s;

	story_with_qp(&s);
	for (uint32_t i = 0; i < QPS; i++)
		story_poll(&s, 0, &a_cq, i, IBV_WC_REM_ACCESS_ERR, 0x1000 + i);
	for (uint32_t i = 0; i < QPS; i++)
		story_poll(&s, 0, &a_cq, i, IBV_WC_WR_FLUSH_ERR, 0x1000 + i);
	story_check(&s, NULL);
	assert_int_equal(s.findings->facts->errors.n, QPS);
	for (uint32_t i = 0; i < QPS; i++) {
		assert_int_equal(s.findings->facts->errors.all[i].qp_num, 0x1000 + i);
		assert_int_equal(s.findings->facts->errors.all[i].flushes, 1);
	}
	story_end(&s);
}

/* Each is looked up: in one pass over the trace, or this test takes minutes. */
TEST(thousands_of_queue_pairs_have_their_requests)
{
	enum { QPS = 5000 };
	struct ibv_qp_init_attr attr = { .send_cq = &a_cq,
					 .recv_cq = &a_cq,
					 .qp_type = IBV_QPT_RC };
	struct ibv_qp *qps = calloc(QPS, sizeof(*qps));
	struct story s;

	assert_non_null(qps);
	story_with_qp(&s);
	for (uint32_t i = 0; i < QPS; i++) {
		qps[i] = a_qp;
		qps[i].qp_num = 0x1000 + i;
		story_do(&s, 0, VERB_create_qp, 4, W(&qps[i]), W(&a_pd), W(&attr));
	}
	for (uint32_t i = 0; i < QPS; i++)
		story_post(&s, 0, VERB_post_send, &qps[i], i, IBV_WR_SEND,
			   (struct event_sge){ 0x7000 + i, 64, 0x10 });
	for (uint32_t i = QPS; i-- > 0;)
		story_poll(&s, 0, &a_cq, i, IBV_WC_REM_ACCESS_ERR, 0x1000 + i);
	story_check(&s, NULL);
	assert_int_equal(s.findings->facts->errors.n, QPS);
	for (uint32_t i = 0; i < QPS; i++) {
		const struct first_error *e = &s.findings->facts->errors.all[i];

		assert_int_not_equal(e->request.id.thread, 0);
		assert_int_equal(e->request.sge.addr, 0x7000 + e->wr_id);
		assert_int_equal(e->request.nsge, 1);
	}
	story_end(&s);
	free(qps);
}
