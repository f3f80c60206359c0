/*
 * The queue that a completion belongs to, by number and by queue
 */
#include "shim/trace/objects/endpoints.h"
#include "tests/test.h"

static struct ibv_context one, other;
static struct ibv_cq cq_a = { .context = &one }, cq_b = { .context = &one };
static const struct ibv_qp_cap cap = {
	.max_send_wr = 8, .max_recv_wr = 8, .max_send_sge = 2, .max_recv_sge = 2
};
static const struct ibv_srq_attr srq_attr = { .max_wr = 8, .max_sge = 2 };

static struct ibv_qp qp_of(struct ibv_context *context, uint32_t number, struct ibv_cq *cq,
			   struct ibv_srq *srq)
{
	return (struct ibv_qp){ .context = context,
				.qp_num = number,
				.send_cq = cq,
				.recv_cq = cq,
				.srq = srq,
				.qp_type = IBV_QPT_RC };
}

static void put_request(struct payload_queue *queue, uint64_t wr_id)
{
	struct request r = { .wr_id = wr_id, .kind = PAYLOAD_RECV };

	queue_add_request(queue, &r);
}

static void remove_object(const void *object)
{
	queue_begin(&endpoints_find(object)->send, 0, 0, false);
	queue_begin(&endpoints_find(object)->recv, 0, 0, false);
}

TEST(numbers_are_a_devices_own)
{
	struct ibv_qp a = qp_of(&one, 5, &cq_a, NULL), b = qp_of(&other, 5, &cq_a, NULL);

	endpoints_add_qp(&a, &cap, false, true);
	endpoints_add_qp(&b, &cap, false, true);
	assert_ptr_equal(endpoints_of_number(&one, 5), endpoints_find(&a));
	assert_ptr_equal(endpoints_of_number(&other, 5), endpoints_find(&b));
	assert_null(endpoints_of_number(&one, 6));
	remove_object(&a);
	remove_object(&b);
}

TEST(a_number_comes_back)
{
	struct ibv_qp a = qp_of(&one, 5, &cq_a, NULL), b = qp_of(&one, 5, &cq_a, NULL);

	endpoints_add_qp(&a, &cap, false, true);
	endpoints_add_qp(&b, &cap, false, true);
	assert_ptr_equal(endpoints_of_number(&one, 5), endpoints_find(&b));
	/* an address is reused, too */
	b.qp_num = 6;
	endpoints_add_qp(&b, &cap, false, true);
	assert_null(endpoints_of_number(&one, 5));
	assert_ptr_equal(endpoints_of_number(&one, 6), endpoints_find(&b));
	remove_object(&a);
	remove_object(&b);
}

/* As for a CQ that does not report the number of the queue pair. */
TEST(without_a_number_the_only_one_is_found)
{
	struct ibv_qp a = qp_of(&one, 5, &cq_a, NULL), b = qp_of(&one, 6, &cq_a, NULL);
	struct ibv_qp c = qp_of(&one, 7, &cq_b, NULL);
	bool several;

	endpoints_add_qp(&a, &cap, false, true);
	endpoints_add_qp(&b, &cap, false, true);
	endpoints_add_qp(&c, &cap, false, true);
	put_request(&endpoints_find(&b)->recv, 1);
	put_request(&endpoints_find(&c)->recv, 1);
	assert_ptr_equal(endpoints_search(&cq_a, 1, true, false, &several),
			 &endpoints_find(&b)->recv);
	assert_false(several);
	assert_ptr_equal(endpoints_owner(&endpoints_find(&b)->recv), endpoints_find(&b));
	put_request(&endpoints_find(&a)->recv, 1);
	assert_null(endpoints_search(&cq_a, 1, true, false, &several));
	assert_true(several);
	assert_null(endpoints_search(&cq_a, 2, true, false, &several));
	assert_false(several);
	remove_object(&a);
	remove_object(&b);
	remove_object(&c);
}

/* Either of them may have it. */
TEST(an_unsure_queue_makes_it_doubtful)
{
	struct ibv_qp a = qp_of(&one, 5, &cq_a, NULL), b = qp_of(&one, 6, &cq_a, NULL);
	bool several;

	endpoints_add_qp(&a, &cap, false, true);
	endpoints_add_qp(&b, &cap, false, true);
	put_request(&endpoints_find(&a)->recv, 1);
	queue_forget_requests(&endpoints_find(&b)->recv);
	assert_null(endpoints_search(&cq_a, 1, true, false, &several));
	assert_true(several);
	remove_object(&a);
	remove_object(&b);
}

/* XRC: the number is of a queue pair that has no receives; so it is with a work queue. */
TEST(receivers_of_a_cq_are_found_by_it)
{
	struct ibv_srq xrc = { .context = &one }, plain = { .context = &one };
	struct ibv_wq wq = { .context = &one, .cq = &cq_b };
	struct ibv_qp user = qp_of(&one, 9, &cq_a, &plain);
	bool several;

	endpoints_add_srq(&xrc, &srq_attr, &cq_a);
	endpoints_add_srq(&plain, &srq_attr, NULL);
	endpoints_add_wq(&wq, 8, 2);
	endpoints_add_qp(&user, &cap, false, true);
	put_request(&endpoints_find(&xrc)->recv, 1);
	put_request(&endpoints_find(&plain)->recv, 1);
	put_request(&endpoints_find(&wq)->recv, 1);
	assert_ptr_equal(endpoints_search(&cq_a, 1, true, true, &several),
			 &endpoints_find(&xrc)->recv);
	assert_ptr_equal(endpoints_search(&cq_b, 1, true, true, &several),
			 &endpoints_find(&wq)->recv);
	/* with the number unsaid it may be the other SRQ's, too */
	assert_null(endpoints_search(&cq_a, 1, true, false, &several));
	assert_true(several);
	assert_null(endpoints_owner(&endpoints_find(&xrc)->recv));
	remove_object(&xrc);
	remove_object(&plain);
	remove_object(&wq);
	remove_object(&user);
}

/* The SRQ was created before the recording. */
TEST(an_srq_that_is_not_known_may_have_it)
{
	static struct ibv_srq unseen;
	struct ibv_qp a = qp_of(&one, 5, &cq_a, NULL), b = qp_of(&one, 6, &cq_a, &unseen);
	bool several;

	endpoints_add_qp(&a, &cap, false, true);
	endpoints_add_qp(&b, &cap, false, true);
	put_request(&endpoints_find(&a)->recv, 1);
	assert_true(endpoints_find(&b)->unknown_srq);
	assert_null(endpoints_search(&cq_a, 1, true, false, &several));
	assert_true(several);
	remove_object(&a);
	remove_object(&b);
	endpoints_find(&b)->unknown_srq = false;
}

/* A child that continues with its parent's image. */
TEST(of_a_parents_queues_nothing_is_known)
{
	struct ibv_qp a = qp_of(&one, 5, &cq_a, NULL);
	struct request r;

	endpoints_add_qp(&a, &cap, false, true);
	put_request(&endpoints_find(&a)->recv, 1);
	endpoints_abandon();
	assert_int_equal(
		queue_take_request(&endpoints_find(&a)->recv, 1, 1u << PAYLOAD_RECV, true, &r),
		PAYLOAD_REQUEST);
	endpoints_add_qp(&a, &cap, false, true);
	put_request(&endpoints_find(&a)->recv, 2);
	assert_int_equal(
		queue_take_request(&endpoints_find(&a)->recv, 2, 1u << PAYLOAD_RECV, true, &r),
		PAYLOAD_WHOLE);
	remove_object(&a);
}
