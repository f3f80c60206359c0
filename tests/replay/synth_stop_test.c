/*
 * replay/synth/synth_stop.c: events after which nothing arrived any more
 *
 * Events are of thread 3. What is due before an event is written as in synth_due_test.c.
 */
#include <stdlib.h>

#include "replay/synth/synth_pass.h"
#include "tests/replay/objects.h"
#include "tests/test.h"

enum { QP = 1, MR, CQ, NOBJECTS, LKEY = 0x77 };

static struct replay replay;
static struct synthesized far;
static struct pass pass;
static struct synth_plan plan, *plans[NOBJECTS];
static struct synth_seen seen[5];
static const struct sge sge = { .length = 8, .lkey = LKEY };
static const struct wr receive = { .nsge = 1, .sge = &sge };
static const struct post receives = { .nwr = 1, .wr = &receive };
static unsigned int nlooked;

int cursor_post(struct cursor *cursor, struct event_id id, const struct post **ret_post)
{
	(void)cursor;
	(void)id;
	*ret_post = &receives;
	nlooked++;
	return 1;
}

static int begin_pass(void **state)
{
	(void)state;
	nobjects = 0;
	add_object(OBJECT_qp, 7, 0x10);
	add_object(OBJECT_mr, 7, 0x20)->number = LKEY;
	nlooked = 0;
	memset(seen, 0, sizeof(seen));
	plan = (struct synth_plan){ .object = QP, .process = 7, .type = IBV_QPT_RC };
	plans[QP] = &plan;
	replay = (struct replay){ .nreplicas = NOBJECTS };
	far = (struct synthesized){ .plans = plans };
	pass = (struct pass){ .r = &replay, .far = &far, .seen = seen, .nseen = 5 };
	return 0;
}

static int end_pass(void **state)
{
	(void)state;
	free(plan.life.recent);
	free(far.early);
	free(far.dues);
	free(far.due_lists);
	free(far.breaks);
	free(pass.ends);
	map_fini(&pass.gone);
	map_fini(&far.early_of);
	map_fini(&far.due_at);
	return 0;
}

FIXTURE(begin_pass, end_pass);

static void see_event(const struct trace_event *event)
{
	synth_stop_note_event(&pass, event);
}

static void see_call(enum trace_event_kind kind, enum verb verb, uint32_t object, uint64_t n,
		     const char *in)
{
	struct args *args = args_new(in, strlen(in));
	const struct call call = { .verb = verb, .object = object, .args = args };
	const struct trace_event event = {
		.kind = kind, .id = { 3, n }, .process = 7, .time = 10 * (int64_t)n, .call = &call
	};

	see_event(&event);
	assert_int_equal(synth_stop_note_call(&pass, &event), 0);
	args_unref(args);
}

static void modify_qp(uint64_t n, const char *state)
{
	char in[64];

	snprintf(in, sizeof(in), "{\"attr\":{\"qp_state\":\"IBV_QPS_%s\"}}", state);
	see_call(TRACE_CALL, VERB_modify_qp, QP, n, in);
}

/* Poll @n of one completion, of receive @request or (in error) of send @sent. */
static void see_poll(uint64_t n, enum ibv_wc_status status, uint64_t request, uint64_t sent)
{
	const struct wc wc = { .qp = QP,
			       .status = (int)status,
			       .byte_len = (uint32_t)n,
			       .request = { request ? 3 : 0, request } };
	const struct poll poll = { .object = CQ, .nwc = 1, .wc = &wc };
	const struct trace_event event = {
		.kind = TRACE_POLL, .id = { 3, n }, .time = 10 * (int64_t)n, .poll = &poll
	};
	const struct synth_request of = { .post = { 3, sent }, .time = 10 * (int64_t)sent };

	pass.npolls++;
	see_event(&event);
	if (status == IBV_WC_SUCCESS)
		assert_int_equal(synth_stop_note_message(&pass, &plan, &event, 0), 0);
	else
		assert_int_equal(synth_stop_note_failed(&pass, &plan, &event, 0, sent ? &of : NULL),
				 0);
}

static void see_message(uint64_t n, uint64_t request)
{
	see_poll(n, IBV_WC_SUCCESS, request, 0);
}

