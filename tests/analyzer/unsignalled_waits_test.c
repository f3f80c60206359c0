/* analyzer/facts/unsignalled_waits.c: waits during a run for requests that are not signalled. */
#include "tests/analyzer/ends.h"
#include "tests/test.h"

enum { SECOND = 1000000000, EMPTY = 1000 };

static void post_send(struct story *s, int flags)
{
	struct event_post *event = (struct event_post *)s->words;
	struct event_wr *wr = (struct event_wr *)(event + 1);
	struct event_sge *sge = (struct event_sge *)(wr + 1);

	event->object = W(&ends[0].qp);
	event->verb = VERB_post_send;
	event->nwr = 1;
	*wr = (struct event_wr){
		.wr_id = 1, .opcode = IBV_WR_SEND, .flags = (uint16_t)flags, .nsge = 1
	};
	*sge = (struct event_sge){ AT, 8, 0x10 };
	story_event(s, 0, EVENT_POST, (sizeof(*event) + sizeof(*wr) + sizeof(*sge)) / 8);
}

/* A completion, after @empty polls of all time. */
static void poll_send(struct story *s, uint64_t empty)
{
	struct event_poll *event = (struct event_poll *)s->words;
	struct event_wc *wc = (struct event_wc *)(event + 1);

	event->cq = W(&ends[0].cq);
	event->empty = empty;
	event->ret = event->nwc = 1;
	*wc = (struct event_wc){ .wr_id = 1, .qp_num = ends[0].qp.qp_num };
	story_event(s, 0, EVENT_POLL, (sizeof(*event) + sizeof(*wc)) / 8);
}

/* @signalled requests that were polled, and @others. */
static void send_some(struct story *s, int signalled, int others)
{
	begin_story(s);
	for (int i = 0; i < signalled; i++) {
		post_send(s, IBV_SEND_SIGNALED);
		poll_send(s, 0);
	}
	for (int i = 0; i < others; i++)
		post_send(s, 0);
}

/* The text about the only wait of process 1, "" if there is none. */
static const char *wait_of(struct story *s)
{
	static char text[512];
	const struct fact_list *list;

	story_do(s, 0, VERB_destroy_qp, 9, 0, W(&ends[0].qp));
	story_exit(s, STORY_PID, 0);
	story_exit(s, PEER, 0);
	story_check(s, NULL);
	list = &s->findings->facts->list;
	text[0] = '\0';
	for (size_t i = 0; i < list->n; i++)
		if (list->all[i].kind == FACT_WAITED)
			snprintf(text, sizeof(text), "%s: %s", list->all[i].what,
				 list->all[i].because);
	assert_false(facts_are_bad(s->findings->facts));
	story_end(s);
	return text;
}

/* The thread goes on a second later, and polls a completion behind @empty polls. */
static const char *go_on(struct story *s, uint64_t empty)
{
	s->now += SECOND;
	post_send(s, IBV_SEND_SIGNALED);
	poll_send(s, empty);
	return wait_of(s);
}

TEST(one_request_is_not_signalled)
{
	struct story s;

	send_some(&s, 10, 1);
	assert_string_equal(
		go_on(&s, EMPTY),
		"process 1 (app) for 1.00 s, from 1:40 to 1:41: the send of qp1 posted at 1:40 was "
		"not signalled, and no other request could complete on cq1 (sq_sig_all is 0; set "
		"IBV_SEND_SIGNALED); thread 1 polled it empty 1000 times");
}

/* The thread may have polled after it stopped waiting. */
TEST(few_polls_are_no_wait)
{
	struct story s;

	send_some(&s, 10, 1);
	assert_string_equal(go_on(&s, 140), "");
}

/* Unless the recorder saw the thread poll: it samples threads ten times a second. */
TEST(few_polls_that_were_sampled)
{
	struct stored_sample sample = { .doing = "polls" };
	struct story s;

	send_some(&s, 10, 1);
	sample.thread = s.threads[0].id;
	sample.time = (int64_t)s.now + SECOND / 2;
	assert_int_equal(writer_store_sample(s.writer, &sample), 0);
	assert_non_null(strstr(go_on(&s, 40), "empty 40 times"));
}

/* One of many requests is signalled, and the program polls while it has nothing to do. */
TEST(unsignalled_requests_are_the_habit)
{
	struct story s;

	send_some(&s, 1, 10);
	assert_string_equal(go_on(&s, EMPTY), "");
}

/* Nothing was ever signalled: it waited for each. */
TEST(each_request_is_waited_for)
{
	struct story s;

	send_some(&s, 0, 1);
	s.now += SECOND;
	post_send(&s, 0);
	s.now += 2ull * SECOND;
	assert_non_null(strstr(go_on(&s, EMPTY), "for 3.00 s"));
}

TEST(a_receive_may_complete)
{
	struct story s;

	send_some(&s, 10, 0);
	story_post(&s, 0, VERB_post_recv, &ends[0].qp, 1, 0, (struct event_sge){ AT, 8, 0x10 });
	post_send(&s, 0);
	assert_string_equal(go_on(&s, EMPTY), "");
}

/* Until the queue pair is destroyed: the polls are counted at the end. */
TEST(it_does_not_go_on)
{
	struct story s;

	send_some(&s, 10, 1);
	s.threads[0].head.polls[0].cq = W(&ends[0].cq);
	s.threads[0].head.polls[0].empty = EMPTY;
	s.now += SECOND;
	assert_non_null(strstr(wait_of(&s), "cq1"));
}

/* A loop that makes progress everywhere waits for nothing there. */
TEST(another_cq_is_polled_as_well)
{
	struct ibv_cq other = { .context = &ends[0].context, .cqe = 16 };
	struct story s;

	send_some(&s, 10, 0);
	story_do(&s, 0, VERB_create_cq, 3, W(&other), W(&ends[0].context), W(16), W(0), W(0), W(0));
	post_send(&s, 0);
	s.threads[0].head.polls[0].cq = W(&other);
	s.threads[0].head.polls[0].empty = EMPTY;
	assert_string_equal(go_on(&s, EMPTY), "");
}
