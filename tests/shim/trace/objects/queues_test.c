/*
 * The request of a completion
 */
#include <pthread.h>

#include "shim/trace/base/spin.h"
#include "shim/trace/objects/queues.h"
#include "tests/test.h"

static const unsigned int RECV = 1u << PAYLOAD_RECV;

static struct request make_request(uint64_t wr_id, uint64_t at)
{
	return (struct request){ .wr_id = wr_id,
				 .kind = PAYLOAD_RECV,
				 .total = 64,
				 .nspans = 1,
				 .spans = { { at, 64 } } };
}

static void put_request(struct payload_queue *q, uint64_t wr_id, uint64_t at)
{
	struct request r = make_request(wr_id, at);

	queue_add_request(q, &r);
}

/* The address of the completed request's buffer; 0 if unknown, with *@why. */
static uint64_t get_request(struct payload_queue *q, uint64_t wr_id, enum payload_why *why)
{
	struct request r = { 0 };

	*why = queue_take_request(q, wr_id, RECV, true, &r);
	return *why == PAYLOAD_WHOLE ? r.spans[0].at : 0;
}

static void make_queue(struct payload_queue *q, uint32_t max, bool shared)
{
	*q = (struct payload_queue){ 0 };
	queue_begin(q, max, 2, shared);
}

TEST(each_is_found_by_its_wr_id)
{
	enum payload_why why;
	struct payload_queue q;

	make_queue(&q, 4, true);
	for (uint64_t i = 1; i <= 4; i++)
		put_request(&q, i << 40, i);
	for (uint64_t i = 4; i; i--)
		assert_int_equal(get_request(&q, i << 40, &why), i);
	assert_int_equal(get_request(&q, 1ull << 40, &why), 0);
	assert_int_equal(why, PAYLOAD_REQUEST);
	queue_begin(&q, 0, 0, false);
}

TEST(of_one_wr_id_the_oldest_is_first)
{
	enum payload_why why;
	struct payload_queue q;

	make_queue(&q, 16, false);
	for (int round = 0; round < 5; round++) {
		for (uint64_t i = 1; i <= 16; i++)
			put_request(&q, 7, i);
		for (uint64_t i = 1; i <= 16; i++)
			assert_int_equal(get_request(&q, 7, &why), i);
	}
	queue_begin(&q, 0, 0, false);
}

TEST(in_a_shared_queue_one_wr_id_is_doubtful)
{
	enum payload_why why;
	struct payload_queue q;

	make_queue(&q, 8, true);
	put_request(&q, 7, 1);
	put_request(&q, 7, 2);
	assert_int_equal(get_request(&q, 7, &why), 0);
	assert_int_equal(why, PAYLOAD_AMBIGUOUS);
	/* the one that is left may be either */
	assert_int_equal(get_request(&q, 7, &why), 0);
	assert_int_equal(why, PAYLOAD_AMBIGUOUS);
	put_request(&q, 7, 3);
	assert_int_equal(get_request(&q, 7, &why), 3);
	/* the same buffer twice is unambiguous */
	put_request(&q, 7, 4);
	put_request(&q, 7, 4);
	assert_int_equal(get_request(&q, 7, &why), 4);
	assert_int_equal(get_request(&q, 7, &why), 4);
	queue_begin(&q, 0, 0, false);
}

/* A thread fills the queue, another posts completed requests again: their order is defined. */
TEST(posts_of_threads_one_after_the_other_are_in_order)
{
	enum payload_why why;
	struct payload_queue q;

	make_queue(&q, 8, false);
	for (uint64_t i = 1; i <= 8; i++) {
		queue_begin_post(&q);
		put_request(&q, 7, i);
		queue_end_post(&q);
	}
	for (uint64_t i = 1; i <= 8; i++)
		assert_int_equal(get_request(&q, 7, &why), i);
	queue_begin(&q, 0, 0, false);
}

