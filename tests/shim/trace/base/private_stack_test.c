/*
 * Stacks of the recorder's own
 */
#include <execinfo.h>
#include <stdbool.h>
#include <stdlib.h>

#include "shim/trace/base/private_stack.h"
#include "tests/test.h"

enum { NEAR = 16 << 10, LEVELS = 300 /* more than the number of stacks */ };

static bool is_near(const void *a, const void *b)
{
	intptr_t apart = (intptr_t)a - (intptr_t)b;

	return apart < NEAR && apart > -NEAR;
}

static void see_where(void *arg)
{
	const void **where = arg;

	*where = __builtin_frame_address(0);
}

TEST(it_is_another_stack)
{
	const void *where = NULL;

	private_stack_call(see_where, &where);
	assert_non_null(where);
#ifdef __x86_64__
	assert_false(is_near(where, __builtin_frame_address(0)));
#endif
}

struct level {
	unsigned int left, apart;
	const void *outer;
};

static void go_down(void *arg)
{
	struct level *level = arg;
	const void *here = __builtin_frame_address(0);

	level->apart += !is_near(here, level->outer);
	level->outer = here;
	if (level->left--)
		private_stack_call(go_down, level);
}

/* Each on a stack of its own; when there is none left, where the caller is. */
TEST(it_nests_as_deep_as_one_likes)
{
	struct level level = { .left = LEVELS, .outer = __builtin_frame_address(0) };

	for (int round = 0; round < 3; round++) {
		level.left = LEVELS;
		level.apart = 0;
		private_stack_call(go_down, &level);
#ifdef __x86_64__
		assert_true(level.apart >= 64 && level.apart < LEVELS);
#endif
	}
}

struct walk {
	void *frames[32];
	int n;
};

static void take_backtrace(void *arg)
{
	struct walk *walk = arg;

	walk->n = backtrace(walk->frames, 32);
}

TEST(the_caller_is_found_from_there)
{
	void *caller = __builtin_return_address(0);
	struct walk walk;
	bool found = false;

	private_stack_call(take_backtrace, &walk);
	for (int i = 0; i < walk.n; i++)
		found |= walk.frames[i] == caller;
	assert_true(found);
}
