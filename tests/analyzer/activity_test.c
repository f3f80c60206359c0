/* analyzer/facts/activity.c: what the threads of a process that ended had been waiting in. */
#include <signal.h>

#include "tests/analyzer/ends.h"
#include "tests/test.h"

enum { SECOND = 1000000000 };

static struct ibv_comp_channel channel = { .fd = 5 };

static const char *find_waited_fact(const struct story *s, uint32_t process)
{
	const struct fact_list *list = &s->findings->facts->list;

	for (size_t i = 0; i < list->n; i++)
		if (list->all[i].process == process && list->all[i].because)
			return list->all[i].because;
	fail_msg("nothing on process %u", process);
	return "";
}

/*
 * Process @pid, number @process, is ended from outside a second later; @text is reported about it.
 */
static void end_says(struct story *s, int pid, uint32_t process, const char *text)
{
	const char *said;

	s->now += SECOND;
	story_exit(s, pid, SIGTERM);
	story_check(s, NULL);
	said = find_waited_fact(s, process);
	if (!strstr(said, text))
		fail_msg("no '%s' in: %s", text, said);
	story_end(s);
}

static void post_receive(struct story *s, int thread, int end)
{
	story_post(s, thread, VERB_post_recv, &ends[end].qp, 1, 0,
		   (struct event_sge){ AT, 8, ends[end].mr.lkey });
}

static void add_empty_polls(struct story *s, int thread, int end, uint64_t times)
{
	s->threads[thread].head.polls[0].cq = W(&ends[end].cq);
	s->threads[thread].head.polls[0].empty = times;
}

/* Receives of these @n queue pairs complete at once. */
static void poll_receives(struct story *s, int thread, int end, const uint32_t *qps, unsigned int n)
{
	struct event_poll *event = (struct event_poll *)s->words;
	struct event_wc *wc = (struct event_wc *)(event + 1);

	event->cq = W(&ends[end].cq);
	event->empty = 100;
	event->ret = (int32_t)n;
	event->nwc = (uint16_t)n;
	for (unsigned int i = 0; i < n; i++)
		wc[i] = (struct event_wc){ .wr_id = 1, .opcode = IBV_WC_RECV, .qp_num = qps[i] };
	story_event(s, thread, EVENT_POLL, (sizeof(*event) + n * sizeof(*wc)) / 8);
}

static void poll_receive(struct story *s, int thread, int end)
{
	poll_receives(s, thread, end, &ends[end].qp.qp_num, 1);
}

TEST(polls_that_found_nothing)
{
	struct story s;

	begin_story(&s);
	post_receive(&s, 0, 0);
	add_empty_polls(&s, 0, 0, 900);
	end_says(&s, STORY_PID, 1,
		 "; thread 1 polled cq1 empty 900 times and never found a completion");
}

TEST(polls_before_the_last_completion_do_not_count)
{
	struct story s;

	begin_story(&s);
	for (int i = 0; i < 2; i++)
		post_receive(&s, 0, 0);
	poll_receive(&s, 0, 0);
	add_empty_polls(&s, 0, 0, 900);
	end_says(&s, STORY_PID, 1,
		 "; thread 1 polled cq1 empty 800 times after its last completion, 1:22");
}

/* All that could come has come: what the program waits for was polled, or never requested. */
TEST(polls_where_no_completion_can_come)
{
	struct story s;

	begin_story(&s);
	post_receive(&s, 0, 0);
	poll_receive(&s, 0, 0);
	add_empty_polls(&s, 0, 0, 900);
	end_says(&s, STORY_PID, 1,
		 "thread 1 polled cq1 empty 800 times after its last completion, 1:21, with no "
		 "outstanding request that completes in the CQ");
}

/* The process gives up: when it ends, the queue pair was destroyed. */
TEST(polls_in_vain_before_the_destroy)
{
	struct story s;

	begin_story(&s);
	post_receive(&s, 0, 0);
	poll_receive(&s, 0, 0);
	add_empty_polls(&s, 0, 0, 900);
	s.now += SECOND;
	story_do(&s, 0, VERB_destroy_qp, 0, 0, W(&ends[0].qp));
	story_do(&s, 0, VERB_destroy_cq, 0, 0, W(&ends[0].cq));
	story_exit(&s, STORY_PID, 1 << 8);
	story_check(&s, NULL);
	assert_non_null(
		strstr(find_waited_fact(&s, 1),
		       "thread 1 polled cq1 empty 800 times after its last completion, 1:21, with "
		       "no outstanding request that completes in the CQ"));
	story_end(&s);
}

