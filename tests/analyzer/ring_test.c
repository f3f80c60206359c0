/* analyzer/model/queue.c: requests that are outstanding, in any order. */
#include "analyzer/model/queue_priv.h"
#include "tests/test.h"

static void push_request(struct queue *queue, struct queue **busy, uint64_t n, uint32_t nsge,
			 bool signalled)
{
	struct queue_request *request = queue_reserve(queue, nsge);
	struct sge sges[4];

	for (uint32_t i = 0; i < nsge; i++)
		sges[i] = (struct sge){ .addr = n * 10 + i, .length = 1, .lkey = 1 };
	assert_non_null(request);
	*request = (struct queue_request){
		.wr_id = n, .n = n, .thread = 1, .nsge = (uint16_t)nsge, .signalled = signalled
	};
	queue_push(queue, busy, sges);
}

static void retire_request(struct queue *queue, uint64_t n)
{
	int64_t at = queue_find(queue, (struct event_id){ 1, n }, 0);

	assert_true(at >= 0);
	queue_retire(queue, (uint32_t)at);
	assert_int_equal(queue_find(queue, (struct event_id){ 1, n }, 0), -1);
}

static void has_sges(const struct queue *queue, uint64_t n, uint32_t nsge)
{
	int64_t at = queue_find(queue, (struct event_id){ 1, n }, 0);
	const struct queue_request *request;

	assert_true(at >= 0);
	request = queue_at(queue, (uint32_t)at);
	assert_int_equal(request->nsge, nsge);
	for (uint32_t i = 0; i < nsge; i++)
		assert_int_equal(queue_sge(queue, request, i)->addr, n * 10 + i);
}

TEST(a_completion_retires_the_unsignalled_before_it)
{
	struct queue *busy = NULL, *queue = queue_new(NULL, true);

	for (uint64_t n = 1; n <= 4; n++)
		push_request(queue, &busy, n, 1, n == 2 || n == 4);
	assert_ptr_equal(busy, queue);
	assert_int_equal(queue->outstanding, 4);
	assert_int_equal(queue->signalled, 2);
	retire_request(queue, 4); /* the poll of 2 is still to come, from another thread */
	assert_int_equal(queue->outstanding, 1);
	assert_int_equal(queue_oldest(queue)->n, 2);
	retire_request(queue, 2);
	assert_null(busy);
	assert_null(queue_oldest(queue));
	assert_int_equal(queue->high, 4);
	queue_put(queue);
}

/* One receive of an SRQ may stay while millions pass it. */
TEST(a_request_that_stays_costs_its_own_place)
{
	enum { PASSING = 100000 };
	struct queue *busy = NULL, *queue = queue_new(NULL, false);

	push_request(queue, &busy, 1, 3, true);
	for (uint64_t n = 2; n < PASSING; n++) {
		push_request(queue, &busy, n, n % 4, true);
		if (n > 5)
			retire_request(queue, n - 3);
	}
	has_sges(queue, 1, 3);
	has_sges(queue, PASSING - 1, (PASSING - 1) % 4);
	assert_true(queue->size <= 64);
	assert_true(queue->sge_size <= 128);
	queue_put(queue);
}

TEST(a_cleared_queue_is_empty)
{
	struct queue *busy = NULL, *other = queue_new(NULL, true), *queue = queue_new(NULL, true);

	push_request(other, &busy, 1, 1, true);
	push_request(queue, &busy, 2, 1, false);
	queue_clear(queue);
	assert_int_equal(queue->outstanding, 0);
	assert_ptr_equal(busy, other);
	push_request(queue, &busy, 3, 1, true);
	has_sges(queue, 3, 1);
	queue_clear(queue);
	queue_clear(other);
	queue_put(queue);
	queue_put(other);
}

/* An SRQ does not outlive its queue pairs, but its queue does. */
TEST(a_queue_lives_as_long_as_somebody_refers_to_it)
{
	struct queue *queue = queue_new(NULL, false);

	assert_ptr_equal(queue_get(queue), queue);
	queue_put(queue);
	assert_int_equal(queue->refs, 1);
	queue_put(queue);
	queue_put(NULL);
}
