/* analyzer/rules/misuse.c over stored traces: what `record --strict` has seen. */
#include <errno.h>

#include "tests/analyzer/story.h"
#include "tests/test.h"

enum { OTHER = 1 };

/* A queue pair, and a second thread. */
static void begin_story(struct story *s)
{
	story_with_qp(s);
	assert_int_equal(story_thread(s, STORY_PID, 0, 0), OTHER);
}

static uint64_t count_of(struct story *s, enum rule_id rule)
{
	uint64_t n;

	story_check(s, NULL);
	n = s->findings->rules[rule];
	story_end(s);
	return n;
}

static const struct finding *find_first(struct story *s, enum rule_id rule)
{
	story_check(s, NULL);
	for (size_t i = 0; i < s->findings->n; i++)
		if (s->findings->all[i]->rule == rule)
			return s->findings->all[i];
	fail_msg("no finding of %s", rules[rule].id);
	return NULL;
}

static struct event_misuse read_field(enum event_misuse_what what, enum event_cq_field field,
				      int status)
{
	return (struct event_misuse){ .object = W(&a_cq),
				      .what = (uint16_t)what,
				      .verb = VERB_COUNT,
				      .field = (uint16_t)field,
				      .status = (uint32_t)status };
}

static struct event_misuse call_verb(enum event_misuse_what what, enum verb verb,
				     const void *object)
{
	return (struct event_misuse){ .object = W(object),
				      .what = (uint16_t)what,
				      .verb = (uint16_t)verb };
}

/* By thread OTHER. */
static struct event_misuse call_crowded(const struct story *s, enum event_misuse_what what,
					enum verb verb, const void *object, enum verb other)
{
	struct event_misuse misuse = call_verb(what, verb, object);

	misuse.ring = s->threads[OTHER].head.index;
	misuse.tid = s->threads[OTHER].head.tid;
	misuse.other_verb = (uint16_t)other;
	return misuse;
}

static const struct field_row {
	const char *name;
	enum event_misuse_what what;
	enum event_cq_field field;
	int status;
	const char *says;
} fields[] = {
	{ "a_field_of_an_error_was_read", MISUSE_ERROR_FIELD, CQ_FIELD_opcode, IBV_WC_WR_FLUSH_ERR,
	  "ibv_wc_read_opcode() was called for a completion of cq1 with IBV_WC_WR_FLUSH_ERR; only "
	  "its wr_id, status, vendor_err and qp_num are valid." },
	{ "a_field_was_not_asked_for", MISUSE_UNASKED_FIELD, CQ_FIELD_byte_len, IBV_WC_SUCCESS,
	  "ibv_wc_read_byte_len() was called for a completion of cq1, which was created with "
	  "wc_flags that do not include this field." },
};

static void finds_invalid_field(void **state)
{
	const struct field_row *row = *state;
	struct event_misuse misuse = read_field(row->what, row->field, row->status);
	const struct finding *finding;
	struct story s;

	begin_story(&s);
	story_misuses(&s, 0, &misuse);
	finding = find_first(&s, RULE_COMPL_001);
	assert_string_equal(finding->says, row->says);
	assert_string_equal(finding->object, "cq1");
	story_end(&s);
}

TEST_ROWS(fields, finds_invalid_field);

static const struct iterator_row {
	const char *name;
	enum event_misuse_what what;
	enum verb verb;
	const char *where;
} iterators[] = {
	{ "a_batch_was_begun_twice", MISUSE_START_INSIDE, VERB_start_poll, "ibv_start_poll(): cq" },
	{ "next_poll_without_a_batch", MISUSE_NEXT_OUTSIDE, VERB_next_poll, "ibv_next_poll(): cq" },
	{ "end_poll_without_a_batch", MISUSE_END_OUTSIDE, VERB_end_poll, "ibv_end_poll(): cq" },
};

static void finds_iterator_misuse(void **state)
{
	const struct iterator_row *row = *state;
	struct event_misuse misuse = call_verb(row->what, row->verb, &a_cq);
	struct story s;

	begin_story(&s);
	story_misuses(&s, 0, &misuse);
	assert_string_equal(find_first(&s, RULE_COMPL_005)->where, row->where);
	story_end(&s);
}

TEST_ROWS(iterators, finds_iterator_misuse);

