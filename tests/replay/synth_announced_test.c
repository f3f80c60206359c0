/* replay/synth/synth_announced.c: messages that an event announced before they were polled. */
#include <stdlib.h>

#include "replay/synth/synth_pass.h"
#include "tests/replay/objects.h"
#include "tests/test.h"

enum { QP = 1, CQ, SRQ, UD, NOBJECTS };

static struct replay replay;
static struct synthesized far;
static struct pass pass;
static struct synth_plan plan, datagrams;
static struct announced_events announcements[NOBJECTS];

static struct synth_spot failed_at;
static unsigned int nfailures;
static int64_t now; /* of the events */

int synth_stop_note_announced(struct pass *p, struct synth_plan *of, struct synth_spot at)
{
	assert_ptr_equal(p, &pass);
	assert_ptr_equal(of, &plan);
	of->life.broken = true;
	failed_at = at;
	nfailures++;
	return 0;
}

struct synth_plan *synth_plan_now(const struct pass *p, uint32_t object)
{
	(void)p;
	return object == QP ? &plan : object == UD ? &datagrams : NULL;
}

static int begin_pass(void **state)
{
	(void)state;
	nobjects = 0;
	add_object(OBJECT_qp, 7, 0x10);
	add_object(OBJECT_cq, 7, 0x20);
	add_object(OBJECT_srq, 7, 0x30);
	add_object(OBJECT_qp, 7, 0x40);
	nfailures = 0;
	now = 9;
	memset(announcements, 0, sizeof(announcements));
	plan = (struct synth_plan){ .object = QP, .type = IBV_QPT_RC };
	datagrams = (struct synth_plan){ .object = UD, .type = IBV_QPT_UD };
	replay = (struct replay){ .nreplicas = NOBJECTS };
	far = (struct synthesized){ 0 };
	pass = (struct pass){ .r = &replay, .far = &far, .announcements = announcements };
	return 0;
}

static int end_pass(void **state)
{
	(void)state;
	free(far.early);
	free(far.dues);
	free(far.due_lists);
	map_fini(&far.early_of);
	map_fini(&far.due_at);
	return 0;
}

FIXTURE(begin_pass, end_pass);

static void learn_return(enum verb verb, uint32_t seq, const char *out, bool failed)
{
	struct args *args = args_new(out, strlen(out));
	const struct call call = { .verb = verb, .out = args, .failed = failed };
	const struct trace_event event = {
		.kind = TRACE_RETURN, .id = { 3, seq }, .process = 7, .time = now, .call = &call
	};

	assert_int_equal(synth_learn_return(&pass, &event), 0);
	args_unref(args);
}

static void get_cq_event(uint32_t seq)
{
	learn_return(VERB_get_cq_event, seq, "{\"cq\":32}", false);
}

static void get_async_event(uint32_t seq, const char *type, unsigned int handle)
{
	char out[128];

	snprintf(out, sizeof(out), "{\"event\":{\"event_type\":\"%s\",\"element\":%u}}", type,
		 handle);
	learn_return(VERB_get_async_event, seq, out, false);
}

static struct wc make_message(uint32_t length)
{
	return (struct wc){ .qp = QP,
			    .opcode = IBV_WC_RECV,
			    .byte_len = length,
			    .imm = 100 + length,
			    .src_qp = 200 + length,
			    .wc_flags = IBV_WC_WITH_IMM };
}

static void poll_all(uint32_t seq, const struct wc *wcs, uint32_t n)
{
	const struct poll poll = { .object = CQ, .nwc = n, .wc = wcs };
	const struct trace_event event = {
		.kind = TRACE_POLL, .id = { 4, seq }, .process = 7, .poll = &poll
	};

	assert_int_equal(synth_learn_announced(&pass, &event), 0);
}

/* The lengths of the messages that event @seq announced, in order: "1 2". */
static const char *announced_by(uint32_t seq)
{
	static char text[64];
	uint64_t at = 0;
	size_t used = 0;

	text[0] = '\0';
	map_get(&far.due_at, event_key((struct event_id){ 3, seq }), &at);
	at = at ? far.due_lists[at - 1].first : 0;
	for (; at; at = far.dues[at - 1].next)
		used += (size_t)snprintf(text + used, sizeof(text) - used, "%s%u", used ? " " : "",
					 far.early[far.dues[at - 1].message - 1].length);
	return text;
}

