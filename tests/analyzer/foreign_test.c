/* analyzer/model/foreign.c and LIFE-010 over stored traces. */
#include "tests/analyzer/story.h"
#include "tests/test.h"

static struct ibv_context another_context = { .num_comp_vectors = 1 };

/* A queue pair of a_pd with its receives in @cq. */
static void create_qp_with(struct story *s, void *cq)
{
	struct ibv_qp_init_attr attr = { .send_cq = &a_cq, .recv_cq = cq, .qp_type = IBV_QPT_RC };

	story_do(s, 0, VERB_create_qp, 4, 0, W(&a_pd), W(&attr));
}

TEST(a_cq_of_another_context_is_found)
{
	struct ibv_cq other = { .context = &another_context };
	const struct finding *f;
	struct story s;

	story_with_cq(&s);
	story_do(&s, 0, VERB_open_device, 1, W(&another_context), W(0x1000));
	story_do(&s, 0, VERB_create_cq, 3, W(&other), W(&another_context), W(16), W(0), W(0), W(0));
	create_qp_with(&s, &other);
	story_check(&s, NULL);
	f = story_only(&s, RULE_LIFE_010);
	assert_string_equal(f->where, "ibv_create_qp(): qp_init_attr.recv_cq");
	assert_non_null(strstr(f->says, "with pd1 of context1 was given cq2 of context2"));
	story_end(&s);
}

TEST(what_is_no_cq_is_found)
{
	struct story s;

	story_with_cq(&s);
	create_qp_with(&s, &a_pd);
	story_tells(&s, RULE_LIFE_010,
		    "was given pd1 as qp_init_attr.recv_cq, but a cq is expected");
}

TEST(a_pointer_to_nothing_known_is_found)
{
	struct story s;

	story_with_cq(&s);
	create_qp_with(&s, (void *)0x7000);
	story_tells(&s, RULE_LIFE_010,
		    "was given 0x7000 as qp_init_attr.recv_cq, but a cq is expected");
}

/* The CQs of the context may be older than the trace, too. */
TEST(objects_of_an_older_context_are_not_judged)
{
	struct story s;

	story_begin(&s);
	alloc_pd(&s);
	create_qp_with(&s, (void *)0x7000);
	story_finds_nothing(&s);
}
