#include <stdlib.h>

#include "replay/state/queue.h"
#include "tests/test.h"

static uint32_t put_request(struct requests *r, uint64_t wr_id)
{
	const struct request request = { .wr_id = wr_id, .event = { 1, wr_id } };
	uint32_t number = 0;

	assert_int_equal(requests_put(r, &request, &number), 0);
	return number;
}

TEST(a_request_is_found_by_its_number)
{
	struct requests r = { 0 };
	uint32_t number = put_request(&r, 42);

	assert_int_equal(requests_get(&r, number)->wr_id, 42);
	assert_null(requests_get(&r, number + 1));
	requests_fini(&r);
}

TEST(requests_outlive_growth_and_wrap)
{
	struct requests r = { .head = UINT32_MAX - 50, .tail = UINT32_MAX - 50 };
	uint32_t numbers[500];

	for (uint32_t i = 0; i < 500; i++)
		numbers[i] = put_request(&r, i);
	for (uint32_t i = 0; i < 500; i++)
		assert_int_equal(requests_get(&r, numbers[i])->wr_id, i);
	requests_fini(&r);
}

TEST(a_send_completes_those_before_it)
{
	struct requests r = { 0 };
	uint32_t first = put_request(&r, 1), second = put_request(&r, 2),
		 third = put_request(&r, 3);

	requests_complete(&r, second, true);
	assert_null(requests_get(&r, first));
	assert_null(requests_get(&r, second));
	assert_non_null(requests_get(&r, third));
	assert_int_equal(requests_count(&r), 1);
	requests_fini(&r);
}

TEST(a_shared_queue_completes_out_of_order)
{
	struct requests r = { 0 };
	uint32_t first = put_request(&r, 1), second = put_request(&r, 2);

	requests_complete(&r, second, false);
	assert_non_null(requests_get(&r, first));
	assert_null(requests_get(&r, second));
	requests_complete(&r, first, false);
	assert_int_equal(requests_count(&r), 0);
	requests_fini(&r);
}

TEST(what_was_not_posted_is_taken_back)
{
	struct requests r = { 0 };
	uint32_t first = put_request(&r, 1), second = put_request(&r, 2);

	requests_undo(&r, 1);
	assert_non_null(requests_get(&r, first));
	assert_null(requests_get(&r, second));
	requests_undo(&r, 5);
	assert_int_equal(requests_count(&r), 0);
	requests_fini(&r);
}

TEST(a_post_is_known_while_under_way)
{
	struct requests r = { 0 };
	uint32_t number = put_request(&r, 9);

	assert_true(requests_has(&r, (struct event_id){ 1, 9 }, 0));
	assert_false(requests_has(&r, (struct event_id){ 1, 9 }, 1));
	assert_false(requests_has(&r, (struct event_id){ 2, 9 }, 0));
	requests_complete(&r, number, false);
	assert_false(requests_has(&r, (struct event_id){ 1, 9 }, 0));
	requests_fini(&r);
}

TEST(the_oldest_comes_next)
{
	struct requests r = { 0 };
	struct request next = { 0 };

	assert_false(requests_next(&r, &next));
	put_request(&r, 1);
	put_request(&r, 2);
	assert_true(requests_next(&r, &next));
	assert_int_equal(next.wr_id, 1);
	requests_clear(&r);
	assert_false(requests_next(&r, &next));
	requests_fini(&r);
}

TEST(completions_come_out_as_they_went_in)
{
	struct arrivals a = { 0 };

	assert_null(arrivals_first(&a));
	for (uint64_t i = 0; i < 300; i++) {
		const struct arrival arrival = { .request = { .wr_id = i } };

		assert_int_equal(arrivals_put(&a, &arrival), 0);
	}
	for (uint64_t i = 0; i < 300; i++) {
		assert_int_equal(arrivals_first(&a)->request.wr_id, i);
		arrivals_drop(&a);
	}
	assert_null(arrivals_first(&a));
	arrivals_drop(&a);
	arrivals_fini(&a);
}

TEST(a_completion_is_taken_from_the_middle)
{
	struct arrivals a = { 0 };

	for (uint64_t i = 0; i < 5; i++) {
		const struct arrival arrival = { .request = { .wr_id = i, .event = { 1, i } } };

		arrivals_put(&a, &arrival);
	}
	assert_null(arrivals_find(&a, (struct event_id){ 1, 3 }, 1));
	arrivals_remove(&a, arrivals_find(&a, (struct event_id){ 1, 3 }, 0));
	for (uint64_t i = 0; i < 5; i++) {
		if (i == 3)
			continue;
		assert_int_equal(arrivals_first(&a)->request.wr_id, i);
		arrivals_drop(&a);
	}
	assert_null(arrivals_first(&a));
	arrivals_fini(&a);
}