static const char *list_due(uint64_t n)
{
	static char text[128];
	uint64_t at = 0;
	size_t used = 0;

	text[0] = '\0';
	map_get(&far.due_at, event_key((struct event_id){ 3, n }), &at);
	at = at ? far.due_lists[at - 1].first : 0;
	for (; at; at = far.dues[at - 1].next) {
		const struct synth_due *d = &far.dues[at - 1];

		if (d->message)
			assert_true(d->awaited || pass.announced.id.n == n ||
				    plan.life.last.id.n == n);
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%s%u",
					 used ? " " : "", d->message ? "" : "failure ",
					 d->message ? far.early[d->message - 1].length : d->cause);
	}
	return text;
}

static const char *const states[] = { "ERR", "RESET" };

TEST(messages_polled_after_a_stop_arrived_before_it)
{
	(void)state;
	for (uint64_t i = 0; i < 2; i++) {
		see_message(100 * i + 20, 1);
		modify_qp(100 * i + 30, states[i]);
		see_message(100 * i + 40, 2);
		see_message(100 * i + 41, 3);
		assert_string_equal(list_due(100 * i + 30), i ? "140 141" : "40 41");
		modify_qp(100 * i + 50, "INIT");
		see_message(100 * i + 60, 4);
		assert_string_equal(list_due(100 * i + 30), i ? "140 141" : "40 41");
	}
}

TEST(the_first_stop_counts)
{
	(void)state;
	modify_qp(30, "ERR");
	modify_qp(35, "RESET");
	see_call(TRACE_RETURN, VERB_destroy_qp, QP, 36, "{}");
	see_message(40, 2);
	assert_string_equal(list_due(30), "40");
	assert_string_equal(list_due(35), "");
	assert_string_equal(list_due(36), "");
}

TEST(a_destroyed_queue_pair_gets_nothing_more)
{
	(void)state;
	see_call(TRACE_RETURN, VERB_destroy_qp, QP, 36, "{}");
	see_message(40, 2);
	assert_string_equal(list_due(36), "40");
}

TEST(a_receive_that_was_posted_later_was_not_used_before)
{
	(void)state;
	modify_qp(30, "ERR");
	see_message(40, 35); /* damage */
	assert_string_equal(list_due(30), "");
}

TEST(a_failed_request_stops_its_queue_pair_from_its_post_on)
{
	(void)state;
	see_message(20, 1);
	see_message(40, 2);
	see_message(45, 35); /* the request took a while to fail */
	see_poll(50, IBV_WC_RETRY_EXC_ERR, 0, 30);
	see_message(60, 3);
	assert_string_equal(list_due(30), "40 60");
	assert_int_equal(far.nbreaks, 0);
}

TEST(a_flush_shows_that_the_other_end_caused_a_failure)
{
	(void)state;
	see_message(20, 1);
	see_poll(30, IBV_WC_WR_FLUSH_ERR, 0, 0);
	see_poll(31, IBV_WC_WR_FLUSH_ERR, 0, 0);
	see_message(40, 2);
	assert_string_equal(list_due(30), "40 failure 1");
	assert_string_equal(list_due(31), "");
	assert_int_equal(far.breaks[0].qp, QP);
}

TEST(a_flush_after_a_stop_needs_no_cause)
{
	(void)state;
	modify_qp(30, "ERR");
	see_poll(40, IBV_WC_WR_FLUSH_ERR, 0, 0);
	assert_int_equal(far.nbreaks, 0);
	modify_qp(50, "RESET");
	modify_qp(51, "INIT");
	see_poll(60, IBV_WC_WR_FLUSH_ERR, 0, 0);
	assert_string_equal(list_due(60), "failure 1");
}

TEST(the_failure_comes_before_the_event_that_announced_it)
{
	(void)state;
	see_message(25, 1);
	pass.announced = (struct synth_spot){ { 3, 20 }, 200 };
	see_poll(30, IBV_WC_WR_FLUSH_ERR, 0, 0);
	assert_string_equal(list_due(20), "25 failure 1");
	/* the other queue's event came first */
	pass.announced = (struct synth_spot){ { 3, 18 }, 180 };
	see_poll(31, IBV_WC_WR_FLUSH_ERR, 0, 0);
	assert_string_equal(list_due(18), "25 failure 1");
}