TEST(wr_id_was_set_behind_its_request)
{
	struct event_misuse misuse = call_verb(MISUSE_LATE_WR_ID, VERB_wr_complete, &a_qp);
	struct story s;

	begin_story(&s);
	story_misuses(&s, 0, &misuse);
	story_check(&s, NULL);
	assert_int_equal(s.findings->hazards[RULE_COMPL_006], 1);
	assert_non_null(strstr(story_only(&s, RULE_COMPL_006)->says,
			       "that request has the wr_id from before"));
	story_end(&s);
}

TEST(a_field_was_read_outside_a_batch)
{
	struct event_misuse misuse =
		read_field(MISUSE_READ_OUTSIDE, CQ_FIELD_qp_num, IBV_WC_SUCCESS);
	struct story s;

	begin_story(&s);
	story_misuses(&s, 0, &misuse);
	assert_int_equal(count_of(&s, RULE_COMPL_005), 1);
}

TEST(two_threads_are_in_an_object_of_a_thread_domain)
{
	struct event_misuse misuse;
	struct story s;

	begin_story(&s);
	misuse = call_crowded(&s, MISUSE_OVERLAP, VERB_post_send, &a_qp, 0);
	story_misuses(&s, 0, &misuse);
	assert_string_equal(
		find_first(&s, RULE_THREAD_001)->says,
		"Thread 1 called ibv_post_send() on qp1 while thread 2 was using it; qp1 was "
		"created with a thread domain, so it is not locked.");
	story_end(&s);
}

static void destroy_crowded(struct story *s, int result)
{
	struct event_misuse misuse =
		call_crowded(s, MISUSE_DESTROY_OVERLAP, VERB_destroy_qp, &a_qp, VERB_post_send);

	story_misuses(s, 0, &misuse);
	destroy_qp(s, (uint64_t)result);
}

TEST(a_call_was_under_way_when_the_destroy_began)
{
	struct story s;

	begin_story(&s);
	destroy_crowded(&s, 0);
	assert_string_equal(find_first(&s, RULE_THREAD_002)->says,
			    "When thread 1 called ibv_destroy_qp() on qp1 (number 0x21), thread 2 "
			    "was in ibv_post_send() on it.");
	story_end(&s);
}

TEST(a_destroy_that_failed_has_left_the_object)
{
	struct story s;

	begin_story(&s);
	destroy_crowded(&s, EBUSY);
	destroy_qp(&s, 0);
	assert_int_equal(count_of(&s, RULE_THREAD_002), 0);
}

static void destroy_inside(struct story *s, int result)
{
	struct event_misuse misuse = call_verb(MISUSE_DESTROY_INSIDE, VERB_destroy_qp, &a_qp);

	misuse.of = W(&a_cq);
	story_misuses(s, 0, &misuse);
	destroy_qp(s, (uint64_t)result);
}

TEST(a_queue_pair_is_destroyed_inside_a_batch)
{
	struct story s;

	begin_story(&s);
	destroy_inside(&s, 0);
	assert_string_equal(find_first(&s, RULE_LIFE_007)->says,
			    "qp1 was destroyed inside a batch of completions of cq1, its CQ: the "
			    "thread had begun it with ibv_start_poll(), and not ended it with "
			    "ibv_end_poll().");
	story_end(&s);
}

TEST(a_destroy_inside_a_batch_that_failed_is_none)
{
	struct story s;

	begin_story(&s);
	destroy_inside(&s, EBUSY);
	assert_int_equal(count_of(&s, RULE_LIFE_007), 0);
}

/* The recorder has seen more than the trace contains, after a loss. */
TEST(an_object_that_is_not_known_is_not_judged)
{
	struct event_misuse misuse = call_verb(MISUSE_END_OUTSIDE, VERB_end_poll, (void *)0x1230);
	struct story s;

	begin_story(&s);
	story_misuses(&s, 0, &misuse);
	assert_int_equal(count_of(&s, RULE_COMPL_005), 0);
}

TEST(without_strict_two_rules_are_not_checked)
{
	struct story s;

	story_begin_how(&s, false);
	story_check(&s, NULL);
	assert_true(s.findings->skip[RULE_COMPL_001]);
	assert_true(s.findings->skip[RULE_THREAD_001]);
	story_end(&s);
}

TEST(with_strict_they_are)
{
	struct story s;

	story_begin(&s);
	story_check(&s, NULL);
	assert_false(s.findings->skip[RULE_COMPL_001]);
	assert_false(s.findings->skip[RULE_THREAD_001]);
	story_end(&s);
}
