/* The rules of analyzer/rules/thread.c over stored traces. */
#include <errno.h>
#include <stdatomic.h>

#include "tests/analyzer/story.h"
#include "tests/test.h"

enum { OTHER = 1 };

/* A queue pair, and a second thread. */
static void story_threads(struct story *s)
{
	story_with_qp(s);
	assert_int_equal(story_thread(s, STORY_PID, 0, 0), OTHER);
}

static struct story_call story_destroys(struct story *s)
{
	return story_call(s, 0, VERB_destroy_qp, 6, W(&a_qp));
}

static void story_sends(struct story *s, int thread)
{
	struct event_sge sge = { .length = 0 };

	story_post(s, thread, VERB_post_send, &a_qp, 7, IBV_WR_SEND, sge);
}

static uint64_t count_races(struct story *s)
{
	uint64_t n;

	story_check(s, NULL);
	n = s->findings->rules[RULE_THREAD_002];
	story_end(s);
	return n;
}

TEST(a_post_begins_during_the_destroy)
{
	const struct finding *f = NULL;
	struct story_call destroy;
	struct story s;

	story_threads(&s);
	destroy = story_destroys(&s);
	story_sends(&s, OTHER);
	story_return(&s, &destroy, 0);
	story_check(&s, NULL);
	assert_int_equal(s.findings->rules[RULE_THREAD_002], 1);
	for (size_t i = 0; i < s.findings->n; i++)
		if (s.findings->all[i]->rule == RULE_THREAD_002)
			f = s.findings->all[i];
	assert_string_equal(f->where, "ibv_destroy_qp(): qp");
	assert_string_equal(
		f->says,
		"Thread 2 called ibv_post_send() on qp1 (number 0x21) at 2:1, 1000 ns after "
		"thread 1 had begun ibv_destroy_qp(), which took 2000 ns.");
	assert_int_equal(f->nsteps, 3);
	story_end(&s);
}

TEST(a_post_before_or_after_is_none)
{
	struct story_call destroy;
	struct story s;

	story_threads(&s);
	story_sends(&s, OTHER);
	destroy = story_destroys(&s);
	story_return(&s, &destroy, 0);
	story_sends(&s, OTHER); /* LIFE-001 */
	assert_int_equal(count_races(&s), 0);
}

TEST(the_destroying_thread_does_not_race_with_itself)
{
	struct story_call destroy;
	struct story s;

	story_threads(&s);
	destroy = story_destroys(&s);
	story_sends(&s, 0); /* by a signal handler */
	story_return(&s, &destroy, 0);
	assert_int_equal(count_races(&s), 0);
}

TEST(a_destroy_that_failed_does_no_harm)
{
	struct story_call destroy;
	struct story s;

	story_threads(&s);
	destroy = story_destroys(&s);
	story_sends(&s, OTHER);
	story_return(&s, &destroy, EBUSY);
	destroy = story_destroys(&s); /* a race with the first one is none with the second */
	story_return(&s, &destroy, 0);
	assert_int_equal(count_races(&s), 0);
}

/* Destroys of CQs and queue pairs wait for it. */
TEST(acknowledging_is_no_race)
{
	struct story_call destroy;
	struct story s;

	story_threads(&s);
	destroy_qp(&s, 0);
	destroy = story_call(&s, 0, VERB_destroy_cq, 7, W(&a_cq));
	story_do(&s, OTHER, VERB_ack_cq_events, 0, 0, W(&a_cq), W(0));
	story_return(&s, &destroy, 0);
	assert_int_equal(count_races(&s), 0);
}

/* The address was used again before the destroy returned. */
TEST(a_new_object_at_the_address_is_another)
{
	struct ibv_qp_init_attr attr = { .send_cq = &a_cq,
					 .recv_cq = &a_cq,
					 .qp_type = IBV_QPT_RC };
	struct story_call destroy;
	struct story s;

	story_threads(&s);
	destroy = story_destroys(&s);
	story_do(&s, OTHER, VERB_create_qp, 4, W(&a_qp), W(&a_pd), W(&attr));
	story_sends(&s, OTHER);
	story_return(&s, &destroy, 0);
	assert_int_equal(count_races(&s), 0);
}

