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

	fail_request(&p->a, "status=RETRY_EXC_ERR"); /* and would wait for a receive for ever */
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
