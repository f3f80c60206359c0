#include "analyzer/profile/pass.h"
#include "analyzer/profile/timeline.h"
#include "tests/analyzer/story.h"

static struct story s;
static struct timeline *timeline;
static struct ibv_qp_init_attr attr = {
	.send_cq = &a_cq,
	.recv_cq = &a_cq,
	.qp_type = IBV_QPT_RC,
	.cap = { .max_send_wr = 8, .max_recv_wr = 4 },
};

static int begin_story(void **state)
{
	(void)state;
	story_with_cq(&s);
	story_do(&s, 0, VERB_create_qp, 4, W(&a_qp), W(&a_pd), W(&attr));
	return 0;
}

static int end_story(void **state)
{
	(void)state;
	timeline_free(timeline);
	timeline = NULL;
	story_end(&s);
	return 0;
}

FIXTURE(begin_story, end_story);

static void send_one(uint64_t wr_id, uint32_t length)
{
	struct event_sge sge = { .addr = 0x1000, .length = length, .lkey = 0x10 };

	story_post(&s, 0, VERB_post_send, &a_qp, wr_id, IBV_WR_RDMA_WRITE, sge);
}

static void poll_one(uint64_t wr_id, enum ibv_wc_status status)
{
	story_poll(&s, 0, &a_cq, wr_id, status, a_qp.qp_num);
}

static const struct timeline *time_story(void)
{
	struct profile *profile;

	story_check(&s, NULL);
	assert_int_equal(profile_trace_more(s.trace, NULL,
					    &(struct profile_extras){ .ret_timeline = &timeline },
					    &profile),
			 0);
	profile_free(profile);
	return timeline;
}

static struct timeline_bin sum_of(const struct timeline *t)
{
	struct timeline_bin sum = { 0 };

	for (size_t i = 0; i < t->nbins; i++) {
		sum.requests += t->bins[i].requests;
		sum.bytes += t->bins[i].bytes;
		sum.completions += t->bins[i].completions;
		sum.errors += t->bins[i].errors;
		sum.doorbells += t->bins[i].doorbells;
	}
	return sum;
}

/* The device cannot have taken more than twice the size: completions are missing. */
TEST(a_queue_with_more_than_it_takes_is_unsure)
{
	for (uint64_t i = 0; i < 30; i++)
		send_one(i, 64);
	assert_true(time_story()->queues[0].unsure);
}

TEST(a_run_without_posts_has_no_begin)
{
	const struct timeline *t = time_story();

	assert_int_equal(t->begin, -1);
	assert_int_equal(t->nbins, 0);
	assert_int_equal(t->nqueues, 0);
}

TEST(bins_have_all_that_was_posted_and_completed)
{
	send_one(1, 64);
	send_one(2, 100);
	poll_one(1, IBV_WC_SUCCESS);
	poll_one(2, IBV_WC_REM_ACCESS_ERR);
	struct timeline_bin sum = sum_of(time_story());

	assert_int_equal(sum.requests, 2);
	assert_int_equal(sum.bytes, 164);
	assert_int_equal(sum.doorbells, 2);
	assert_int_equal(sum.completions, 2);
	assert_int_equal(sum.errors, 1);
}

TEST(only_success_has_a_latency)
{
	uint64_t n = 0;

	send_one(1, 64);
	send_one(2, 64);
	poll_one(1, IBV_WC_SUCCESS);
	poll_one(2, IBV_WC_REM_ACCESS_ERR);
	const struct timeline *t = time_story();

	assert_non_null(t->heat[IBV_WR_RDMA_WRITE]);
	assert_null(t->heat[IBV_WR_SEND]);
	for (size_t i = 0; i < TIMELINE_BINS; i++)
		for (size_t c = 0; c < TIMELINE_CLASSES; c++)
			n += t->heat[IBV_WR_RDMA_WRITE]->n[i][c];
	assert_int_equal(n, 1);
}

TEST(depth_is_what_is_outstanding)
{
	uint32_t most = 0, last = UINT32_MAX;

	send_one(1, 64);
	send_one(2, 64);
	send_one(3, 64);
	poll_one(1, IBV_WC_SUCCESS);
	const struct timeline *t = time_story();

	assert_int_equal(t->nqueues, 1);
	assert_true(t->queues[0].send);
	assert_false(t->queues[0].unsure);
	assert_int_equal(t->queues[0].requests, 3);
	for (size_t i = 0; i < TIMELINE_BINS; i++) {
		const struct timeline_depth *depth = &t->queues[0].depth[i];

		if (depth->least > depth->most)
			continue;
		most = depth->most > most ? depth->most : most;
		last = depth->least;
	}
	assert_int_equal(most, 3);
	assert_int_equal(last, 2);
}

/* The bins at @time, of a time line that is made by hand. */
static void count_at(struct timeline *t, int64_t time)
{
	size_t bin = timeline_bin_of(t, time);

	t->bins[bin].requests++;
}

TEST(bins_become_wider_and_keep_what_they_have)
{
	struct timeline *t = timeline = calloc(1, sizeof(*t));

	assert_non_null(t);
	t->begin = -1;
	t->width = 1024;
	for (int64_t i = 0; i < 100000; i++)
		count_at(t, 5000 + i * 7000);
	assert_int_equal(t->begin, 5000);
	assert_int_equal(sum_of(t).requests, 100000);
	assert_true(t->nbins > TIMELINE_BINS / 2 && t->nbins <= TIMELINE_BINS);
	assert_true((int64_t)t->nbins * t->width >= 99999 * 7000);
	count_at(t, INT64_MAX);
	assert_int_equal(sum_of(t).requests, 100001);
	count_at(t, 0); /* before the first event: in a damaged trace */
	assert_int_equal(sum_of(t).requests, 100002);
}

/* Without a story, which would have to be read to its end. */
TEST_WITH(classes_of_latencies_are_in_order_and_meet, NULL, NULL)
{
	assert_int_equal(timeline_class_of(-1), 0);
	assert_int_equal(timeline_class_of(0), 0);
	assert_int_equal(timeline_class_of(INT64_MAX), TIMELINE_CLASSES - 1);
	for (unsigned int class = 1; class < TIMELINE_CLASSES; class ++) {
		assert_int_equal(timeline_class_of(timeline_class_from(class)), class);
		assert_int_equal(timeline_class_of(timeline_class_from(class) - 1), class - 1);
	}
}
