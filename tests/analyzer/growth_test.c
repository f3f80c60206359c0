/* analyzer/rules/growth.c: equal objects that become more and more. */
#include <rdma/rdma_cma.h>

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

static uint64_t count_growth_hazards(struct growth growth)
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
	assert_int_equal(count_growth_hazards((struct growth){ .during = MOST }), 1);
	assert_int_equal(count_growth_hazards((struct growth){ .during = MOST, .step = 8 }), 0);
	assert_int_equal(count_growth_hazards((struct growth){ .during = MOST, .frees = true }), 0);
	assert_int_equal(count_growth_hazards((struct growth){ .during = 63 }), 0);
}

TEST(a_cache_of_regions_has_no_end)
{
	assert_int_equal(count_growth_hazards((struct growth){ .during = 2 * MOST, .step = 8 }), 1);
	assert_int_equal(count_growth_hazards(
				 (struct growth){ .during = 2 * MOST, .step = 8, .held = MOST }),
			 0);
	assert_int_equal(count_growth_hazards(
				 (struct growth){ .during = 2 * MOST, .step = 8, .after = MOST }),
			 0);
	assert_int_equal(count_growth_hazards(
				 (struct growth){ .during = 2 * MOST, .step = 8, .ends = true }),
			 0);
}

TEST(what_is_made_first_may_be_meant)
{
	assert_int_equal(count_growth_hazards((struct growth){ .before = MOST, .during = 1 }), 0);
	assert_int_equal(
		count_growth_hazards((struct growth){ .during = MOST, .after = 10 * MOST }), 0);
}

TEST(a_process_that_ends_itself_leaks_them)
{
	assert_int_equal(count_growth_hazards((struct growth){ .during = MOST, .ends = true }), 0);
}

/* An address handle for each send, to @n destinations in turn. */
static uint64_t count_handle_hazards(int n)
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
	assert_int_equal(count_handle_hazards(1), 1);
	assert_int_equal(count_handle_hazards(2), 0);
}

/* Objects of one kind, each before a send. */
static struct kind {
	const char *name;
	enum object_kind kind;
	int n;
	bool used; /* used, or still alive */
	const char *says;
} kinds[] = {
	{ "queue pairs in ERR", OBJECT_qp, 16, false,
	  "16 queue pairs in ERR, created one after the other from qp2 to qp17: none of them can "
	  "send or receive." },
	{ "few queue pairs", OBJECT_qp, 15, false, NULL },
	{ "queue pairs", OBJECT_qp, MOST, true, NULL },
	{ "contexts", OBJECT_context, MOST, false,
	  "80 contexts, created one after the other from context2 to context81: each could have "
	  "been used in place of the others." },
	{ "protection domains", OBJECT_pd, MOST, false,
	  "80 protection domains without objects, created one after the other from pd2 to pd81: "
	  "nothing was created from them." },
	{ "protection domains with CQs", OBJECT_pd, MOST, true, NULL },
	{ "as many domains as count", OBJECT_pd, 64, false,
	  "64 protection domains without objects, created one after the other from pd2 to pd65" },
	{ "one domain less", OBJECT_pd, 63, false, NULL },
	{ "CQs", OBJECT_cq, 64, false,
	  "64 CQs without queues, created one after the other from cq2 to cq65: nothing was "
	  "created from them." },
	{ "few CQs", OBJECT_cq, 63, false, NULL },
	{ "channels", OBJECT_comp_channel, 64, false,
	  "64 completion channels without CQs, created one after the other from comp_channel1 to "
	  "comp_channel64: nothing was created from them." },
	{ "few channels", OBJECT_comp_channel, 63, false, NULL },
	{ "channels with CQs", OBJECT_comp_channel, 64, true,
	  "64 CQs without queues, created one after the other from cq2 to cq65" },
	{ "ended connections", OBJECT_cm_id, 16, false,
	  "16 identifiers whose connections had ended, created one after the other from cm_id1 to "
	  "cm_id16: none of them can send or receive." },
	{ "connections", OBJECT_cm_id, MOST, true, NULL },
};

