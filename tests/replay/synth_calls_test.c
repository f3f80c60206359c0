/*
 * replay/synth/synth_calls.c: what control verbs show of ends that are not in the trace
 */
#include <errno.h>
#include <stdlib.h>

#include "replay/synth/synth_priv.h"
#include "tests/replay/objects.h"
#include "tests/test.h"

enum { QP = 1, OTHER_QP, SRQ, CQ, MR, AH, NOBJECTS };

static struct replay replay;
static struct replica replicas[NOBJECTS];
static struct call call;
static struct trace_event event;
static struct args *in, *out;

static int begin_calls(void **state)
{
	static const enum object_kind kinds[] = { OBJECT_qp, OBJECT_qp, OBJECT_srq,
						  OBJECT_cq, OBJECT_mr, OBJECT_ah };

	(void)state;
	nobjects = 0;
	for (uint32_t i = QP; i < NOBJECTS; i++)
		add_object(kinds[i - 1], i == OTHER_QP ? 4 : 3, 100 + i);
	replay = (struct replay){ .replicas = replicas, .nreplicas = NOBJECTS };
	return synth_init(&replay);
}

static int end_calls(void **state)
{
	(void)state;
	synth_fini(&replay);
	args_unref(in);
	args_unref(out);
	in = out = NULL;
	return 0;
}

FIXTURE(begin_calls, end_calls);

static int learn_again(void)
{
	return synth_learn_call(&replay, &event, in, out);
}

static void learn_call(enum verb verb, uint32_t object, const char *before, const char *after)
{
	args_unref(in);
	args_unref(out);
	in = args_new(before, strlen(before));
	out = args_new(after, strlen(after));
	call = (struct call){ .verb = verb, .object = object, .begin = 50, .end = 60 };
	event = (struct trace_event){ .kind = TRACE_CALL, .process = 3, .call = &call };
	assert_int_equal(learn_again(), 0);
}

static const struct synth_plan *plan_of(uint32_t object)
{
	return replay.far->plans[object];
}

static const char created[] = "{\"qp_init_attr\":{\"qp_type\":\"IBV_QPT_UC\",\"srq\":103,"
			      "\"cap\":{\"max_send_wr\":5}}}";
static const char made[] = "{\"qp_init_attr\":{\"cap\":{\"max_send_wr\":8}}}";

TEST(a_queue_pair_has_a_plan)
{
	(void)state;
	learn_call(VERB_create_qp, QP, created, made);
	assert_int_equal(plan_of(QP)->object, QP);
	assert_int_equal(plan_of(QP)->process, 3);
	assert_int_equal(plan_of(QP)->type, IBV_QPT_UC);
	assert_int_equal(plan_of(QP)->depth, 8); /* what it got */
	assert_int_equal(plan_of(QP)->srq, SRQ);
	assert_false(plan_of(QP)->needed);
	learn_call(VERB_create_qp, QP, "{}", "{}"); /* again, by a damaged trace */
	assert_int_equal(plan_of(QP)->type, IBV_QPT_UC);
	learn_call(VERB_create_qp_ex, OTHER_QP,
		   "{\"qp_init_attr_ex\":{\"qp_type\":\"IBV_QPT_XRC_SEND\"}}",
		   "{\"qp_init_attr_ex\":{\"cap\":{\"max_send_wr\":9}}}");
	assert_int_equal(plan_of(OTHER_QP)->type, IBV_QPT_XRC_SEND);
	assert_int_equal(plan_of(OTHER_QP)->depth, 9);
	assert_int_equal(plan_of(OTHER_QP)->srq, 0);
	assert_int_equal(plan_of(OTHER_QP)->process, 4);
}

TEST(a_queue_pair_outside_the_table_has_none)
{
	(void)state;
	learn_call(VERB_create_qp, 0, created, made);
	learn_call(VERB_create_qp, NOBJECTS, created, made);
	learn_call(VERB_modify_qp, NOBJECTS, "{\"attr\":{\"qkey\":7}}", "{}");
	learn_call(VERB_modify_qp, QP, "{\"attr\":{\"qkey\":7}}", "{}");
	for (uint32_t i = 0; i < NOBJECTS; i++)
		assert_null(plan_of(i));
}

