/*
 * replay/data/expect_report.c: what is reported of a completion, and how long it is waited for
 *
 * What follows from other reports, and the report itself, come from functions of the test.
 */
#include <stdlib.h>

#include "replay/data/expect_priv.h"
#include "replay/report/differ.h"
#include "replay/report/options.h"
#include "replay/state/recorded.h"
#include "tests/test.h"

enum { QP = 4, SENDER = 9, SECOND = 1000000000 };

static char log_text[1024];
static bool is_explained;
static unsigned int nspared;
static struct replay_options options;
static struct replay replay;
static struct replica_qp queue_pair;
static struct poll poll;
static struct trace_event event;
static struct wc wc;
static struct expected_wc expected;
static struct arrival arrival;

bool outcome_is_explained(struct outcome *outcome, uint32_t object)
{
	(void)outcome;
	assert_int_equal(object, QP);
	return is_explained;
}

void outcome_add_divergence(struct outcome *outcome, const struct divergence *d)
{
	(void)outcome;
	snprintf(log_text, sizeof(log_text),
		 "%u:%u %s %s: recorded %s, replayed %s, about %u:%u, of %u and %u%s%s%s",
		 d->event.thread, (unsigned int)d->event.n, verb_infos[d->verb].name, d->field,
		 d->recorded, d->replayed, d->about.thread, (unsigned int)d->about.n, d->object,
		 d->peer, d->class == DIVERGENCE_FAILED_REPLAYED ? ", failed here" : "",
		 d->breaks ? ", breaks" : "", d->symptom ? ", symptom" : "");
}

/* Only value_text() of that module is used. */
bool outcome_is_other_device(const struct outcome *outcome)
{
	(void)outcome;
	return false;
}

void outcome_note_tolerated(struct outcome *outcome, const char *reason)
{
	(void)outcome;
	(void)reason;
}

uint32_t recorded_datagram(const struct replay *r, uint32_t qp, uint32_t src_qp,
			   const struct ibv_ah_attr *av, int64_t time)
{
	assert_ptr_equal(r, &replay);
	assert_int_equal(qp, QP);
	assert_int_equal(src_qp, 77);
	assert_null(av);
	assert_int_equal(time, event.time);
	return SENDER;
}

void expect_note_spare(const struct expected_wc *e)
{
	assert_ptr_equal(e, &expected);
	nspared++;
}

static int begin_report(void **state)
{
	(void)state;
	*log_text = '\0';
	is_explained = false;
	nspared = 0;
	options.timeout = 64ll * SECOND;
	replay = (struct replay){ .options = &options };
	queue_pair = (struct replica_qp){ .type = IBV_QPT_RC };
	poll = (struct poll){ .verb = VERB_poll_cq };
	event = (struct trace_event){ .id = { 1, 20 }, .time = 10ll * SECOND, .poll = &poll };
	wc = (struct wc){ .wr_id = 0x1f,
			  .qp = QP,
			  .src_qp = 77,
			  .request = { 1, 5 },
			  .posted_at = 7ll * SECOND };
	expected = (struct expected_wc){
		.r = &replay, .event = &event, .wc = &wc, .index = 2, .qp = &queue_pair
	};
	arrival = (struct arrival){ .wc = { .qp_num = 0x99 }, .request = { .event = { 1, 6 } } };
	map_put(&replay.numbers, 0x99, QP);
	return 0;
}

static int end_report(void **state)
{
	(void)state;
	map_fini(&replay.numbers);
	return 0;
}

FIXTURE(begin_report, end_report);

TEST(the_time_to_wait_is_halved_with_each_missing_one)
{
	assert_int_equal(expect_wait_time(&expected), 64ll * SECOND);
	queue_pair.missed = 1;
	assert_int_equal(expect_wait_time(&expected), 32ll * SECOND);
	queue_pair.missed = 10;
	assert_int_equal(expect_wait_time(&expected), 64ll * SECOND >> 10);
	queue_pair.missed = 11;
	assert_int_equal(expect_wait_time(&expected), 64ll * SECOND >> 10);
}

TEST(an_explained_one_is_waited_for_as_after_six)
{
	is_explained = true;
	assert_int_equal(expect_wait_time(&expected), SECOND);
	queue_pair.missed = 6;
	assert_int_equal(expect_wait_time(&expected), SECOND);
	queue_pair.missed = 7;
	assert_int_equal(expect_wait_time(&expected), SECOND / 2);
}