static void make_qp(struct story *s, struct ibv_qp *qp, int i, bool used)
{
	struct ibv_qp_init_attr attr = { .send_cq = &ends[1].cq,
					 .recv_cq = &ends[1].cq,
					 .qp_type = IBV_QPT_RC };
	struct ibv_qp_attr moved = { .qp_state = IBV_QPS_ERR };

	*qp = ends[1].qp;
	qp->qp_num = 0x100 + (uint32_t)i;
	story_do(s, 1, VERB_create_qp, 30, W(qp), W(&ends[1].pd), W(&attr));
	if (!used)
		story_do(s, 1, VERB_modify_qp, 31, 0, W(qp), W(&moved), W(IBV_QP_STATE));
}

static void make_id(struct story *s, struct rdma_cm_id *id, bool used)
{
	static struct rdma_event_channel channel = { .fd = 7 };
	struct rdma_cm_event event = { .id = id,
				       .event = used ? RDMA_CM_EVENT_ESTABLISHED
						     : RDMA_CM_EVENT_DISCONNECTED };
	struct rdma_cm_event *got = &event;

	story_do(s, 1, VERB_rdma_create_id, 32, 0, W(&channel), W(&id), W(0), W(RDMA_PS_TCP));
	story_do(s, 1, VERB_rdma_get_cm_event, 33, 0, W(&channel), W(&got));
}

static void make_pd(struct story *s, struct ibv_pd *pd, struct ibv_mr *mr, bool used)
{
	*pd = (struct ibv_pd){ .context = &ends[1].context };
	story_do(s, 1, VERB_alloc_pd, 34, W(pd), W(&ends[1].context));
	*mr = ends[1].mr;
	mr->pd = pd;
	mr->lkey = 0x1000 + 2 * (uint32_t)(pd->handle = (uint32_t)(uintptr_t)mr);
	if (used)
		register_as(s, 1, mr, IBV_ACCESS_LOCAL_WRITE);
}

/* A channel, and a CQ of it; or only one of them. */
static void make_cq(struct story *s, struct ibv_cq *cq, struct ibv_comp_channel *channel, bool used,
		    bool alone)
{
	*channel = (struct ibv_comp_channel){ .context = &ends[1].context, .fd = 9 };
	*cq = (struct ibv_cq){ .context = &ends[1].context,
			       .channel = alone ? NULL : channel,
			       .cqe = 16 };
	if (!alone)
		story_do(s, 1, VERB_create_comp_channel, 36, W(channel), W(&ends[1].context));
	if (used || alone)
		story_do(s, 1, VERB_create_cq, 37, W(cq), W(&ends[1].context), W(16), W(0),
			 W(cq->channel), W(0));
}

static void objects_become_more(void **state)
{
	static struct ibv_qp qps[MOST];
	static struct ibv_context contexts[MOST];
	static struct ibv_pd pds[MOST];
	static struct ibv_mr regions[MOST];
	static struct rdma_cm_id ids[MOST];
	static struct ibv_cq cqs[MOST];
	static struct ibv_comp_channel channels[MOST];
	const struct kind *row = *state;
	struct story s;

	begin_story(&s);
	send_back(&s);
	for (int i = 0; i < row->n; i++) {
		if (row->kind == OBJECT_qp)
			make_qp(&s, &qps[i], i, row->used);
		else if (row->kind == OBJECT_context)
			story_do(&s, 1, VERB_open_device, 35, W(&contexts[i]), W(0x1000));
		else if (row->kind == OBJECT_cq || row->kind == OBJECT_comp_channel)
			make_cq(&s, &cqs[i], &channels[i], row->used, row->kind == OBJECT_cq);
		else if (row->kind == OBJECT_pd)
			make_pd(&s, &pds[i], &regions[i], row->used);
		else
			make_id(&s, &ids[i], row->used);
		send_back(&s);
	}
	story_exit(&s, PEER, 9);
	story_check(&s, NULL);
	assert_int_equal(s.findings->hazards[RULE_LIFE_004], row->says ? 1 : 0);
	if (row->says && !strstr(story_only(&s, RULE_LIFE_004)->says, row->says))
		fail_msg("%s", story_only(&s, RULE_LIFE_004)->says);
	story_end(&s);
}

TEST_ROWS(kinds, objects_become_more);
