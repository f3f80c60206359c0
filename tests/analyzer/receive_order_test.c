/* analyzer/model/receive_order.c: receives that completed sends have taken. */
#include "analyzer/model/receive_order.h"

#include "tests/test.h"

static struct event_id post_of(uint64_t n)
{
	return (struct event_id){ 1, n };
}

static void expect_next(struct receive_order *order, int64_t posted, int64_t done)
{
	int64_t is_posted, is_done;

	assert_true(receive_order_next(order, &is_posted, &is_done));
	assert_int_equal(is_posted, posted);
	assert_int_equal(is_done, done);
}

static void expect_none(struct receive_order *order)
{
	int64_t posted, done;

	assert_false(receive_order_next(order, &posted, &done));
}

/* A message, a write, a message: the completion of the second is of one message. */
static void post_three(struct receive_order *order)
{
	receive_order_send(order, post_of(1), 0, true);
	receive_order_send(order, post_of(1), 1, false);
	receive_order_send(order, post_of(2), 0, true);
}

TEST(a_completion_is_of_all_before_it)
{
	struct receive_order order = { 0 };

	post_three(&order);
	for (int64_t time = 10; time <= 40; time += 10)
		receive_order_post(&order, time);
	receive_order_done(&order, post_of(1), 1, 100);
	expect_next(&order, 10, 100);
	receive_order_done(&order, post_of(2), 0, 200);
	expect_next(&order, 20, 200);
	expect_none(&order);
	receive_order_fini(&order);
}

TEST(receives_may_be_read_later)
{
	struct receive_order order = { 0 };

	post_three(&order);
	receive_order_done(&order, post_of(2), 0, 200);
	receive_order_post(&order, 10);
	expect_none(&order);
	receive_order_post(&order, 20);
	expect_next(&order, 20, 200);
	receive_order_fini(&order);
}

TEST(a_request_that_is_not_known_is_none)
{
	struct receive_order order = { 0 };

	post_three(&order);
	receive_order_post(&order, 10);
	receive_order_done(&order, post_of(7), 0, 200);
	expect_none(&order);
	receive_order_fini(&order);
}

TEST(two_threads_have_no_known_order)
{
	struct receive_order order = { 0 };

	post_three(&order);
	receive_order_send(&order, (struct event_id){ 2, 1 }, 0, true);
	receive_order_post(&order, 10);
	receive_order_done(&order, post_of(1), 0, 200);
	expect_none(&order);
	receive_order_fini(&order);
}