TEST(retries_may_take_twice_as_long_as_recorded)
{
	const int64_t most = 300ll * SECOND;

	wc.status = IBV_WC_RETRY_EXC_ERR;
	assert_int_equal(expect_wait_time(&expected), (64ll + 6) * SECOND);
	wc.status = IBV_WC_RNR_RETRY_EXC_ERR;
	assert_int_equal(expect_wait_time(&expected), (64ll + 6) * SECOND);
	event.time = wc.posted_at + most - 1;
	assert_int_equal(expect_wait_time(&expected), 64ll * SECOND + 2 * (most - 1));
	event.time = wc.posted_at + most + SECOND;
	assert_int_equal(expect_wait_time(&expected), 64ll * SECOND + 2 * most);
	event.time = wc.posted_at - 1; /* clocks of two machines */
	assert_int_equal(expect_wait_time(&expected), 64ll * SECOND);
	event.time = 10ll * SECOND;
	wc.request.thread = 0; /* its post is not in the trace */
	assert_int_equal(expect_wait_time(&expected), 64ll * SECOND);
}

static void expect_missing(bool waited, const char *text)
{
	expect_report_missing(&expected, waited);
	assert_string_equal(log_text, text);
}

TEST(a_missing_completion_is_a_failure_of_the_replay)
{
	expect_missing(true,
		       "1:20 ibv_poll_cq wc[2]: recorded IBV_WC_SUCCESS (0) of wr_id 0x1f, "
		       "replayed no completion in 64.0 s, about 1:5, of 4 and 0, failed here, "
		       "breaks, symptom");
	assert_int_equal(queue_pair.missed, 1);
	assert_int_equal(nspared, 1);
	wc.status = IBV_WC_WR_FLUSH_ERR;
	expect_missing(false, "1:20 ibv_poll_cq wc[2]: recorded IBV_WC_WR_FLUSH_ERR (5) of wr_id "
			      "0x1f, replayed none: its request is unsignalled, about 1:5, of 4 "
			      "and 0, breaks");
	assert_int_equal(queue_pair.missed, 1);
	assert_int_equal(nspared, 2);
}

TEST(a_missing_datagram_breaks_nothing_and_names_its_sender)
{
	queue_pair.type = IBV_QPT_UD;
	expect_missing(true,
		       "1:20 ibv_poll_cq wc[2]: recorded IBV_WC_SUCCESS (0) of wr_id 0x1f, "
		       "replayed no completion in 64.0 s, about 1:5, of 4 and 9, failed here, "
		       "symptom");
	wc.status = IBV_WC_LOC_LEN_ERR;
	assert_int_equal(expect_sender(&expected), 0);
	queue_pair.type = IBV_QPT_RAW_PACKET;
	wc.status = IBV_WC_SUCCESS;
	expect_missing(
		false,
		"1:20 ibv_poll_cq wc[2]: recorded IBV_WC_SUCCESS (0) of wr_id 0x1f, "
		"replayed none: its request is unsignalled, about 1:5, of 4 and 0, failed here");
}

TEST(one_that_came_too_early_is_out_of_order)
{
	expect_report_order(&expected, &arrival, "after wr_id 3");
	assert_string_equal(log_text, "1:20 ibv_poll_cq wc[2] order: recorded after wr_id 3, "
				      "replayed before it, about 1:6, of 4 and 0");
}

static void expect_extra(const char *text)
{
	expect_report_extra(&replay, (struct event_id){ 3, 1 }, &arrival);
	assert_string_equal(log_text, text);
}

TEST(one_that_was_not_recorded_is_extra)
{
	expect_extra("3:1 ibv_poll_cq wc: recorded no completion, replayed IBV_WC_SUCCESS (0), "
		     "about 1:6, of 4 and 0");
	arrival.wc.status = IBV_WC_REM_OP_ERR;
	expect_extra("3:1 ibv_poll_cq wc: recorded no completion, replayed IBV_WC_REM_OP_ERR (11), "
		     "about 1:6, of 4 and 0, failed here, breaks");
	arrival.wc.status = IBV_WC_WR_FLUSH_ERR;
	arrival.wc.qp_num = 0x98;
	expect_extra("3:1 ibv_poll_cq wc: recorded no completion, replayed IBV_WC_WR_FLUSH_ERR "
		     "(5), about 1:6, of 0 and 0, failed here, breaks, symptom");
}
