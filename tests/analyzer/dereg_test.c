/* analyzer/rules/dereg.c: regions that ibv_rereg_mr() changes under outstanding requests. */
#include "tests/analyzer/ends.h"
#include "tests/test.h"

enum { MOVED = 0x9000 };

/* Process 2 has a receive outstanding in its region. */
static void begin_receive(struct story *s)
{
	const struct event_sge sge = { AT + 64, 64, 0x20 };

	begin_story(s);
	story_post(s, 1, VERB_post_recv, &ends[1].qp, 7, 0, sge);
}

/* Change the region; afterwards its key is @lkey. */
static void change_region(struct story *s, int thread, int flags, uint64_t addr, uint64_t length,
			  uint32_t lkey)
{
	ends[thread].mr.lkey = lkey;
	story_do(s, thread, VERB_rereg_mr, 6, 0, W(&ends[thread].mr), W(flags), W(&ends[thread].pd),
		 W(addr), W(length), W(FAR));
}

static void ends_with_hazard(struct story *s, const char *says)
{
	const struct finding *found = NULL;

	story_check(s, NULL);
	assert_int_equal(s->findings->rules[RULE_MKEY_005], 0);
	for (size_t i = 0; i < s->findings->n; i++)
		if (s->findings->all[i]->rule == RULE_MKEY_005)
			found = s->findings->all[i];
	if (!says) {
		assert_null(found);
	} else {
		assert_non_null(found);
		assert_true(found->site->hazard);
		if (!strstr(found->says, says))
			fail_msg("no '%s' in: %s", says, found->says);
	}
	story_end(s);
}

TEST(a_region_moves_under_a_receive)
{
	struct story s;

	begin_receive(&s);
	change_region(&s, 1, IBV_REREG_MR_CHANGE_TRANSLATION, MOVED, LENGTH, 0x20);
	ends_with_hazard(&s, "was changed by ibv_rereg_mr() while 1 request that uses it was "
			     "outstanding");
}

TEST(a_region_grows_under_a_receive)
{
	struct story s;

	begin_receive(&s);
	change_region(&s, 1, IBV_REREG_MR_CHANGE_TRANSLATION, AT, 2 * LENGTH, 0x20);
	ends_with_hazard(&s, "was changed by ibv_rereg_mr() while 1 request that uses it was "
			     "outstanding");
}

TEST(a_region_grows_and_gets_another_key)
{
	struct story s;

	begin_receive(&s);
	change_region(&s, 1, IBV_REREG_MR_CHANGE_TRANSLATION, AT, 2 * LENGTH, 0x30);
	ends_with_hazard(&s, "(lkey 0x20)");
}

TEST(a_region_gets_another_protection_domain)
{
	struct story s;

	begin_receive(&s);
	change_region(&s, 1, IBV_REREG_MR_CHANGE_PD, 0, 0, 0x20);
	ends_with_hazard(&s, "was changed by ibv_rereg_mr()");
}

TEST(a_region_gets_other_access)
{
	struct story s;

	begin_receive(&s);
	change_region(&s, 1, IBV_REREG_MR_CHANGE_ACCESS, 0, 0, 0x20);
	ends_with_hazard(&s, "was changed by ibv_rereg_mr() while 1 request that uses it was "
			     "outstanding on qp1: wr[0].sg_list[0] of a receive at 2:");
	begin_story(&s); /* nothing is outstanding */
	change_region(&s, 1, IBV_REREG_MR_CHANGE_ACCESS, 0, 0, 0x20);
	ends_with_hazard(&s, NULL);
}

TEST(a_region_moves_that_no_request_names)
{
	struct story s;

	begin_story(&s);
	change_region(&s, 1, IBV_REREG_MR_CHANGE_TRANSLATION, MOVED, LENGTH, 0x20);
	ends_with_hazard(&s, NULL);
}

/* The peer gave its region another rkey; the request names the one before. */
TEST(a_region_has_another_rkey)
{
	struct story s;

	begin_story(&s);
	ends[1].mr.rkey = 0x51;
	change_region(&s, 1, IBV_REREG_MR_CHANGE_TRANSLATION, MOVED, LENGTH, 0x20);
	ends[1].mr.rkey = 0x21;
	post_rdma(&s, IBV_WR_RDMA_WRITE, AT, 8, 0x21);
	poll_as(&s, IBV_WC_REM_ACCESS_ERR);
	story_tells(&s, RULE_MKEY_004,
		    ", but was the rkey of mr1 of pd1 until ibv_rereg_mr() at 2:");
}

TEST(a_region_does_not_move)
{
	struct story_call call;
	struct story s;

	begin_receive(&s);
	call = story_call(&s, 1, VERB_rereg_mr, 6, W(&ends[1].mr),
			  W(IBV_REREG_MR_CHANGE_TRANSLATION), 0, W(MOVED), W(LENGTH), 0);
	story_fails(&s, &call, (uint64_t)-1, EINVAL);
	ends_with_hazard(&s, NULL);
}

TEST(a_region_moves_under_a_signalled_send)
{
	struct story s;

	begin_story(&s);
	post_rdma(&s, IBV_WR_RDMA_WRITE, AT, 8, 0x21);
	change_region(&s, 0, IBV_REREG_MR_CHANGE_TRANSLATION, MOVED, LENGTH, 0x10);
	story_check(&s, NULL);
	assert_int_equal(s.findings->rules[RULE_MKEY_005], 1);
	story_end(&s);
}

TEST(a_receive_fails_since_its_region_went)
{
	const struct finding *found = NULL;
	struct story s;

	begin_receive(&s);
	story_do(&s, 1, VERB_dereg_mr, 6, 0, W(&ends[1].mr));
	story_poll(&s, 1, &ends[1].cq, 7, IBV_WC_LOC_PROT_ERR, ends[1].qp.qp_num);
	story_check(&s, NULL);
	assert_int_equal(s.findings->rules[RULE_MKEY_005], 1);
	for (size_t i = 0; i < s.findings->n; i++)
		if (s.findings->all[i]->rule == RULE_MKEY_005)
			found = s.findings->all[i];
	assert_string_equal(found->where, "ibv_post_recv(): wr[0].sg_list[0].lkey");
	assert_string_equal(
		found->says,
		"wr[0].sg_list[0] of the receive at 2:20 uses lkey 0x20, which was mr1 of pd1 "
		"until ibv_dereg_mr() at 2:21; the receive was outstanding then, and completed "
		"with IBV_WC_LOC_PROT_ERR 2000 ns later.");
	story_end(&s);
}
