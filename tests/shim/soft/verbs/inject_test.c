/* Faults that the program requests at run time. */
#include <errno.h>

#include "shim/soft/verbs/inject.h"
#include "tests/shim/soft/pair.h"
#include "tests/test.h"

static unsigned int struck; /* before the test */

static int setup_pair(void **state)
{
	int err = pair_setup(state);

	struck = verbatim_soft_faults_struck();
	return err;
}

static void fail_request(struct end *e, const char *words)
{
	char rule[128];

	snprintf(rule, sizeof(rule), "qp=%u %s", e->qp->qp_num, words);
	assert_int_equal(verbatim_soft_fault(rule), 0);
}

static void expect_struck(unsigned int n)
{
	assert_int_equal(verbatim_soft_faults_struck() - struck, n);
}

TEST_WITH(that_request_fails_and_no_other, setup_pair, pair_teardown)
{
	struct pair *p = *state;
	struct ibv_wc wc;

	assert_int_equal(recv_at(&p->b, 1, 0, 64), 0);
	assert_int_equal(recv_at(&p->b, 2, 0, 64), 0);
	fail_request(&p->a, "n=2 status=RETRY_EXC_ERR vendor_err=0x81");
	assert_int_equal(send_at(&p->a, 3, 0, 8), 0);
	expect_wc(p->a.cq, 3, IBV_WC_SUCCESS);
	expect_struck(0);
	assert_int_equal(send_at(&p->a, 4, 0, 8), 0);
	wc = expect_wc(p->a.cq, 4, IBV_WC_RETRY_EXC_ERR);
	assert_int_equal(wc.vendor_err, 0x81);
	assert_int_equal(state_of(p->a.qp), IBV_QPS_ERR);
	expect_struck(1);
	expect_wc(p->b.cq, 1, IBV_WC_SUCCESS);
	expect_none(p->b.cq);
}

/* a request that fails by itself is not a fault */
TEST_WITH(own_failure_comes_first, setup_pair, pair_teardown)
{
	struct pair *p = *state;

	fail_request(&p->a, "status=REM_ACCESS_ERR");
	assert_int_equal(recv_at(&p->b, 1, 0, 4), 0);
	assert_int_equal(send_at(&p->a, 2, 0, 8), 0);
	expect_wc(p->a.cq, 2, IBV_WC_REM_INV_REQ_ERR);
	expect_wc(p->b.cq, 1, IBV_WC_LOC_LEN_ERR);
	expect_struck(0);
}

static void few_retries(struct pair *p)
{
	assert_int_equal(to_state(p->a.qp, IBV_QPS_RESET), 0);
	assert_int_equal(to_init(p->a.qp, ALL_ACCESS), 0);
	assert_int_equal(to_rtr(p->a.qp, p->b.qp->qp_num), 0);
	assert_int_equal(to_rts_with(p->a.qp, 1), 0);
}

TEST_WITH(wait_that_ends_so_is_no_fault, setup_pair, pair_teardown)
{
	struct pair *p = *state;

	few_retries(p);
	fail_request(&p->a, "status=RNR_RETRY_EXC_ERR");
	assert_int_equal(send_at(&p->a, 1, 0, 8), 0);
	expect_wc(p->a.cq, 1, IBV_WC_RNR_RETRY_EXC_ERR);
	expect_struck(0);
}

TEST_WITH(another_wait_is_cut_short, setup_pair, pair_teardown)
{
	struct pair *p = *state;

	/* without the fault the request would wait for a receive forever */
	fail_request(&p->a, "status=RETRY_EXC_ERR");
	assert_int_equal(send_at(&p->a, 1, 0, 8), 0);
	expect_wc(p->a.cq, 1, IBV_WC_RETRY_EXC_ERR);
	expect_struck(1);
}

TEST_WITH(responder_fails_with_the_request, setup_pair, pair_teardown)
{
	struct ibv_async_event event;
	struct pair *p = *state;

	fail_request(&p->a, "status=REM_ACCESS_ERR");
	assert_int_equal(recv_at(&p->b, 1, 0, 64), 0);
	assert_int_equal(send_at(&p->a, 2, 0, 8), 0);
	expect_wc(p->a.cq, 2, IBV_WC_REM_ACCESS_ERR);
	expect_wc(p->b.cq, 1, IBV_WC_WR_FLUSH_ERR);
	assert_int_equal(ibv_get_async_event(p->b.context, &event), 0);
	assert_int_equal(event.event_type, IBV_EVENT_QP_ACCESS_ERR);
	ibv_ack_async_event(&event);
}