TEST(the_failure_comes_before_the_last_receive_is_announced)
{
	(void)state;
	plan.life.last = (struct synth_spot){ { 3, 20 }, 200 };
	see_poll(30, IBV_WC_WR_FLUSH_ERR, 0, 0);
	assert_string_equal(list_due(20), "failure 1");
}

TEST(the_failure_comes_before_the_post_of_a_flushed_send)
{
	(void)state;
	see_message(25, 1);
	see_poll(30, IBV_WC_WR_FLUSH_ERR, 0, 20);
	see_message(40, 2);
	assert_string_equal(list_due(20), "25 40 failure 1");
}

TEST(a_queue_pair_that_received_had_not_failed)
{
	(void)state;
	pass.announced = (struct synth_spot){ { 3, 20 }, 200 };
	see_message(25, 22);
	see_poll(30, IBV_WC_WR_FLUSH_ERR, 0, 19);
	assert_string_equal(list_due(20), "");
	assert_string_equal(list_due(19), "");
	assert_string_equal(list_due(30), "failure 1");
}

TEST(a_queue_pair_that_sent_had_not_failed)
{
	(void)state;
	pass.announced = (struct synth_spot){ { 3, 20 }, 200 };
	plan.life.alive = 210;
	see_poll(30, IBV_WC_WR_FLUSH_ERR, 0, 0);
	assert_string_equal(list_due(20), "");
	assert_string_equal(list_due(30), "failure 1");
}

TEST(an_event_may_tell_of_the_failure)
{
	(void)state;
	see_message(20, 1);
	assert_int_equal(
		synth_stop_note_announced(&pass, &plan, (struct synth_spot){ { 3, 30 }, 300 }), 0);
	see_message(40, 2);
	see_poll(50, IBV_WC_WR_FLUSH_ERR, 0, 0);
	assert_string_equal(list_due(30), "40 failure 1");
	assert_int_equal(far.nbreaks, 1);
}

TEST(a_failure_by_its_own_request_needs_no_other)
{
	(void)state;
	see_poll(30, IBV_WC_WR_FLUSH_ERR, 0, 0);
	assert_false(far.breaks[0].needless);
	see_poll(31, IBV_WC_REM_ACCESS_ERR, 0, 20);
	assert_true(far.breaks[0].needless);
}

TEST(a_bad_message_is_the_cause)
{
	(void)state;
	see_poll(30, IBV_WC_WR_FLUSH_ERR, 0, 20);
	see_poll(31, IBV_WC_LOC_LEN_ERR, 2, 0);
	assert_int_equal(far.breaks[0].message, 1);
	assert_int_equal(far.early[0].status, IBV_WC_LOC_LEN_ERR);
	assert_string_equal(list_due(20), "failure 1");
}

TEST(a_bad_message_may_be_announced)
{
	(void)state;
	pass.announced = (struct synth_spot){ { 3, 20 }, 200 };
	plan.life.last = (struct synth_spot){ { 3, 21 }, 210 };
	see_poll(31, IBV_WC_LOC_LEN_ERR, 2, 0);
	assert_string_equal(list_due(20), "31");
	assert_string_equal(list_due(21), "31");
	see_poll(32, IBV_WC_WR_FLUSH_ERR, 3, 0);
	assert_int_equal(far.nbreaks, 0);
}

TEST(messages_arrive_before_their_memory_ends)
{
	(void)state;
	see_message(20, 1);
	see_call(TRACE_RETURN, VERB_dereg_mr, MR, 30, "{}");
	see_message(40, 2);
	assert_string_equal(list_due(30), "40");
	see_message(41, 35); /* posted later: that is another region */
	assert_string_equal(list_due(30), "40");
	assert_int_equal(nlooked, 1);
	see_call(TRACE_RETURN, VERB_reg_mr, MR, 42, "{}");
	see_message(43, 3);
	assert_string_equal(list_due(30), "40"); /* it may be the new one's */
}

TEST(many_messages_are_not_all_remembered)
{
	(void)state;
	for (uint64_t n = 0; n < 1000; n++)
		see_message(100 + n, 1);
	assert_true(plan.life.nrecent <= 256);
	see_poll(2000, IBV_WC_RETRY_EXC_ERR, 0, 1096);
	assert_string_equal(list_due(1096), "1096 1097 1098 1099");
}
