/*
 * Faults that the program asks for: which operation each is for.
 */
#include "shim/trace/faults/requested.h"

#include <errno.h>
#include <infiniband/verbs.h>
#include <pthread.h>

#include "tests/test.h"

static bool takes_request(uint32_t qpn, int opcode)
{
	struct fault fault;

	return requested_take_request(qpn, opcode, &fault);
}

TEST(request_is_the_nth_of_its_queue)
{
	struct fault fault;
	unsigned int used = requested_count_used();

	assert_int_equal(requested_add("qp=17 n=2 status=RETRY_EXC_ERR vendor_err=0x81"), 0);
	assert_false(takes_request(18, IBV_WR_SEND));
	assert_false(takes_request(17, FAULT_OPCODE_RECV));
	assert_false(takes_request(17, IBV_WR_SEND));
	assert_true(requested_take_request(17, IBV_WR_RDMA_WRITE, &fault));
	assert_int_equal(fault.kind, FAULT_STATUS);
	assert_int_equal(fault.value, IBV_WC_RETRY_EXC_ERR);
	assert_int_equal(fault.vendor_err, 0x81);
	assert_false(takes_request(17, IBV_WR_SEND));
	assert_int_equal(requested_count_used(), used + 1);
}

TEST(receives_are_counted_apart)
{
	assert_int_equal(requested_add("qp=17 n=1 status=LOC_LEN_ERR opcode=RECV"), 0);
	assert_false(takes_request(17, IBV_WR_SEND));
	assert_true(takes_request(17, FAULT_OPCODE_RECV));
}

static void *take_elsewhere(void *arg)
{
	struct fault fault;

	*(bool *)arg = requested_take_call("reg_mr", &fault);
	return NULL;
}

TEST(call_is_the_next_of_its_thread)
{
	struct fault fault;
	pthread_t other;
	bool elsewhere;

	assert_int_equal(requested_add("verb=any errno=ENOMEM"), 0);
	assert_int_equal(pthread_create(&other, NULL, take_elsewhere, &elsewhere), 0);
	pthread_join(other, NULL);
	assert_false(elsewhere);
	assert_true(requested_take_call("reg_mr", &fault));
	assert_int_equal(fault.value, ENOMEM);
	assert_false(requested_take_call("reg_mr", &fault));
}

TEST(unused_calls_are_dropped)
{
	struct fault fault;

	assert_int_equal(requested_add("verb=reg_mr errno=ENOMEM"), 0);
	assert_int_equal(requested_add("qp=17 n=1 status=FATAL_ERR"), 0);
	assert_int_equal(requested_add(NULL), 0);
	assert_false(requested_take_call("reg_mr", &fault));
	assert_true(takes_request(17, IBV_WR_SEND));
}

TEST(rule_for_more_than_one_is_refused)
{
	assert_int_equal(requested_add("qp=17 status=FATAL_ERR"), EINVAL);
	assert_int_equal(requested_add("n=1 status=FATAL_ERR"), EINVAL);
	assert_int_equal(requested_add("verb=reg_mr delay=2ms"), EINVAL);
	assert_int_equal(requested_add("nonsense"), EINVAL);
}