TEST_WITH(rule_ends_with_a_reset, setup_pair, pair_teardown)
{
	struct pair *p = *state;

	fail_request(&p->a, "status=GENERAL_ERR");
	few_retries(p);
	assert_int_equal(recv_at(&p->b, 1, 0, 64), 0);
	assert_int_equal(send_at(&p->a, 2, 0, 8), 0);
	expect_wc(p->a.cq, 2, IBV_WC_SUCCESS);
	expect_wc(p->b.cq, 1, IBV_WC_SUCCESS);
	expect_struck(0);
}

TEST_WITH(next_call_fails, setup_pair, pair_teardown)
{
	struct pair *p = *state;
	struct ibv_pd *pd;

	assert_int_equal(verbatim_soft_fault("verb=any errno=ENOMEM"), 0);
	assert_null(ibv_alloc_pd(p->a.context));
	assert_int_equal(errno, ENOMEM);
	expect_struck(1);
	pd = ibv_alloc_pd(p->a.context);
	assert_non_null(pd);
	assert_int_equal(ibv_dealloc_pd(pd), 0);
}

TEST_WITH(rule_for_a_call_is_taken_back, setup_pair, pair_teardown)
{
	struct pair *p = *state;
	struct ibv_pd *pd;

	assert_int_equal(verbatim_soft_fault("verb=any errno=ENOMEM"), 0);
	assert_int_equal(verbatim_soft_fault(NULL), 0);
	pd = ibv_alloc_pd(p->a.context);
	assert_non_null(pd);
	assert_int_equal(ibv_dealloc_pd(pd), 0);
	expect_struck(0);
}

/* Verbs with arguments that mostly would do: each returns its errno; -1: none, or no such verb. */

