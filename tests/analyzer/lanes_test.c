/* analyzer/profile/lanes.c: process 1 sends, process 2 receives. A step takes 1000 ns. */
#include "analyzer/profile/lanes.h"

#include "analyzer/profile/pass.h"
#include "analyzer/profile/timeline.h"
#include "tests/analyzer/ends.h"
#include "tests/test.h"

enum { MANY = 40000, ALL_BLOCKS = LANES_EVEN + LANES_SLOW + LANES_ERRORS + LANES_LAST };

static struct story s;
static struct timeline *timeline;
static struct lanes *lanes;

static int begin_lanes(void **state)
{
	(void)state;
	begin_story(&s);
	return 0;
}

static int end_lanes(void **state)
{
	(void)state;
	timeline_free(timeline);
	timeline = NULL;
	lanes_free(lanes);
	lanes = NULL;
	story_end(&s);
	return 0;
}

FIXTURE(begin_lanes, end_lanes);

static void send_one(uint64_t wr_id)
{
	story_post(&s, 0, VERB_post_send, &ends[0].qp, wr_id, IBV_WR_SEND,
		   (struct event_sge){ AT, 8, ends[0].mr.lkey });
}

static void poll_send(uint64_t wr_id, int status)
{
	story_poll(&s, 0, &ends[0].cq, wr_id, status, ends[0].qp.qp_num);
}

static void poll_receive(uint64_t wr_id)
{
	struct event_poll *event = (struct event_poll *)s.words;
	struct event_wc *wc = (struct event_wc *)(event + 1);

	event->cq = W(&ends[1].cq);
	event->ret = 1;
	event->nwc = 1;
	*wc = (struct event_wc){ .wr_id = wr_id, .opcode = IBV_WC_RECV, .qp_num = 0x22 };
	story_event(&s, 1, EVENT_POLL, (sizeof(*event) + sizeof(*wc)) / 8);
}

static void make_lanes(void)
{
	struct profile *profile;

	story_check(&s, NULL);
	lanes = lanes_new();
	assert_non_null(lanes);
	assert_int_equal(profile_trace_more(s.trace, NULL,
					    &(struct profile_extras){ .lanes = lanes,
								      .ret_timeline = &timeline },
					    &profile),
			 0);
	profile_free(profile);
}

/* The request with @wr_id that is a send or a receive; NULL: it was not kept. */
static const struct lane_request *find_request(uint64_t wr_id, bool send)
{
	for (const struct lanes_block *block = NULL; (block = lanes_next(lanes, block));)
		for (uint32_t i = 0; i < block->used; i++)
			if (block->at[i].wr_id == wr_id && (block->at[i].opcode >= 0) == send)
				return &block->at[i];
	return NULL;
}

static size_t count_blocks(void)
{
	size_t n = 0;

	for (const struct lanes_block *block = NULL; (block = lanes_next(lanes, block));)
		n++;
	return n;
}

/* Sends that complete at once; one completes @status, one takes @slow ns. */
static void send_many(uint64_t bad, int status, uint64_t late, uint64_t slow)
{
	for (uint64_t i = 1; i <= MANY; i++) {
		send_one(i);
		s.now += i == late ? slow : 0;
		poll_send(i, i == bad ? status : IBV_WC_SUCCESS);
	}
}

TEST(a_trace_without_posts_has_none)
{
	make_lanes();
	assert_int_equal(lanes_count(lanes), 0);
	assert_null(lanes_next(lanes, NULL));
}

TEST(a_request_lives_from_its_post_to_the_poll)
{
	send_one(7);
	s.now += 4000;
	poll_send(7, IBV_WC_SUCCESS);
	make_lanes();
	const struct lane_request *r = find_request(7, true);

	assert_non_null(r);
	assert_int_equal(r->ended - r->posted, 5000);
	assert_int_equal(r->bytes, 8);
	assert_int_equal(r->status, IBV_WC_SUCCESS);
	assert_int_equal(r->poll.n, r->post.n + 1);
}