TEST(an_event_announced_the_messages_of_the_next_poll)
{
	struct wc wcs[3] = { make_message(1), make_message(2), make_message(3) };
	const struct synth_early *early;
	uint64_t at;

	(void)state;
	wcs[1].opcode = IBV_WC_RECV_RDMA_WITH_IMM;
	announcements[CQ].solicited = true;
	get_cq_event(1);
	poll_all(5, wcs, 3);
	assert_string_equal(announced_by(1), "1 2 3");
	assert_int_equal(far.nearly, 3);
	assert_true(map_get(&far.early_of, event_part_key((struct event_id){ 4, 5 }, 1), &at));
	early = &far.early[at - 1];
	assert_int_equal(early->poll.n, 5);
	assert_int_equal(early->index, 1);
	assert_int_equal(early->cq, CQ);
	assert_int_equal(early->qp, QP);
	assert_int_equal(early->length, 2);
	assert_int_equal(early->imm, 102);
	assert_int_equal(early->src_qp, 202);
	assert_int_equal(early->flags, IBV_WC_WITH_IMM);
	assert_true(early->write);
	assert_true(early->solicited);
	assert_false(far.dues[at - 1].limit);
	assert_false(far.dues[at - 1].awaited);
	assert_false(early->sent);
	assert_true(map_get(&far.early_of, event_part_key((struct event_id){ 4, 5 }, 0), &at));
	assert_false(far.early[at - 1].write);
	assert_int_equal(pass.announced.id.n, 1);
	assert_int_equal(pass.announced.time, 9);
	poll_all(6, wcs, 1);
	assert_int_equal(far.nearly, 3); /* the announcement is over */
	assert_int_equal(pass.announced.id.thread, 0);
}

TEST(a_poll_of_nothing_leaves_the_event)
{
	struct wc wc = make_message(1);

	(void)state;
	get_cq_event(1);
	poll_all(5, NULL, 0);
	poll_all(6, &wc, 1);
	assert_string_equal(announced_by(1), "1");
	assert_false(far.early[0].solicited);
}

TEST(the_first_of_two_events_announced_them)
{
	struct wc wc = make_message(1);

	(void)state;
	get_cq_event(1);
	get_cq_event(2);
	poll_all(6, &wc, 1);
	assert_string_equal(announced_by(1), "1");
	assert_string_equal(announced_by(2), "");
}

/* The first event was of a completion that nobody polled. */
TEST(an_event_before_the_connection_did_not_announce_them)
{
	struct synth_link link = { .host = 1, .time = 10 };
	struct wc wcs[2] = { make_message(1), make_message(2) };

	(void)state;
	plan.links = &link;
	plan.nlinks = plan.at = 1;
	get_cq_event(1);
	now = 11;
	get_cq_event(2);
	get_cq_event(3);
	poll_all(6, wcs, 2);
	assert_string_equal(announced_by(1), "");
	assert_string_equal(announced_by(2), "1 2");
	assert_string_equal(announced_by(3), "");
	get_cq_event(4);
	wcs[0].byte_len = 3;
	poll_all(7, wcs, 1);
	assert_string_equal(announced_by(4), "3");
}

/* The last is known, even of more events than are kept. */
TEST(the_last_of_many_events_announced_what_came_after_them)
{
	struct synth_link link = { .host = 1, .time = 10 };
	struct wc wc = make_message(1);

	(void)state;
	plan.links = &link;
	plan.nlinks = plan.at = 1;
	for (uint32_t i = 1; i <= 100; i++)
		get_cq_event(i);
	now = 11;
	get_cq_event(101);
	poll_all(6, &wc, 1);
	assert_string_equal(announced_by(101), "1");
}

TEST(no_event_before_the_connection_announced_them)
{
	struct synth_link link = { .host = 1, .time = 10 };
	struct wc wc = make_message(1);

	(void)state;
	plan.links = &link;
	plan.nlinks = plan.at = 1;
	get_cq_event(1);
	get_cq_event(2);
	poll_all(6, &wc, 1);
	assert_int_equal(far.nearly, 0);
}

TEST(what_is_no_message_was_not_announced)
{
	struct wc wcs[3] = { make_message(1), make_message(2), make_message(3) };

	(void)state;
	wcs[0].status = IBV_WC_WR_FLUSH_ERR;
	wcs[1].opcode = IBV_WC_SEND;
	wcs[2].qp = CQ; /* its other end is in the trace */
	get_cq_event(1);
	poll_all(6, wcs, 3);
	assert_int_equal(far.nearly, 0);
}

