/* analyzer/model/receive_order.c: receives that completed sends have consumed. */
#include "analyzer/model/receive_order.h"

#include "tests/test.h"

static struct event_id post_of(uint64_t n)
{
	return (struct event_id){ 1, n };
}

static void expect_next(struct receive_order *order, int64_t posted, int64_t done)
{
	int64_t is_posted, is_done;

	assert_true(receive_order_take_next(order, &is_posted, &is_done));
	assert_int_equal(is_posted, posted);
	assert_int_equal(is_done, done);
}

static void expect_none(struct receive_order *order)
{
	int64_t posted, done;

	assert_false(receive_order_take_next(order, &posted, &done));
}

/* A message, a write, a message: the completion of the second covers one message. */
static void post_three(struct receive_order *order)
{
	receive_order_add_send(order, post_of(1), 0, true);
	receive_order_add_send(order, post_of(1), 1, false);
	receive_order_add_send(order, post_of(2), 0, true);
}

TEST(a_completion_is_of_all_before_it)
{
	struct receive_order order = { 0 };

	post_three(&order);
	for (int64_t time = 10; time <= 40; time += 10)
		receive_order_add_receive(&order, time);
	receive_order_end_send(&order, post_of(1), 1, 100);
	expect_next(&order, 10, 100);
	receive_order_end_send(&order, post_of(2), 0, 200);
	expect_next(&order, 20, 200);
	expect_none(&order);
	receive_order_fini(&order);
}

TEST(receives_may_be_read_later)
{
	struct receive_order order = { 0 };

	post_three(&order);
	receive_order_end_send(&order, post_of(2), 0, 200);
	receive_order_add_receive(&order, 10);
	expect_none(&order);
	receive_order_add_receive(&order, 20);
	expect_next(&order, 20, 200);
	receive_order_fini(&order);
}

TEST(a_request_that_is_not_known_is_none)
{
	struct receive_order order = { 0 };

	post_three(&order);
	receive_order_add_receive(&order, 10);
	receive_order_end_send(&order, post_of(7), 0, 200);
	expect_none(&order);
	receive_order_fini(&order);
}

TEST(two_threads_have_no_known_order)
{
	struct receive_order order = { 0 };

	post_three(&order);
	receive_order_add_send(&order, (struct event_id){ 2, 1 }, 0, true);
	receive_order_add_receive(&order, 10);
	receive_order_end_send(&order, post_of(1), 0, 200);
	expect_none(&order);
	receive_order_fini(&order);
}

/* The second has nothing new, and does not come before the third. */
TEST(a_completion_of_no_new_message_is_passed_over)
{
	struct receive_order order = { 0 };

	post_three(&order);
	for (int64_t time = 10; time <= 40; time += 10)
		receive_order_add_receive(&order, time);
	receive_order_end_send(&order, post_of(1), 0, 100);
	receive_order_end_send(&order, post_of(1), 1, 150);
	receive_order_end_send(&order, post_of(2), 0, 200);
	expect_next(&order, 10, 100);
	expect_next(&order, 20, 200);
	expect_none(&order);
	receive_order_fini(&order);
}

/* Completions that are polled out of order: the later one also covered the earlier. */
TEST(an_earlier_completion_that_is_read_later_is_none)
{
	struct receive_order order = { 0 };

	post_three(&order);
	for (int64_t time = 10; time <= 40; time += 10)
		receive_order_add_receive(&order, time);
	receive_order_end_send(&order, post_of(2), 0, 200);
	receive_order_end_send(&order, post_of(1), 0, 300);
	expect_next(&order, 20, 200);
	expect_none(&order);
	receive_order_fini(&order);
}

TEST(a_completion_of_writes_alone_takes_no_receive)
{
	struct receive_order order = { 0 };

	receive_order_add_send(&order, post_of(1), 0, false);
	receive_order_add_send(&order, post_of(1), 1, true);
	receive_order_add_receive(&order, 10);
	receive_order_end_send(&order, post_of(1), 0, 100);
	expect_none(&order);
	receive_order_end_send(&order, post_of(1), 1, 200);
	expect_next(&order, 10, 200);
	receive_order_fini(&order);
}

/* A number alone is not enough: posts of all threads are counted from 1. */
static const struct other {
	const char *name;
	struct event_id post;
	uint32_t index;
} others[] = {
	{ "another_thread", { 2, 1 }, 0 },
	{ "another_post", { 1, 2 }, 0 },
	{ "another_request_of_the_post", { 1, 1 }, 1 },
};

static void request_is_known_by_all_three(void **state)
{
	const struct other *row = *state;
	struct receive_order order = { 0 };

	receive_order_add_send(&order, post_of(1), 0, true);
	receive_order_add_receive(&order, 10);
	receive_order_end_send(&order, row->post, row->index, 100);
	expect_none(&order);
	receive_order_end_send(&order, post_of(1), 0, 200);
	expect_next(&order, 10, 200);
	receive_order_fini(&order);
}
TEST_ROWS(others, request_is_known_by_all_three);

/* Many at once, in rounds: completed ones make room for others. */
TEST(messages_are_counted_over_many_rounds)
{
	enum { ROUNDS = 300, EACH = 50 };
	struct receive_order order = { 0 };
	uint64_t n = 0;

	for (int round = 0; round < ROUNDS; round++) {
		uint64_t first = n + 1;

		for (int i = 0; i < EACH; i++) {
			receive_order_add_receive(&order, (int64_t)++n);
			receive_order_add_send(&order, post_of(n), 0, true);
		}
		for (uint64_t i = first + 1; i <= n; i += 2) {
			receive_order_end_send(&order, post_of(i), 0, (int64_t)(1000 + i));
			expect_next(&order, (int64_t)i, (int64_t)(1000 + i));
		}
		expect_none(&order);
	}
	assert_true(order.posted_size < 4 * EACH && order.sends_size < 4 * EACH &&
		    order.done_size < 4 * EACH);
	receive_order_fini(&order);
}

enum { MOST = 1 << 20 }; /* number of events that one end may be ahead of the other */

static void post_many(struct receive_order *order, int n)
{
	for (int i = 0; i < n; i++)
		receive_order_add_receive(order, i);
	receive_order_add_send(order, post_of(1), 0, true);
	receive_order_end_send(order, post_of(1), 0, MOST);
}

TEST(an_end_may_be_far_ahead)
{
	struct receive_order order = { 0 };

	post_many(&order, MOST);
	expect_next(&order, 0, MOST);
	receive_order_add_receive(&order, MOST); /* one has been consumed */
	assert_false(order.broken);
	receive_order_fini(&order);
}

TEST(an_end_that_is_too_far_ahead_is_given_up)
{
	struct receive_order order = { 0 };

	post_many(&order, MOST + 1);
	expect_none(&order);
	assert_true(order.broken);
	receive_order_fini(&order);
}
