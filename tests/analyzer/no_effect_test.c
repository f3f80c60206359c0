/* analyzer/rules/no_effect.c: calls that change nothing */
#include <errno.h>

#include "tests/analyzer/story.h"
#include "tests/test.h"

static void modify_cq(struct story *s, uint32_t mask, int ret)
{
	struct ibv_modify_cq_attr attr = { .attr_mask = mask, .moderate = { 16, 100 } };

	story_begin(s);
	open_context(s);
	create_cq(s);
	story_do(s, 0, VERB_modify_cq, 14, (uint64_t)ret, W(&a_cq), W(&attr));
	destroy_cq(s, 0);
	close_context(s);
	story_exit(s, STORY_PID, 0);
}

TEST(a_mask_without_a_bit)
{
	struct story s;

	modify_cq(&s, 0, 0);
	story_warns(&s, RULE_STATE_001, "ibv_modify_cq() returned 0, but changed nothing");
}

TEST(a_mask_with_a_bit)
{
	struct story s;

	modify_cq(&s, IBV_CQ_ATTR_MODERATE, 0);
	story_finds_nothing(&s);
	modify_cq(&s, 0, EINVAL);
	story_finds_nothing(&s);
}
