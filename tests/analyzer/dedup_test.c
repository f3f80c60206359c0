/* analyzer/rules/dedup.c over stored traces. */
#include "tests/analyzer/story.h"
#include "tests/test.h"

/* A process that leaves a PD which it made at @stack. */
static int leak_pd(struct story *s, int thread, uint64_t stack)
{
	story_do(s, thread, VERB_open_device, 1, W(&a_context), W(0x1000));
	story_do(s, thread, VERB_alloc_pd, stack, W(&a_pd), W(&a_context));
	story_do(s, thread, VERB_close_device, 3, 0, W(&a_context));
	return thread;
}

TEST(ranks_with_one_mistake_are_one_finding)
{
	const struct finding *f;
	struct story s;

	story_begin(&s);
	leak_pd(&s, 0, 2);
	for (int rank = 1; rank < 4; rank++)
		leak_pd(&s, story_thread(&s, STORY_PID + rank, 0, 0), 2);
	story_check(&s, NULL);
	f = story_only(&s, RULE_LIFE_004);
	assert_int_equal(f->process, 1);
	assert_int_equal(f->nalso, 3);
	assert_int_equal(f->also[0], 2);
	assert_int_equal(f->also[2], 4);
	assert_int_equal(s.findings->rules[RULE_LIFE_004], 4);
	story_end(&s);
}

TEST(another_place_is_another_finding)
{
	struct story s;

	story_begin(&s);
	leak_pd(&s, 0, 2);
	leak_pd(&s, story_thread(&s, STORY_PID + 1, 0, 0), 7);
	story_check(&s, NULL);
	assert_int_equal(s.findings->n, 2);
	assert_int_equal(s.findings->all[0]->nalso, 0);
	assert_int_equal(s.findings->all[1]->nalso, 0);
	story_end(&s);
}

/*
 * Two objects at one place of one process: both are reported, those of the other process are not.
 */
TEST(findings_of_one_process_stay_apart)
{
	struct story s;
	int other;

	story_begin(&s);
	other = story_thread(&s, STORY_PID + 1, 0, 0);
	for (int thread = 0; thread <= other; thread += other) {
		for (int i = 0; i < 2; i++) {
			story_do(&s, thread, VERB_alloc_pd, 2, W(&a_pd), W(&a_context));
			story_do(&s, thread, VERB_dealloc_pd, 3, 0, W(&a_pd));
			story_do(&s, thread, VERB_dealloc_pd, 4, 0, W(&a_pd));
		}
	}
	story_check(&s, NULL);
	assert_int_equal(s.findings->n, 2);
	assert_int_equal(s.findings->rules[RULE_LIFE_002], 4);
	assert_int_equal(s.findings->all[0]->nalso, 1);
	assert_int_equal(s.findings->all[1]->nalso, 0);
	story_end(&s);
}