TEST(posts_that_overlap_are_in_doubt_until_all_are_complete)
{
	enum payload_why why;
	struct payload_queue q;

	make_queue(&q, 8, false);
	queue_begin_post(&q);
	queue_begin_post(&q);
	put_request(&q, 7, 2);
	put_request(&q, 7, 1);
	queue_end_post(&q);
	queue_end_post(&q);
	queue_begin_post(&q);
	put_request(&q, 7, 3);
	queue_end_post(&q);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(get_request(&q, 7, &why), 0);
		assert_int_equal(why, PAYLOAD_AMBIGUOUS);
	}
	queue_begin_post(&q);
	put_request(&q, 7, 4);
	put_request(&q, 7, 5);
	queue_end_post(&q);
	assert_int_equal(get_request(&q, 7, &why), 4);
	assert_int_equal(get_request(&q, 7, &why), 5);
	queue_begin(&q, 0, 0, false);
}

/* The first may complete before the post of the second has entered it. */
TEST(an_empty_queue_is_no_order_for_posts_that_overlap)
{
	enum payload_why why;
	struct payload_queue q;

	make_queue(&q, 8, false);
	queue_begin_post(&q);
	put_request(&q, 7, 1);
	queue_begin_post(&q);
	assert_int_equal(get_request(&q, 7, &why), 1);
	put_request(&q, 7, 2);
	put_request(&q, 7, 3);
	assert_int_equal(get_request(&q, 7, &why), 0);
	queue_begin(&q, 0, 0, false);
}

TEST(what_was_refused_is_not_under_way)
{
	struct request second = make_request(7, 2);
	enum payload_why why;
	struct payload_queue q;

	make_queue(&q, 8, false);
	put_request(&q, 7, 1);
	put_request(&q, 7, 2);
	queue_take_back(&q, &second);
	put_request(&q, 7, 3);
	assert_int_equal(get_request(&q, 7, &why), 1);
	assert_int_equal(get_request(&q, 7, &why), 3);
	queue_begin(&q, 0, 0, false);
}

TEST(more_than_it_holds_is_unsure_until_reset)
{
	enum payload_why why;
	struct payload_queue q;

	make_queue(&q, 4, false);
	for (uint64_t i = 1; i < 200; i++)
		put_request(&q, i, i);
	assert_int_equal(get_request(&q, 1, &why), 0);
	assert_int_equal(why, PAYLOAD_REQUEST);
	assert_int_equal(queue_has(&q, 1), -1);
	queue_clear(&q);
	put_request(&q, 1, 9);
	assert_int_equal(get_request(&q, 1, &why), 9);
	queue_begin(&q, 0, 0, false);
}

TEST(a_resized_queue_keeps_what_it_has)
{
	enum payload_why why;
	struct payload_queue q;

	make_queue(&q, 4, false);
	for (uint64_t i = 1; i <= 4; i++)
		put_request(&q, i % 2, i);
	queue_resize(&q, 1000);
	for (uint64_t i = 5; i <= 1000; i++)
		put_request(&q, i % 2, i);
	for (uint64_t i = 1; i <= 1000; i++)
		assert_int_equal(get_request(&q, i % 2, &why), i);
	queue_begin(&q, 0, 0, false);
}

/* As in a signal handler that interrupts the holder of the lock. */
TEST(a_lock_that_we_hold_is_not_waited_for)
{
	enum payload_why why;
	struct payload_queue q;

	make_queue(&q, 4, false);
	put_request(&q, 1, 1);
	assert_true(spin_lock(&q.lock));
	put_request(&q, 2, 2);
	spin_unlock(&q.lock);
	assert_int_equal(get_request(&q, 1, &why), 0);
	assert_int_equal(why, PAYLOAD_REQUEST);
	queue_begin(&q, 0, 0, false);
}

enum { MANY = 20000 };

static _Atomic uint64_t posted;

static void *post_many(void *arg)
{
	for (uint64_t i = 1; i <= MANY; i++) {
		put_request(arg, i, i);
		atomic_store(&posted, i);
	}
	return NULL;
}

/* One thread posts and another polls. */
TEST(threads_agree)
{
	enum payload_why why;
	pthread_t thread;
	struct payload_queue q;

	make_queue(&q, MANY, true);
	assert_int_equal(pthread_create(&thread, NULL, post_many, &q), 0);
	for (uint64_t i = 1; i <= MANY; i++) {
		while (atomic_load(&posted) < i)
			sched_yield();
		assert_int_equal(get_request(&q, i, &why), i);
	}
	pthread_join(thread, NULL);
	queue_begin(&q, 0, 0, false);
}