/* A loop that empties a CQ ends with an empty poll: this is not a wait. */
TEST(one_empty_poll_is_no_wait)
{
	struct story s;

	begin_story(&s);
	for (int i = 0; i < 2; i++)
		post_receive(&s, 0, 0);
	poll_receive(&s, 0, 0);
	add_empty_polls(&s, 0, 0, 101);
	s.now += SECOND;
	story_exit(&s, STORY_PID, SIGTERM);
	story_check(&s, NULL);
	assert_null(strstr(find_waited_fact(&s, 1), "polled cq1 empty"));
	story_end(&s);
}

TEST(a_completion_that_another_thread_has_polled)
{
	struct story s;

	begin_story(&s);
	assert_int_equal(story_thread(&s, STORY_PID, 0, 0), 2);
	for (int i = 0; i < 2; i++)
		post_receive(&s, 0, 0);
	poll_receive(&s, 2, 0);
	add_empty_polls(&s, 0, 0, 900);
	end_says(&s, STORY_PID, 1,
		 "thread 1 polled cq1 empty 900 times and never found a completion; thread 3 "
		 "polled the completion of its 1:20 there, 3:1");
}

/* Two threads poll one CQ: whose completion the last one of each was. */
TEST(the_queue_pair_of_the_last_completion)
{
	struct ibv_qp_init_attr attr = { .send_cq = &ends[0].cq,
					 .recv_cq = &ends[0].cq,
					 .cap = { .max_send_wr = 8, .max_recv_wr = 8 },
					 .qp_type = IBV_QPT_RC };
	static struct ibv_qp second;
	struct story s;

	begin_story(&s);
	second = ends[0].qp;
	second.qp_num = 0x31;
	story_do(&s, 0, VERB_create_qp, 4, W(&second), W(&ends[0].pd), W(&attr));
	assert_int_equal(story_thread(&s, STORY_PID, 0, 0), 2);
	for (int i = 0; i < 4; i++)
		post_receive(&s, 0, 0);
	poll_receives(&s, 0, 0, (uint32_t[]){ 0x21, 0x21, 0x31 }, 3);
	poll_receives(&s, 2, 0, (uint32_t[]){ 0x31, 0x21 }, 2);
	add_empty_polls(&s, 0, 0, 900);
	add_empty_polls(&s, 2, 0, 800);
	end_says(&s, STORY_PID, 1,
		 "; thread 1 polled cq1 empty 800 times after its last completion, 1:26 of qp2; "
		 "thread 3 polled the completion of its 1:24 there, 3:1; thread 3 polled cq1 empty "
		 "700 times after its last completion, 3:1 of qp1;");
}

TEST(a_thread_that_waits_for_an_event)
{
	struct ibv_cq *got = &ends[1].cq;
	struct story s;
	void *context;

	peer_channel = &channel;
	begin_story(&s);
	peer_channel = NULL;
	post_receive(&s, 1, 1);
	story_call(&s, 1, VERB_get_cq_event, 12, W(&channel), W(&got), W(&context));
	end_says(&s, PEER, 2, "; thread 2 was in ibv_get_cq_event() since 2:23, 1.00 s");
}

TEST(a_thread_that_waits_for_an_event_of_nothing)
{
	struct ibv_cq *got = &ends[1].cq;
	struct story s;
	void *context;

	peer_channel = &channel;
	begin_story(&s);
	peer_channel = NULL;
	story_call(&s, 1, VERB_get_cq_event, 12, W(&channel), W(&got), W(&context));
	end_says(&s, PEER, 2,
		 "thread 2 was in ibv_get_cq_event() since 2:22, 1.00 s, with no outstanding "
		 "request that completes in the CQ");
}

TEST(a_thread_that_waits_at_the_wrong_channel)
{
	struct ibv_comp_channel unused = { .context = &ends[1].context, .fd = 6 };
	struct ibv_cq *got = &ends[1].cq;
	struct story s;
	void *context;

	peer_channel = &channel;
	begin_story(&s);
	peer_channel = NULL;
	story_do(&s, 1, VERB_create_comp_channel, 3, W(&unused), W(&ends[1].context));
	story_call(&s, 1, VERB_get_cq_event, 12, W(&unused), W(&got), W(&context));
	end_says(&s, PEER, 2,
		 "thread 2 was in ibv_get_cq_event() since 2:24, 1.00 s: no CQ uses comp_channel2");
}

TEST(a_channel_that_never_has_an_event)
{
	struct ibv_cq *got = &ends[1].cq;
	struct story_call call;
	struct story s;
	void *context;

	peer_channel = &channel;
	begin_story(&s);
	peer_channel = NULL;
	post_receive(&s, 1, 1);
	for (int i = 0; i < 5; i++) {
		call = story_call(&s, 1, VERB_get_cq_event, 12, W(&channel), W(&got), W(&context));
		story_fails(&s, &call, (uint64_t)-1, EAGAIN);
	}
	end_says(&s, PEER, 2, "; thread 2 called ibv_get_cq_event() 5 times: EAGAIN");
}