/* The object was in use when the process died: perhaps because of that. */
TEST(a_destroy_that_never_returned_races_too)
{
	struct story s;

	story_threads(&s);
	story_destroys(&s);
	story_sends(&s, OTHER);
	story_exit(&s, STORY_PID, 11);
	assert_int_equal(count_races(&s), 1);
}

static const struct finding *find_race(const struct story *s)
{
	for (size_t i = 0; i < s->findings->n; i++)
		if (s->findings->all[i]->rule == RULE_THREAD_002)
			return s->findings->all[i];
	fail_msg("no race");
	return NULL;
}

/* Another thread sleeps in ibv_get_async_event() while the device is closed. */
static struct story_call story_sleeps(struct story *s)
{
	struct story_call call;

	story_begin(s);
	open_context(s);
	assert_int_equal(story_thread(s, STORY_PID, 0, 0), OTHER);
	call = story_call(s, OTHER, VERB_get_async_event, 0, W(&a_context), W(0));
	close_context(s);
	return call;
}

TEST(a_call_is_under_way_when_the_destroy_begins)
{
	struct story s;

	story_sleeps(&s);
	story_exit(&s, STORY_PID, 0);
	story_tells(&s, RULE_THREAD_002,
		    "Thread 1 called ibv_close_device() on context1 while thread 2 was inside "
		    "ibv_get_async_event(), 2:1, for 1000 ns: the call was under way and never "
		    "returned.");
}

TEST(a_call_returns_after_the_destroy)
{
	struct story_call call;
	struct story s;

	call = story_sleeps(&s);
	story_fails(&s, &call, (uint64_t)-1, EBADF);
	story_exit(&s, STORY_PID, 0);
	story_check(&s, NULL);
	assert_int_equal(s.findings->rules[RULE_THREAD_002], 1);
	assert_non_null(strstr(find_race(&s)->says, "and returned 2000 ns later."));
	story_end(&s);
}

/* Cancelled, with the call under way, and joined: it was not there any more. */
TEST(a_thread_ends_within_its_call_before_the_destroy)
{
	struct story s;

	story_begin(&s);
	open_context(&s);
	assert_int_equal(story_thread(&s, STORY_PID, 0, 0), OTHER);
	story_call(&s, OTHER, VERB_get_async_event, 0, W(&a_context), W(0));
	atomic_store(&s.threads[OTHER].head.ended, s.now += 1000);
	close_context(&s);
	story_exit(&s, STORY_PID, 0);
	assert_int_equal(count_races(&s), 0);
}

TEST(a_thread_ends_within_its_call_after_the_destroy)
{
	struct story s;

	story_sleeps(&s);
	atomic_store(&s.threads[OTHER].head.ended, s.now += 5000);
	story_exit(&s, STORY_PID, 0);
	story_tells(&s, RULE_THREAD_002, "its thread ended inside the call, 6000 ns later");
}

TEST(a_call_that_has_returned_is_not_under_way)
{
	struct story_call call;
	struct story s;

	story_begin(&s);
	open_context(&s);
	assert_int_equal(story_thread(&s, STORY_PID, 0, 0), OTHER);
	call = story_call(&s, OTHER, VERB_get_async_event, 0, W(&a_context), W(0));
	story_fails(&s, &call, (uint64_t)-1, EAGAIN);
	close_context(&s);
	story_exit(&s, STORY_PID, 0);
	assert_int_equal(count_races(&s), 0);
}

/* The object stays as it was. */
TEST(a_destroy_that_failed_spares_the_call)
{
	struct story_call call, destroy;
	struct ibv_qp_attr attr;
	struct story s;

	story_threads(&s);
	call = story_call(&s, OTHER, VERB_query_qp, 0, W(&a_qp), W(&attr), W(1), W(0));
	destroy = story_destroys(&s);
	story_return(&s, &destroy, EBUSY);
	story_fails(&s, &call, EINVAL, EINVAL);
	assert_int_equal(count_races(&s), 0);
}