#define MAKES(name, call)                   \
	if (!strcmp(verb, #name)) {         \
		errno = 0;                  \
		return (call) ? -1 : errno; \
	}
#define RETURNS(name, call)                          \
	if (!strcmp(verb, #name)) {                  \
		int ret = call;                      \
                                                     \
		return ret == -1 ? errno : abs(ret); \
	}

static int make_named(const char *verb, struct end *e)
{
	struct ibv_qp_init_attr qp = { .send_cq = e->cq, .recv_cq = e->cq, .qp_type = IBV_QPT_RC };
	struct ibv_srq_init_attr srq = { .attr = { 4, 1, 0 } };
	struct ibv_ah_attr ah = { .port_num = 1, .dlid = 1 };
	struct ibv_td_init_attr td = { 0 };
	struct ibv_parent_domain_init_attr domain = { .pd = e->pd };
	struct ibv_wq_init_attr wq = { .wq_type = IBV_WQT_RQ };
	struct ibv_rwq_ind_table_init_attr table = { 0 };
	struct ibv_xrcd_init_attr xrcd = { .fd = -1 };
	struct ibv_counters_init_attr counters = { 0 };
	struct ibv_flow_attr flow = { .port = 1 };
	struct ibv_wc wc = { 0 };

	MAKES(alloc_pd, ibv_alloc_pd(e->context))
	MAKES(reg_mr, ibv_reg_mr(e->pd, e->buf, 64, 0))
	MAKES(alloc_null_mr, ibv_alloc_null_mr(e->pd))
	MAKES(create_cq, ibv_create_cq(e->context, 4, NULL, NULL, 0))
	MAKES(create_comp_channel, ibv_create_comp_channel(e->context))
	MAKES(create_qp, ibv_create_qp(e->pd, &qp))
	MAKES(create_srq, ibv_create_srq(e->pd, &srq))
	MAKES(create_ah, ibv_create_ah(e->pd, &ah))
	MAKES(create_ah_from_wc, ibv_create_ah_from_wc(e->pd, &wc, NULL, 1))
	MAKES(alloc_mw, ibv_alloc_mw(e->pd, IBV_MW_TYPE_2))
	MAKES(alloc_td, ibv_alloc_td(e->context, &td))
	MAKES(alloc_parent_domain, ibv_alloc_parent_domain(e->context, &domain))
	MAKES(create_wq, ibv_create_wq(e->context, &wq))
	MAKES(create_rwq_ind_table, ibv_create_rwq_ind_table(e->context, &table))
	MAKES(open_xrcd, ibv_open_xrcd(e->context, &xrcd))
	MAKES(create_flow, ibv_create_flow(e->qp, &flow))
	MAKES(create_counters, ibv_create_counters(e->context, &counters))
	MAKES(import_pd, ibv_import_pd(e->context, 1))
	MAKES(import_mr, ibv_import_mr(e->pd, 1))
	MAKES(reg_dmabuf_mr, ibv_reg_dmabuf_mr(e->pd, 0, 64, 0, -1, 0))
	return -1;
}

static int change_named(const char *verb, struct end *e)
{
	struct ibv_qp_init_attr qp;
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };
	struct ibv_modify_cq_attr moderate = { 0 };
	union ibv_gid gid = { 0 };
	struct ibv_mw mw = { .context = e->context, .pd = e->pd, .type = IBV_MW_TYPE_1 };
	struct ibv_mw_bind bind = { .bind_info = { .mr = e->mr } };
	struct ibv_send_wr send = { .opcode = IBV_WR_SEND }, *bad_send;
	struct ibv_recv_wr recv = { 0 }, *bad_recv;

	RETURNS(dealloc_pd, ibv_dealloc_pd(e->pd))
	RETURNS(dereg_mr, ibv_dereg_mr(e->mr))
	RETURNS(rereg_mr, ibv_rereg_mr(e->mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, 0))
	RETURNS(resize_cq, ibv_resize_cq(e->cq, 8))
	RETURNS(destroy_cq, ibv_destroy_cq(e->cq))
	RETURNS(modify_cq, ibv_modify_cq(e->cq, &moderate))
	RETURNS(req_notify_cq, ibv_req_notify_cq(e->cq, 0))
	RETURNS(destroy_comp_channel, ibv_destroy_comp_channel(e->channel))
	RETURNS(modify_qp, ibv_modify_qp(e->qp, &attr, IBV_QP_STATE))
	RETURNS(query_qp, ibv_query_qp(e->qp, &attr, IBV_QP_STATE, &qp))
	RETURNS(destroy_qp, ibv_destroy_qp(e->qp))
	RETURNS(attach_mcast, ibv_attach_mcast(e->qp, &gid, 1))
	RETURNS(detach_mcast, ibv_detach_mcast(e->qp, &gid, 1))
	RETURNS(bind_mw, ibv_bind_mw(e->qp, &mw, &bind))
	RETURNS(post_send, ibv_post_send(e->qp, &send, &bad_send))
	RETURNS(post_recv, ibv_post_recv(e->qp, &recv, &bad_recv))
	return -1;
}

static int query_named(const char *verb, struct end *e)
{
	struct ibv_ah_attr ah;
	struct ibv_wc wc = { 0 };
	struct ibv_values_ex values = { .comp_mask = IBV_VALUES_MASK_RAW_CLOCK };
	struct ibv_sge sge = { (uintptr_t)e->buf, 8, e->mr->lkey };
	struct ibv_async_event event;
	struct ibv_port_attr port;
	union ibv_gid gid;
	struct ibv_cq *cq;
	void *pointer;
	__be16 pkey;

	RETURNS(init_ah_from_wc, ibv_init_ah_from_wc(e->context, 1, &wc, NULL, &ah))
	RETURNS(query_port, ibv_query_port(e->context, 1, &port))
	RETURNS(query_gid, ibv_query_gid(e->context, 1, 0, &gid))
	RETURNS(query_pkey, ibv_query_pkey(e->context, 1, 0, &pkey))
	RETURNS(get_pkey_index, ibv_get_pkey_index(e->context, 1, 0xffff))
	RETURNS(query_rt_values, ibv_query_rt_values_ex(e->context, &values))
	RETURNS(get_async_event, ibv_get_async_event(e->context, &event))
	RETURNS(get_cq_event, ibv_get_cq_event(e->channel, &cq, &pointer))
	RETURNS(advise_mr, ibv_advise_mr(e->pd, IBV_ADVISE_MR_ADVICE_PREFETCH, 0, &sge, 1))
	return -1;
}

#undef MAKES
#undef RETURNS

/* Before it does anything: all that it would destroy is still there. */
TEST_WITH(each_verb_fails_by_its_name, setup_pair, pair_teardown)
{
	static const char *const verbs[] = { "alloc_pd",
					     "reg_mr",
					     "alloc_null_mr",
					     "create_cq",
					     "create_comp_channel",
					     "create_qp",
					     "create_srq",
					     "create_ah",
					     "create_ah_from_wc",
					     "alloc_mw",
					     "alloc_td",
					     "alloc_parent_domain",
					     "create_wq",
					     "create_rwq_ind_table",
					     "open_xrcd",
					     "create_flow",
					     "create_counters",
					     "import_pd",
					     "import_mr",
					     "reg_dmabuf_mr",
					     "dealloc_pd",
					     "dereg_mr",
					     "rereg_mr",
					     "resize_cq",
					     "destroy_cq",
					     "modify_cq",
					     "req_notify_cq",
					     "destroy_comp_channel",
					     "modify_qp",
					     "query_qp",
					     "destroy_qp",
					     "attach_mcast",
					     "detach_mcast",
					     "init_ah_from_wc",
					     "query_port",
					     "query_gid",
					     "query_pkey",
					     "get_pkey_index",
					     "query_rt_values",
					     "get_async_event",
					     "get_cq_event",
					     "advise_mr",
					     "bind_mw",
					     "post_send",
					     "post_recv" };
	struct pair *p = *state;

	for (size_t i = 0; i < sizeof(verbs) / sizeof(*verbs); i++) {
		char rule[64];

		snprintf(rule, sizeof(rule), "verb=%s errno=EXDEV", verbs[i]);
		assert_int_equal(verbatim_soft_fault(rule), 0);
		if (make_named(verbs[i], &p->a) != EXDEV &&
		    change_named(verbs[i], &p->a) != EXDEV && query_named(verbs[i], &p->a) != EXDEV)
			fail_msg("ibv_%s() did not fail", verbs[i]);
		expect_struck((unsigned int)i + 1);
	}
}

TEST_WITH(wrong_rule_is_einval, setup_pair, pair_teardown)
{
	assert_int_equal(verbatim_soft_fault(""), EINVAL);
	assert_int_equal(verbatim_soft_fault("status=GENERAL_ERR"), EINVAL);
	assert_int_equal(verbatim_soft_fault("qp=0xfffff0 status=GENERAL_ERR"), EINVAL);
	assert_int_equal(verbatim_soft_fault("lose"), EINVAL);
}

static enum ibv_port_state port_state(struct end *e)
{
	struct ibv_port_attr attr;

	assert_int_equal(ibv_query_port(e->context, 1, &attr), 0);
	return attr.state;
}

static void raise_port(struct end *e, enum ibv_event_type type)
{
	struct ibv_async_event event = { .event_type = type, .element.port_num = 1 }, got;

	assert_int_equal(verbatim_soft_event(e->context, &event), 0);
	assert_int_equal(ibv_get_async_event(e->context, &got), 0);
	assert_int_equal(got.event_type, type);
	ibv_ack_async_event(&got);
}

/* each recorded process has contexts of its own */
TEST_WITH(port_of_one_context, setup_pair, pair_teardown)
{
	struct pair *p = *state;

	raise_port(&p->a, IBV_EVENT_PORT_ERR);
	assert_int_equal(port_state(&p->a), IBV_PORT_DOWN);
	assert_int_equal(port_state(&p->b), IBV_PORT_ACTIVE);
	raise_port(&p->a, IBV_EVENT_PORT_ACTIVE);
	assert_int_equal(port_state(&p->a), IBV_PORT_ACTIVE);
}

TEST_WITH(queue_pair_fails_with_its_event, setup_pair, pair_teardown)
{
	struct pair *p = *state;
	struct ibv_async_event event = { .event_type = IBV_EVENT_QP_FATAL, .element.qp = p->a.qp };

	assert_int_equal(recv_at(&p->a, 1, 0, 64), 0);
	assert_int_equal(verbatim_soft_event(p->a.context, &event), 0);
	expect_wc(p->a.cq, 1, IBV_WC_WR_FLUSH_ERR);
	assert_int_equal(ibv_get_async_event(p->a.context, &event), 0);
	assert_int_equal(event.event_type, IBV_EVENT_QP_FATAL);
	assert_ptr_equal(event.element.qp, p->a.qp);
	ibv_ack_async_event(&event);
}

GROUP(fabric_setup, fabric_teardown);
