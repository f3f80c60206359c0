/* The rules of analyzer/rules/fork.c over stored traces. */
#include "tests/analyzer/story.h"
#include "tests/test.h"

enum { CHILD = STORY_PID + 50 };

static struct ibv_context child_context;
static struct ibv_mr child_mr = { .context = &a_context, .pd = &a_pd, .length = 64, .lkey = 0x40 };

/* Returns the child's thread. */
static int story_forks(struct story *s)
{
	story_begin(s);
	open_context(s);
	alloc_pd(s);         /* 1:4 */
	story_fork(s, 0, 1); /* 1:6 */
	return story_thread(s, CHILD, STORY_PID, 1);
}

TEST(a_child_uses_its_parents_pd)
{
	const struct finding *f;
	struct story s;
	int child;

	child = story_forks(&s);
	story_do(&s, child, VERB_reg_mr, 5, W(&child_mr), W(&a_pd), W(0), W(64), W(1));
	story_check(&s, NULL);
	f = story_only(&s, RULE_FORK_003);
	assert_string_equal(f->where, "ibv_reg_mr(): pd");
	assert_string_equal(
		f->says,
		"process 2 (pid 150), forked from process 1 at 1:6, called ibv_reg_mr() on "
		"pd1, which process 1 had made; the call succeeded.");
	assert_int_equal(f->process, 2);
	assert_int_equal(f->nsteps, 3);
	assert_int_equal(f->steps[0].moment.id.n, 4);
	assert_string_equal(f->steps[1].what, "forked");
	assert_int_equal(f->steps[1].moment.id.n, 6);
	story_end(&s);
}

TEST(a_child_destroys_and_closes)
{
	struct story s;
	int child;

	child = story_forks(&s);
	story_do(&s, child, VERB_dealloc_pd, 8, 0, W(&a_pd));
	story_do(&s, child, VERB_close_device, 10, 0, W(&a_context));
	/* what the child did to its copies is nothing to the parent's */
	dealloc_pd(&s, 0);
	close_context(&s);
	story_exit(&s, STORY_PID, 0);
	story_check(&s, NULL);
	assert_int_equal(s.findings->rules[RULE_FORK_003], 2);
	assert_int_equal(story_found(&s), 2);
	story_end(&s);
}

TEST(a_childs_own_objects_are_its_own)
{
	struct story s;
	int child;

	child = story_forks(&s);
	story_do(&s, child, VERB_open_device, 1, W(&a_context), W(0x1000)); /* the same address */
	story_do(&s, child, VERB_alloc_pd, 2, W(&a_pd), W(&a_context));
	story_do(&s, child, VERB_dealloc_pd, 8, 0, W(&a_pd));
	story_do(&s, child, VERB_close_device, 10, 0, W(&a_context));
	story_exit(&s, CHILD, 0);
	story_finds_nothing(&s);
}

TEST(what_the_parent_made_later_is_not_inherited)
{
	struct story s;
	int child;

	child = story_forks(&s);
	create_cq(&s);
	story_do(&s, child, VERB_create_cq, 3, W(&a_cq), W(0x55), W(16), W(0), W(0), W(0));
	story_do(&s, child, VERB_destroy_cq, 7, 0, W(&a_cq));
	story_exit(&s, CHILD, 0);
	story_finds_nothing(&s);
}

TEST(an_inherited_object_is_no_leak_of_the_child)
{
	struct story s;
	int child;

	child = story_forks(&s);
	story_do(&s, child, VERB_open_device, 1, W(&child_context), W(0x1000));
	story_do(&s, child, VERB_close_device, 10, 0, W(&child_context));
	story_exit(&s, CHILD, 0);
	story_finds_nothing(&s);
}

/* By a bare system call: the parent's recorder has not seen it. */
TEST(a_child_uses_what_its_parent_has_destroyed_since)
{
	struct story s;
	int child;

	story_begin(&s);
	open_context(&s);
	alloc_pd(&s);
	s.forked_at = s.now;
	dealloc_pd(&s, 0);
	close_context(&s);
	child = story_thread(&s, CHILD, STORY_PID, 1);
	story_do(&s, child, VERB_reg_mr, 5, W(&child_mr), W(&a_pd), W(0), W(64), W(1));
	story_check(&s, NULL);
	story_only(&s, RULE_FORK_003);
	story_end(&s);
}

TEST(a_child_may_reuse_what_was_destroyed_before_it_was_forked)
{
	struct story s;
	int child;

	story_begin(&s);
	open_context(&s);
	alloc_pd(&s);
	dealloc_pd(&s, 0);
	close_context(&s);
	child = story_thread(&s, CHILD, STORY_PID, 1);
	story_do(&s, child, VERB_alloc_pd, 2, W(&a_pd), W(&child_context));
	story_do(&s, child, VERB_dealloc_pd, 8, 0, W(&a_pd));
	story_finds_nothing(&s);
}