enum crash_form {
	CRASH_PLAIN,
	CRASH_LATER,   /* the thread has posted long before */
	CRASH_GOES_ON, /* the thread calls another verb after the destroy */
	CRASH_ENDED,   /* the process exits */
	CRASH_ABROAD,  /* the destroying thread is the only one that has posted */
	CRASH_FAILED,  /* the destroy failed */
};

/* A thread posts, another destroys the queue pair, and the process is killed by SIGSEGV. */
static uint64_t crash_after(enum crash_form form)
{
	struct story s;
	uint64_t n;

	story_threads(&s);
	story_sends(&s, form == CRASH_ABROAD ? 0 : OTHER);
	if (form == CRASH_LATER)
		s.now += 2000000000;
	destroy_qp(&s, form == CRASH_FAILED ? EBUSY : 0);
	if (form == CRASH_GOES_ON)
		story_do(&s, OTHER, VERB_alloc_pd, 2, 0, W(&a_context));
	s.now += 1000000;
	story_exit(&s, STORY_PID, form == CRASH_ENDED ? 0 : 11);
	story_check(&s, NULL);
	assert_int_equal(s.findings->rules[RULE_THREAD_002], 0);
	n = s.findings->hazards[RULE_THREAD_002];
	for (size_t i = 0; i < s.findings->n && n; i++)
		if (s.findings->all[i]->rule == RULE_THREAD_002)
			assert_string_equal(
				s.findings->all[i]->says,
				"Process 1 was killed by SIGSEGV 1.0 ms after thread 1 had called "
				"ibv_destroy_qp() on qp1. The last verb of thread 2, 1000 ns "
				"before that, is ibv_post_send() on it (2:1), and it had not "
				"ended.");
	story_end(&s);
	return n;
}

TEST(a_process_crashes_after_a_destroy)
{
	assert_int_equal(crash_after(CRASH_PLAIN), 1);
	assert_int_equal(crash_after(CRASH_LATER), 0);
	assert_int_equal(crash_after(CRASH_GOES_ON), 0);
	assert_int_equal(crash_after(CRASH_ENDED), 0);
	assert_int_equal(crash_after(CRASH_ABROAD), 0);
	assert_int_equal(crash_after(CRASH_FAILED), 0);
}

/* Polls of thread 2 that found nothing: in the ring's head until the CQ's destroyer writes them. */
static void count_polls(struct story *s, uint64_t empty)
{
	s->threads[OTHER].head.polls[0].cq = W(&a_cq);
	s->threads[OTHER].head.polls[0].empty = empty;
}

static void destroy_polled(struct story *s, uint64_t empty)
{
	struct event_count *event = (struct event_count *)s->words;

	destroy_cq(s, 0);
	event->ring = OTHER;
	event->tid = s->threads[OTHER].head.tid;
	event->cq = W(&a_cq);
	event->empty = empty;
	story_event(s, 0, EVENT_COUNT, sizeof(*event) / 8);
}

/* Thread 2 has polled a CQ ten times when it is destroyed, and polls it @after times more. */
static void poll_destroyed(struct story *s, uint64_t after, bool again)
{
	story_with_cq(s);
	assert_int_equal(story_thread(s, STORY_PID, 0, 0), OTHER);
	s->threads[OTHER].head.owner = s->threads[OTHER].head.tid;
	destroy_polled(s, 10);
	count_polls(s, after);
	if (again)
		create_cq(s);
}

static uint64_t count_polled_after(uint64_t after, bool again)
{
	struct story s;
	uint64_t n;

	poll_destroyed(&s, after, again);
	story_check(&s, NULL);
	n = s.findings->rules[RULE_LIFE_001];
	for (size_t i = 0; i < s.findings->n && n; i++)
		if (s.findings->all[i]->rule == RULE_LIFE_001)
			assert_string_equal(s.findings->all[i]->says,
					    "Thread 2 polled cq1 2 times after ibv_destroy_cq() "
					    "had returned, and found nothing.");
	story_end(&s);
	return n;
}