TEST(an_outstanding_request_has_no_end)
{
	send_one(7);
	make_lanes();
	const struct lane_request *r = find_request(7, true);

	assert_non_null(r);
	assert_int_equal(r->ended, -1);
	assert_int_equal(r->status, -1);
	assert_int_equal(r->poll.thread, 0);
}

TEST(a_receive_names_the_message_that_it_took)
{
	for (uint64_t i = 0; i < 2; i++)
		story_post(&s, 1, VERB_post_recv, &ends[1].qp, i, 0,
			   (struct event_sge){ AT, 8, ends[1].mr.lkey });
	send_one(1);
	send_one(2);
	poll_receive(0);
	poll_receive(1);
	make_lanes();
	const struct lane_request *sent = find_request(2, true), *got = find_request(1, false);

	assert_non_null(sent);
	assert_non_null(got);
	assert_int_equal(sent->message, 2);
	assert_int_equal(got->message, 2);
	assert_int_equal(got->sender, sent->queue);
	assert_int_not_equal(got->queue, sent->queue);
}

TEST(of_few_requests_all_are_kept)
{
	for (uint64_t i = 1; i <= 1000; i++) {
		send_one(i);
		poll_send(i, IBV_WC_SUCCESS);
	}
	make_lanes();
	assert_int_equal(lanes_count(lanes), 1000);
	for (uint64_t i = 1; i <= 1000; i++)
		assert_non_null(find_request(i, true));
}

TEST(of_many_requests_a_bounded_number_is_kept)
{
	send_many(0, 0, 0, 0);
	make_lanes();
	assert_int_equal(lanes_count(lanes), MANY);
	assert_in_range(count_blocks(), LANES_EVEN / 2, ALL_BLOCKS);
	assert_non_null(find_request(1, true));
	assert_non_null(find_request(MANY, true));
}

TEST(the_slowest_and_those_in_error_are_kept)
{
	const uint64_t bad = 12345, late = 23456; /* neither is in a block at equal distances */

	send_many(bad, IBV_WC_REM_ACCESS_ERR, late, 1000000);
	make_lanes();
	assert_true(count_blocks() <= ALL_BLOCKS);
	assert_non_null(find_request(bad, true));
	assert_int_equal(find_request(bad, true)->status, IBV_WC_REM_ACCESS_ERR);
	assert_non_null(find_request(late, true));
	assert_int_equal(find_request(late, true)->ended - find_request(late, true)->posted,
			 1001000);
}

/* As a pool of receives that is never used: the blocks do not wait for them forever. */
TEST(requests_that_never_end_do_not_keep_all)
{
	for (uint64_t i = 1; i <= (LANES_HELD + 300) * (uint64_t)LANES_BLOCK; i++)
		story_post(&s, 1, VERB_post_recv, &ends[1].qp, i, 0,
			   (struct event_sge){ AT, 8, ends[1].mr.lkey });
	make_lanes();
	assert_true(count_blocks() <= ALL_BLOCKS);
}

/* The same holds as long as the recording is read. */
TEST_WITH(requests_that_have_not_ended_are_bounded_meanwhile, NULL, NULL)
{
	struct wr wr = { .opcode = IBV_WR_SEND };
	struct post post = { .verb = VERB_post_send, .nwr = 1, .wr = &wr };
	struct trace_event event = { .id = { 1, 0 }, .post = &post };
	const struct model_post told = { .event = &event, .taken = 1 };

	lanes = lanes_new();
	assert_non_null(lanes);
	for (uint32_t i = 1; i <= (LANES_HELD + 300) * (uint32_t)LANES_BLOCK; i++) {
		event.id.n = i;
		wr.wr_id = i;
		assert_int_equal(lanes_note_post(lanes, &told), 0);
	}
	assert_in_range(count_blocks(), LANES_HELD, LANES_HELD + LANES_EVEN + LANES_SLOW);
	lanes_free(lanes);
	lanes = NULL;
}