TEST(an_established_connection_announced_the_first_message)
{
	struct wc wcs[2] = { make_message(1), make_message(2) };

	(void)state;
	get_async_event(1, "IBV_EVENT_COMM_EST", 0x10);
	poll_all(6, &wcs[0], 1);
	poll_all(7, &wcs[1], 1);
	assert_string_equal(announced_by(1), "1");
	assert_int_equal(far.nearly, 1);
}

TEST(the_event_of_the_queue_counts_before_that_of_the_queue_pair)
{
	struct wc wc = make_message(1);

	(void)state;
	get_async_event(1, "IBV_EVENT_COMM_EST", 0x10);
	get_cq_event(2);
	poll_all(6, &wc, 1);
	assert_string_equal(announced_by(1), "");
	assert_string_equal(announced_by(2), "1");
	poll_all(7, &wc, 1);
	assert_int_equal(far.nearly, 1);
}

TEST(a_limit_of_a_shared_queue_may_be_of_any_of_the_next_messages)
{
	struct wc wcs[2] = { make_message(1), make_message(2) };

	(void)state;
	plan.srq = SRQ;
	get_async_event(1, "IBV_EVENT_SRQ_LIMIT_REACHED", 0x30);
	assert_int_equal(announcements[SRQ].left, 256);
	get_cq_event(2);
	poll_all(6, wcs, 2);
	assert_string_equal(announced_by(1), "1 2");
	assert_string_equal(announced_by(2), "");
	assert_true(far.dues[1].limit);
	assert_int_equal(announcements[SRQ].left, 254);
	announcements[SRQ].left = 1;
	wcs[0].byte_len = 3;
	wcs[1].byte_len = 4;
	poll_all(7, wcs, 2);
	assert_string_equal(announced_by(1), "1 2 3");
}

TEST(the_next_limit_begins_anew)
{
	struct wc wc = make_message(1);

	(void)state;
	plan.srq = SRQ;
	get_async_event(1, "IBV_EVENT_SRQ_LIMIT_REACHED", 0x30);
	poll_all(6, &wc, 1);
	get_async_event(2, "IBV_EVENT_SRQ_LIMIT_REACHED", 0x30);
	wc.byte_len = 2;
	poll_all(7, &wc, 1);
	assert_string_equal(announced_by(1), "1");
	assert_string_equal(announced_by(2), "2");
}

TEST(an_error_of_the_other_end_broke_the_queue_pair)
{
	(void)state;
	get_async_event(1, "IBV_EVENT_QP_ACCESS_ERR", 0x10);
	assert_int_equal(nfailures, 1);
	assert_int_equal(failed_at.id.n, 1);
	assert_int_equal(failed_at.time, 9);
	assert_int_equal(plan.breaks, IBV_EVENT_QP_ACCESS_ERR);
	get_async_event(2, "IBV_EVENT_QP_REQ_ERR", 0x10); /* it was broken */
	assert_int_equal(plan.breaks, IBV_EVENT_QP_REQ_ERR);
	get_async_event(3, "IBV_EVENT_QP_REQ_ERR", 0x40);
	get_async_event(4, "IBV_EVENT_QP_FATAL", 0x10);
	get_async_event(5, "IBV_EVENT_QP_REQ_ERR", 0x50);
	assert_int_equal(nfailures, 1);
}

TEST(the_last_receive_was_used_before_its_event)
{
	(void)state;
	get_async_event(1, "IBV_EVENT_QP_LAST_WQE_REACHED", 0x10);
	assert_int_equal(plan.life.last.id.n, 1);
	assert_int_equal(plan.life.last.time, 9);
	plan.life.broken = true; /* the cause is known */
	get_async_event(2, "IBV_EVENT_QP_LAST_WQE_REACHED", 0x10);
	get_async_event(3, "IBV_EVENT_QP_LAST_WQE_REACHED", 0x50);
	assert_int_equal(plan.life.last.id.n, 1);
}

TEST(calls_that_got_no_event_announce_nothing)
{
	(void)state;
	learn_return(VERB_get_cq_event, 1, "{\"cq\":32}", true);
	learn_return(VERB_ack_cq_events, 2, "{\"cq\":32}", false);
	learn_return(VERB_get_cq_event, 3, "{\"cq\":33}", false);
	for (int i = 0; i < NOBJECTS; i++)
		assert_int_equal(announcements[i].id.thread, 0);
}
