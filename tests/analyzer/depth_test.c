/* Depth over time, gaps between polls, starvation: process 1 sends, process 2 receives. */
#define STORY_OUTPUTS
#include "analyzer/profile/pass.h"
#include "tests/analyzer/ends.h"
#include "tests/test.h"

static struct story s;
static struct profile *profile;

static int begin_depth(void **state)
{
	(void)state;
	begin_story(&s);
	return 0;
}

static int end_depth(void **state)
{
	(void)state;
	profile_free(profile);
	profile = NULL;
	story_end(&s);
	return 0;
}

FIXTURE(begin_depth, end_depth);

static void send_as(uint64_t wr_id, int opcode)
{
	story_post(&s, 0, VERB_post_send, &ends[0].qp, wr_id, opcode,
		   (struct event_sge){ AT, 8, ends[0].mr.lkey });
}

static void post_receive(uint64_t wr_id)
{
	story_post(&s, 1, VERB_post_recv, &ends[1].qp, wr_id, 0,
		   (struct event_sge){ AT, 8, ends[1].mr.lkey });
}

static void poll_send(uint64_t wr_id)
{
	story_poll(&s, 0, &ends[0].cq, wr_id, IBV_WC_SUCCESS, ends[0].qp.qp_num);
}

/* After @empty polls of this CQ in all that found nothing. */
static void poll_after(int thread, uint64_t wr_id, uint64_t empty)
{
	struct event_poll *event = (struct event_poll *)s.words;

	event->empty = empty;
	story_poll(&s, thread, &ends[0].cq, wr_id, IBV_WC_SUCCESS, ends[0].qp.qp_num);
}

static const struct profile *profile_story(const struct profile_select *select)
{
	story_check(&s, NULL);
	assert_int_equal(profile_trace(s.trace, select, &profile), 0);
	return profile;
}

/* The queue pair of process @thread + 1. */
static const struct profile_queue *queue_of(int thread)
{
	for (size_t i = 0; i < profile->nobjects; i++)
		if (profile->queues[i] && profile->queues[i]->process == (uint32_t)thread + 1)
			return profile->queues[i];
	fail_msg("no queue of thread %d", thread);
	return NULL;
}

static struct histogram gaps_of(void)
{
	struct histogram gaps = { 0 };

	profile_poll_gaps(profile, &gaps);
	return gaps;
}

/* 1 for 1 us, 2 for 1 us, 1 for 1 us, none for 1 us */
TEST(depth_is_over_time)
{
	send_as(1, IBV_WR_RDMA_WRITE);
	send_as(2, IBV_WR_RDMA_WRITE);
	poll_send(1);
	poll_send(2);
	send_as(3, IBV_WR_RDMA_WRITE);
	profile_story(NULL);
	const struct profile_depth *depth = &queue_of(0)->send.depth;

	assert_true(depth->area == 4000);
	assert_int_equal(depth->ns, 4000);
	assert_int_equal(depth->empty_ns, 1000);
	assert_int_equal(depth->empty, 1);
	assert_true(profile_mean_depth(&queue_of(0)->send) == 1);
	assert_true(profile_mean_depth(&queue_of(0)->receive) < 0);
}

/* Without a story, which would have to be read to its end. */
TEST_WITH(a_mean_depth_is_of_a_known_queue_over_some_time, NULL, NULL)
{
	const struct profile_depth depth = { .area = 6000, .ns = 3000 };
	struct profile_side side = { .known = true, .depth = depth };

	assert_true(profile_mean_depth(&side) == 2);
	side.doubt = 1;
	assert_true(profile_mean_depth(&side) < 0);
	side = (struct profile_side){ .depth = depth };
	assert_true(profile_mean_depth(&side) < 0);
	side = (struct profile_side){ .known = true };
	assert_true(profile_mean_depth(&side) < 0);
}