/* Nothing is learned from these calls. */
TEST(calls_that_did_nothing_of_the_program_are_ignored)
{
	(void)state;
	learn_call(VERB_create_cq, CQ, "{}", "{}");
	call.verb = VERB_create_qp;
	call.object = QP;
	call.failed = true;
	assert_int_equal(learn_again(), 0);
	call.failed = false;
	call.depth = 1;
	assert_int_equal(learn_again(), 0);
	call.depth = 0;
	call.ours = true;
	assert_int_equal(learn_again(), 0);
	call.ours = false;
	call.end = -1;
	assert_int_equal(learn_again(), 0);
	call.end = 60;
	event.inner = true;
	assert_int_equal(learn_again(), 0);
	assert_null(plan_of(QP));
	event.inner = false;
	call.end = 0; /* at the start */
	assert_int_equal(learn_again(), 0);
	assert_non_null(plan_of(QP));
}

TEST(each_connection_is_a_link)
{
	const struct synth_plan *plan;

	(void)state;
	learn_call(VERB_create_qp, QP, created, made);
	plan = plan_of(QP);
	learn_call(VERB_modify_qp, QP, "{\"attr\":{\"qkey\":7,\"qp_access_flags\":3,\"sq_psn\":1}}",
		   "{}");
	assert_int_equal(plan->qkey, 7);
	assert_int_equal(plan->access, 3);
	assert_int_equal(plan->nlinks, 0);
	learn_call(VERB_modify_qp, QP,
		   "{\"attr\":{\"dest_qp_num\":21,\"ah_attr\":{\"dlid\":6},\"sq_psn\":2}}", "{}");
	learn_call(VERB_modify_qp, QP, "{\"attr\":{\"sq_psn\":3}}", "{}");
	learn_call(VERB_modify_qp, QP, "{\"attr\":{\"dest_qp_num\":22,\"ah_attr\":{\"dlid\":8}}}",
		   "{}");
	learn_call(VERB_modify_qp, QP, "{\"attr\":{\"sq_psn\":4}}", "{}");
	assert_int_equal(plan->nlinks, 2);
	assert_int_equal(plan->links[0].number, 21);
	assert_int_equal(plan->links[0].av.dlid, 6);
	assert_int_equal(plan->links[0].sq_psn, 3);
	assert_int_equal(plan->links[0].time, 50);
	assert_int_equal(plan->links[1].number, 22);
	assert_int_equal(plan->links[1].av.dlid, 8);
	assert_int_equal(plan->links[1].sq_psn, 4);
	assert_int_equal(plan->qkey, 7);
	assert_int_equal(plan->access, 3);
}

static uint64_t value_of(const struct map *map, uint64_t key)
{
	uint64_t value;

	return map_get(map, key, &value) ? value : 0;
}

TEST(an_address_handle_has_its_address)
{
	uint64_t at;

	(void)state;
	learn_call(VERB_create_ah, OTHER_QP, "{\"attr\":{\"dlid\":4}}", "{}");
	learn_call(VERB_create_ah, AH, "{\"attr\":{\"dlid\":5}}", "{}");
	at = value_of(&replay.far->av_of, AH);
	assert_int_equal(at, 2);
	assert_int_equal(replay.far->avs[at - 1].dlid, 5);
}

TEST(a_region_has_its_access)
{
	(void)state;
	learn_call(VERB_reg_mr, MR, "{\"access\":3}", "{}");
	assert_int_equal(value_of(&replay.far->access, MR), 3);
	learn_call(VERB_reg_mr_iova, MR, "{\"access\":5}", "{}");
	assert_int_equal(value_of(&replay.far->access, MR), 5);
	learn_call(VERB_reg_mr_iova2, MR, "{\"access\":6}", "{}");
	assert_int_equal(value_of(&replay.far->access, MR), 6);
}

TEST(a_completion_queue_has_its_exclusive_receive_queue)
{
	(void)state;
	learn_call(VERB_create_srq_ex, SRQ, "{\"srq_init_attr_ex\":{\"cq\":104}}", "{}");
	assert_int_equal(value_of(&replay.far->exclusives, CQ), SRQ);
	objects[CQ].handle = 0;
	map_remove(&replay.far->exclusives, CQ);
	learn_call(VERB_create_srq_ex, SRQ, "{\"srq_init_attr_ex\":{\"cq\":0}}", "{}");
	learn_call(VERB_create_srq_ex, SRQ, "{\"srq_init_attr_ex\":{\"cq\":999}}", "{}");
	assert_int_equal(value_of(&replay.far->exclusives, CQ), 0);
}