TEST(a_thread_polls_a_cq_that_is_gone)
{
	assert_int_equal(count_polled_after(2, false), 1);
	assert_int_equal(count_polled_after(1, false), 0); /* it may have begun before */
	assert_int_equal(count_polled_after(0, false), 0);
	assert_int_equal(count_polled_after(2, true), 0); /* another CQ has its address */
}

static uint64_t crash_polling(int status, bool idle)
{
	struct story s;
	uint64_t n;

	poll_destroyed(&s, 0, false);
	if (!idle)
		story_do(&s, OTHER, VERB_alloc_pd, 2, 0, W(&a_context));
	story_exit(&s, STORY_PID, status);
	story_check(&s, NULL);
	n = s.findings->hazards[RULE_THREAD_002];
	for (size_t i = 0; i < s.findings->n && n; i++)
		if (s.findings->all[i]->rule == RULE_THREAD_002)
			assert_non_null(
				strstr(s.findings->all[i]->says,
				       "on cq1, which thread 2 polls: that thread had found the CQ "
				       "empty 10 times, had done nothing else since"));
	story_end(&s);
	return n;
}

TEST(a_process_crashes_where_a_thread_polls)
{
	assert_int_equal(crash_polling(11, true), 1);
	assert_int_equal(crash_polling(9, true), 0);
	assert_int_equal(crash_polling(11, false), 0); /* the thread calls another verb now */
}

static struct ibv_td a_td = { .context = &a_context };
static struct ibv_pd a_parent = { .context = &a_context };

/*
 * A queue pair of a parent domain, with a thread domain or not: threads post to it, whose indices
 * @posters has.
 */
static uint64_t post_in_turn(bool strict, bool domain, const char *posters)
{
	struct ibv_td_init_attr none = { .comp_mask = 0 };
	struct ibv_parent_domain_init_attr parent = { .pd = &a_pd, .td = domain ? &a_td : NULL };
	struct ibv_qp_init_attr attr = { .send_cq = &a_cq,
					 .recv_cq = &a_cq,
					 .qp_type = IBV_QPT_RC,
					 .cap = { 16, 16, 1, 1, 0 } };
	struct story s;
	uint64_t found;

	a_qp.pd = &a_parent;
	story_begin_how(&s, strict);
	open_context(&s);
	alloc_pd(&s);
	create_cq(&s);
	assert_int_equal(story_thread(&s, STORY_PID, 0, 0), 1);
	assert_int_equal(story_thread(&s, STORY_PID, 0, 0), 2);
	story_do(&s, 0, VERB_alloc_td, 20, W(&a_td), W(&a_context), W(&none));
	story_do(&s, 0, VERB_alloc_parent_domain, 21, W(&a_parent), W(&a_context), W(&parent));
	story_do(&s, 0, VERB_create_qp, 4, W(&a_qp), W(&a_parent), W(&attr));
	for (; *posters; posters++)
		story_sends(&s, *posters - '0');
	destroy_qp(&s, 0);
	a_qp.pd = &a_pd;
	story_check(&s, NULL);
	found = s.findings->hazards[RULE_THREAD_001];
	for (size_t i = 0; i < s.findings->n && found; i++)
		if (s.findings->all[i]->rule == RULE_THREAD_001)
			assert_non_null(strstr(s.findings->all[i]->says,
					       "qp1 (number 0x21) belongs to thread domain td1, "
					       "and several threads posted to it in turn."));
	story_end(&s);
	return found;
}

TEST(threads_take_turns_at_a_queue_pair_of_a_thread_domain)
{
	assert_int_equal(post_in_turn(false, true, "1122"), 1);
	assert_int_equal(post_in_turn(false, true, "010"), 1);
	assert_int_equal(post_in_turn(false, true, "0011"), 0); /* it was handed over */
	assert_int_equal(post_in_turn(false, true, "1111"), 0);
	assert_int_equal(post_in_turn(false, false, "1122"), 0);
	assert_int_equal(post_in_turn(true, true, "1122"), 0); /* it is known if they overlap */
}
