/* analyzer/rules/growth.c: equal objects that become more and more. */
#include "tests/analyzer/ends.h"
#include "tests/test.h"

enum { MOST = 80 };

struct growth {
	int before, during; /* registrations in front of the first send, and each before a send */
	int after;          /* sends that follow */
	int step;           /* bytes from one to the next: 0: the same memory */
	int held;           /* regions of a cache; 0: it has no end */
	bool ends, frees;   /* it is not killed; each is deregistered */
};

static void send_back(struct story *s)
{
	story_post(s, 1, VERB_post_send, &ends[1].qp, 1, IBV_WR_SEND,
		   (struct event_sge){ AT, 8, ends[1].mr.lkey });
	story_poll(s, 1, &ends[1].cq, 1, IBV_WC_SUCCESS, ends[1].qp.qp_num);
}

static void register_next(struct story *s, struct ibv_mr *mr, int i, const struct growth *growth)
{
	*mr = ends[1].mr;
	mr->addr = (char *)mr->addr + i * growth->step;
	mr->lkey = 0x100 + 2 * (uint32_t)i;
	mr->rkey = mr->lkey + 1;
	register_as(s, 1, mr, IBV_ACCESS_LOCAL_WRITE);
}

static uint64_t left_after(struct growth growth)
{
	static struct ibv_mr regions[3 * MOST];
	struct story s;
	uint64_t hazards;
	int n = 0;

	begin_story(&s);
	for (int i = 0; i < growth.before; i++)
		register_next(&s, &regions[n], n, &growth), n++;
	send_back(&s);
	for (int i = 0; i < growth.during; i++, n++) {
		register_next(&s, &regions[n], n, &growth);
		send_back(&s);
		if (growth.frees)
			story_do(&s, 1, VERB_dereg_mr, 9, 0, W(&regions[n]));
		if (growth.held && i >= growth.held)
			story_do(&s, 1, VERB_dereg_mr, 9, 0, W(&regions[n - growth.held]));
	}
	for (int i = 0; i < growth.after; i++)
		send_back(&s);
	story_exit(&s, PEER, growth.ends ? 0 : 9);
	story_check(&s, NULL);
	hazards = s.findings->hazards[RULE_LIFE_004];
	if (hazards)
		assert_non_null(
			strstr(story_only(&s, RULE_LIFE_004)->says,
			       growth.step ? "process 2 was left with 160 regions, created from "
					     "mr2 to mr161: about as many in each quarter of its "
					     "161 sends, and none of those created since the first "
					     "send were destroyed."
					   : "process 2 was left with 80 regions of the same "
					     "memory, created one after the other from mr2 to "
					     "mr81: "));
	story_end(&s);
	return hazards;
}

TEST(regions_of_the_same_memory_become_more)
{
	assert_int_equal(left_after((struct growth){ .during = MOST }), 1);
	assert_int_equal(left_after((struct growth){ .during = MOST, .step = 8 }), 0);
	assert_int_equal(left_after((struct growth){ .during = MOST, .frees = true }), 0);
	assert_int_equal(left_after((struct growth){ .during = 63 }), 0);
}

TEST(a_cache_of_regions_has_no_end)
{
	assert_int_equal(left_after((struct growth){ .during = 2 * MOST, .step = 8 }), 1);
	assert_int_equal(left_after((struct growth){ .during = 2 * MOST, .step = 8, .held = MOST }),
			 0);
	assert_int_equal(
		left_after((struct growth){ .during = 2 * MOST, .step = 8, .after = MOST }), 0);
	assert_int_equal(left_after((struct growth){ .during = 2 * MOST, .step = 8, .ends = true }),
			 0);
}

TEST(what_is_made_first_may_be_meant)
{
	assert_int_equal(left_after((struct growth){ .before = MOST, .during = 1 }), 0);
	assert_int_equal(left_after((struct growth){ .during = MOST, .after = 10 * MOST }), 0);
}

TEST(a_process_that_ends_itself_leaks_them)
{
	assert_int_equal(left_after((struct growth){ .during = MOST, .ends = true }), 0);
}

/* An address handle for each send, to @n destinations in turn. */
static uint64_t handles_left(int n)
{
	static struct ibv_ah handles[MOST];
	struct story s;
	uint64_t hazards;

	begin_story(&s);
	send_back(&s);
	for (int i = 0; i < MOST; i++) {
		struct ibv_ah_attr attr = { .dlid = (uint16_t)(1 + i % n), .port_num = 1 };

		handles[i] = (struct ibv_ah){ .context = &ends[1].context, .pd = &ends[1].pd };
		story_do(&s, 1, VERB_create_ah, 30, W(&handles[i]), W(&ends[1].pd), W(&attr));
		send_back(&s);
	}
	story_exit(&s, PEER, 9);
	story_check(&s, NULL);
	hazards = s.findings->hazards[RULE_LIFE_004];
	if (hazards)
		assert_non_null(strstr(story_only(&s, RULE_LIFE_004)->says,
				       "80 address handles to one destination, created one after "
				       "the other from ah1 to ah80: "));
	story_end(&s);
	return hazards;
}

TEST(address_handles_of_one_destination_become_more)
{
	assert_int_equal(handles_left(1), 1);
	assert_int_equal(handles_left(2), 0);
}
