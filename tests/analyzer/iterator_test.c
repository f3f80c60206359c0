/* analyzer/model/batch.c and LIFE-007, COMPL-005 over stored traces. */
#include <errno.h>

#include "tests/analyzer/story.h"
#include "tests/test.h"

static void begin_story(struct story *s)
{
	story_begin_how(s, false);
	open_context(s);
	alloc_pd(s);
	create_cq(s);
	create_qp(s);
	for (uint64_t i = 0; i < 4; i++)
		story_post(s, 0, VERB_post_send, &a_qp, i, IBV_WR_SEND, (struct event_sge){ 0 });
}

/* A completion of the iterator; @empty: polls so far that found nothing. */
static void poll_by_iterator(struct story *s, int thread, uint8_t how, uint64_t wr_id,
			     uint64_t empty)
{
	struct event_poll *event = (struct event_poll *)s->words;
	struct event_wc *wc = (struct event_wc *)(event + 1);
	size_t words = (sizeof(*event) + sizeof(*wc)) / 8;

	event->cq = W(&a_cq);
	event->ret = 1;
	event->nwc = 1;
	event->empty = empty;
	*wc = (struct event_wc){ .wr_id = wr_id, .qp_num = a_qp.qp_num };
	event->head.words = (uint16_t)words;
	event->head.type = EVENT_POLL;
	event->head.flags = how;
	event->head.seq = ++s->threads[thread].seq;
	event->head.ticks = s->now += 1000;
	assert_int_equal(writer_add_event(s->writer, s->threads[thread].id, &event->head), 0);
	memset(s->words, 0, words * 8);
}

static uint64_t count_of(struct story *s, enum rule_id rule)
{
	uint64_t n;

	story_check(s, NULL);
	n = s->findings->rules[rule];
	story_end(s);
	return n;
}

TEST(a_batch_goes_on_behind_a_destroy)
{
	struct story s;

	begin_story(&s);
	poll_by_iterator(&s, 0, EVENT_START, 0, 0);
	destroy_qp(&s, 0);
	poll_by_iterator(&s, 0, EVENT_NEXT, 1, 0);
	assert_int_equal(count_of(&s, RULE_LIFE_007), 1);
}

/* The batch may have ended before: the trace contains a new start. */
TEST(another_batch_begins_behind_a_destroy)
{
	struct story s;

	begin_story(&s);
	poll_by_iterator(&s, 0, EVENT_START, 0, 0);
	poll_by_iterator(&s, 0, EVENT_NEXT, 1, 0);
	destroy_qp(&s, 0);
	poll_by_iterator(&s, 0, EVENT_START, 2, 0);
	poll_by_iterator(&s, 0, EVENT_NEXT, 3, 0);
	assert_int_equal(count_of(&s, RULE_LIFE_007), 0);
}

TEST(a_failed_destroy_does_no_harm)
{
	struct story s;

	begin_story(&s);
	poll_by_iterator(&s, 0, EVENT_START, 0, 0);
	destroy_qp(&s, EBUSY);
	poll_by_iterator(&s, 0, EVENT_NEXT, 1, 0);
	assert_int_equal(count_of(&s, RULE_LIFE_007), 0);
}

/* The other thread waits for the lock of the CQ, and the batch ends meanwhile. */
TEST(another_thread_destroys)
{
	struct story s;

	begin_story(&s);
	assert_int_equal(story_thread(&s, STORY_PID, 0, 0), 1);
	poll_by_iterator(&s, 1, EVENT_START, 0, 0);
	destroy_qp(&s, 0);
	poll_by_iterator(&s, 1, EVENT_NEXT, 1, 0);
	assert_int_equal(count_of(&s, RULE_LIFE_007), 0);
}

TEST(nothing_was_begun)
{
	struct story s;

	begin_story(&s);
	poll_by_iterator(&s, 0, EVENT_NEXT, 0, 0);
	poll_by_iterator(&s, 0, EVENT_NEXT, 1, 0);
	assert_int_equal(count_of(&s, RULE_COMPL_005), 1);
}

TEST(a_start_that_found_nothing_begins_nothing)
{
	struct story s;

	begin_story(&s);
	poll_by_iterator(&s, 0, EVENT_START, 0, 3);
	poll_by_iterator(&s, 0, EVENT_NEXT, 1, 5);
	assert_int_equal(count_of(&s, RULE_COMPL_005), 1);
}

TEST(empty_starts_before_a_batch_are_usual)
{
	struct story s;

	begin_story(&s);
	poll_by_iterator(&s, 0, EVENT_START, 0, 3);
	poll_by_iterator(&s, 0, EVENT_NEXT, 1, 3);
	poll_by_iterator(&s, 0, EVENT_START, 2, 9);
	poll_by_iterator(&s, 0, EVENT_NEXT, 3, 9);
	assert_int_equal(count_of(&s, RULE_COMPL_005), 0);
}

/* A completion of a CQ with @fields is polled, and its process is killed by @signal. */
static bool crash_reading(uint64_t fields, int signal)
{
	struct ibv_cq_init_attr_ex attr = { .cqe = 16, .wc_flags = fields };
	const struct fact_list *facts;
	struct story s;
	bool told = false;

	story_begin_how(&s, false);
	open_context(&s);
	alloc_pd(&s);
	story_do(&s, 0, VERB_create_cq_ex, 32, W(&a_cq), W(&a_context), W(&attr));
	create_qp(&s);
	story_post(&s, 0, VERB_post_send, &a_qp, 0, IBV_WR_SEND, (struct event_sge){ 0 });
	poll_by_iterator(&s, 0, EVENT_START, 0, 0);
	story_exit(&s, STORY_PID, signal);
	story_check(&s, NULL);
	facts = &s.findings->facts->list;
	for (size_t i = 0; i < facts->n; i++)
		told |= facts->all[i].because &&
			strstr(facts->all[i].because, "ibv_create_cq_ex(), 0x2, do not include: "
						      "ibv_wc_read_*() is NULL for "
						      "IBV_WC_EX_WITH_BYTE_LEN, ");
	story_end(&s);
	return told;
}

TEST(a_field_that_was_not_asked_for_may_have_crashed)
{
	assert_true(crash_reading(IBV_WC_EX_WITH_IMM, 11));
	assert_false(crash_reading(IBV_WC_EX_WITH_IMM, 9));
	assert_false(crash_reading(0xfff, 11));
}
