/* replay/report/outcome_cause.c: which divergence explains a difference */
#include "replay/report/outcome_cause.h"

#include "tests/test.h"

enum { QP = 1, PEER, CQ, FAR, OTHER, CAUSE = 7 };

static struct outcome_causes causes;

static int forget_causes(void **state)
{
	(void)state;
	outcome_cause_fini(&causes);
	return 0;
}

FIXTURE(NULL, forget_causes);

TEST(nothing_explains_the_first)
{
	assert_int_equal(outcome_cause_of(&causes, QP, PEER), OUTCOME_NO_CAUSE);
	assert_int_equal(outcome_cause_of(&causes, 0, 0), OUTCOME_NO_CAUSE);
	assert_int_equal(outcome_cause_last(&causes, QP), OUTCOME_NO_CAUSE);
	assert_int_equal(outcome_cause_last(&causes, 0), OUTCOME_NO_CAUSE);
}

TEST(a_broken_object_explains_what_follows)
{
	outcome_cause_note(&causes, QP, CAUSE, true);
	assert_int_equal(outcome_cause_of(&causes, QP, 0), CAUSE);
	assert_int_equal(outcome_cause_of(&causes, PEER, 0), OUTCOME_NO_CAUSE);
	assert_int_equal(outcome_cause_last(&causes, QP), OUTCOME_NO_CAUSE);
	outcome_cause_note_repair(&causes, QP);
	assert_int_equal(outcome_cause_of(&causes, QP, 0), OUTCOME_NO_CAUSE);
}

TEST(a_broken_peer_explains_it_too)
{
	outcome_cause_note(&causes, PEER, CAUSE, true);
	assert_int_equal(outcome_cause_of(&causes, QP, PEER), CAUSE);
	outcome_cause_note(&causes, QP, CAUSE + 1, true);
	assert_int_equal(outcome_cause_of(&causes, QP, PEER), CAUSE + 1);
}

/* OTHER --> FAR --> PEER --> QP */
TEST(two_steps_explain_and_no_third)
{
	outcome_cause_add_edge(&causes, PEER, QP);
	outcome_cause_add_edge(&causes, FAR, PEER);
	outcome_cause_add_edge(&causes, OTHER, FAR);
	outcome_cause_note(&causes, OTHER, CAUSE, true);
	assert_int_equal(outcome_cause_of(&causes, QP, 0), OUTCOME_NO_CAUSE);
	assert_int_equal(outcome_cause_of(&causes, PEER, 0), CAUSE);
	assert_int_equal(outcome_cause_of(&causes, QP, FAR),
			 OUTCOME_NO_CAUSE); /* no step from it */
	outcome_cause_note(&causes, FAR, CAUSE + 1, true);
	assert_int_equal(outcome_cause_of(&causes, QP, 0), CAUSE + 1);
	assert_int_equal(outcome_cause_of(&causes, FAR, 0), CAUSE + 1);
}

TEST(each_of_several_may_explain)
{
	for (uint32_t from = 10; from < 20; from++)
		outcome_cause_add_edge(&causes, from, CQ);
	assert_int_equal(causes.nedges, 10);
	outcome_cause_add_edge(&causes, 19, CQ); /* known */
	outcome_cause_add_edge(&causes, CQ, CQ);
	outcome_cause_add_edge(&causes, 0, CQ);
	outcome_cause_add_edge(&causes, CQ, 0);
	assert_int_equal(causes.nedges, 10);
	for (uint32_t from = 10; from < 20; from++) {
		outcome_cause_note(&causes, from, from + 100, true);
		assert_int_equal(outcome_cause_of(&causes, CQ, 0), from + 100);
		outcome_cause_note_repair(&causes, from);
	}
}

TEST(a_completion_explains_the_next_until_one_agrees)
{
	outcome_cause_note(&causes, QP, CAUSE, false);
	outcome_cause_note(&causes, 0, CAUSE, false);
	assert_int_equal(outcome_cause_last(&causes, QP), CAUSE);
	assert_int_equal(outcome_cause_last(&causes, 0), OUTCOME_NO_CAUSE);
	assert_int_equal(outcome_cause_of(&causes, QP, 0), OUTCOME_NO_CAUSE);
	outcome_cause_note_agreement(&causes, QP);
	assert_int_equal(outcome_cause_last(&causes, QP), OUTCOME_NO_CAUSE);
	outcome_cause_note(&causes, QP, CAUSE, false);
	outcome_cause_note_repair(&causes, QP);
	assert_int_equal(outcome_cause_last(&causes, QP), OUTCOME_NO_CAUSE);
}