TEST(a_reset_is_no_time_without_requests)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_RESET };

	send_as(1, IBV_WR_RDMA_WRITE);
	poll_send(1);
	story_do(&s, 0, VERB_modify_qp, 33, 0, W(&ends[0].qp), W(&attr), W(IBV_QP_STATE));
	connect_end(&s, 0, 0x22, 0x22, FAR);
	send_as(2, IBV_WR_RDMA_WRITE);
	profile_story(NULL);
	assert_int_equal(queue_of(0)->send.depth.empty_ns, 0);
	assert_int_equal(queue_of(0)->send.depth.ns, 1000);
}

TEST(depth_of_a_part_is_of_that_part)
{
	struct profile_select select = { 0 };

	send_as(1, IBV_WR_RDMA_WRITE);
	send_as(2, IBV_WR_RDMA_WRITE);
	select.from = (int64_t)s.now + 10;
	poll_send(1);
	poll_send(2);
	profile_story(&select);
	assert_int_equal(queue_of(0)->send.depth.ns, 1000);
	assert_true(queue_of(0)->send.depth.area == 1000);
}

/* Three polls that find nothing between two that do, 8 us apart. */
TEST(gaps_between_polls_are_their_mean)
{
	struct histogram gaps;

	for (uint64_t i = 1; i <= 3; i++)
		send_as(i, IBV_WR_RDMA_WRITE);
	poll_after(0, 1, 5);
	s.now += 7000;
	poll_after(0, 2, 8);
	poll_after(0, 3, 8);
	profile_story(NULL);
	gaps = gaps_of();
	assert_int_equal(gaps.count, 2);
	assert_int_equal(gaps.max, 2000);
	assert_int_equal(gaps.least, 1000);
	histogram_fini(&gaps);
}

TEST(a_sleep_until_an_event_is_no_gap)
{
	struct event_notify *notify = (struct event_notify *)s.words;

	send_as(1, IBV_WR_RDMA_WRITE);
	send_as(2, IBV_WR_RDMA_WRITE);
	poll_after(0, 1, 0);
	notify->cq = W(&ends[0].cq);
	story_event(&s, 0, EVENT_NOTIFY, sizeof(*notify) / 8);
	s.now += 1000000;
	poll_after(0, 2, 0);
	profile_story(NULL);
	assert_int_equal(gaps_of().count, 0);
}

TEST(polls_of_two_threads_have_no_gaps)
{
	int other = story_thread(&s, STORY_PID, 0, 0);

	for (uint64_t i = 1; i <= 3; i++)
		send_as(i, IBV_WR_RDMA_WRITE);
	poll_after(0, 1, 0);
	poll_after(0, 2, 0);
	poll_after(other, 3, 0);
	profile_story(NULL);
	assert_int_equal(gaps_of().count, 0);
}

/* Two messages that wait 50 and 52 us for their receives, and one more later. */
TEST(messages_that_waited_one_after_the_other_are_one_stall)
{
	send_as(1, IBV_WR_SEND);
	send_as(2, IBV_WR_SEND);
	s.now += 50000;
	post_receive(1);
	post_receive(2);
	poll_send(1);
	poll_send(2);
	send_as(3, IBV_WR_SEND);
	s.now += 20000;
	post_receive(3);
	profile_story(NULL);
	struct profile_starved starved = profile_starved(profile);

	assert_int_equal(starved.messages, 3);
	assert_int_equal(starved.stalls, 2);
	assert_int_equal(starved.longest, 53000);
	assert_int_equal(starved.ns, 53000 + 21000);
	assert_int_equal(queue_of(1)->starved.messages, 3);
	assert_int_equal(queue_of(0)->starved.messages, 0);
}

/* A write takes no receive; and a receive may still overtake a message on its way. */
TEST(messages_that_do_not_wait_are_not_starved)
{
	send_as(1, IBV_WR_RDMA_WRITE);
	s.now += 50000;
	post_receive(1);
	send_as(2, IBV_WR_SEND);
	poll_send(1);
	poll_send(2);
	send_as(3, IBV_WR_SEND);
	post_receive(2);
	profile_story(NULL);
	assert_int_equal(profile_starved(profile).messages, 0);
}
