/* analyzer/model/read_release.c, MKEY-009: a message frees memory that is being read. */
#include "tests/analyzer/ends.h"
#include "tests/test.h"

/* How process 1 reads memory of process 2, and says that it has. */
struct reading {
	const char *name;
	int n;        /* regions that are read, one after the other */
	bool fenced;  /* the message waits for the READ */
	bool polled;  /* it is sent after the completion of the READ was polled */
	bool asked;   /* the peer gets another message before it deregisters the region */
	bool other;   /* the peer deregisters another region */
	bool quietly; /* the peer calls other verbs before that */
	bool gone;    /* the reader's queue pair was destroyed before that */
	bool warns;
};

static void post_message(struct story *s, int flags)
{
	struct event_post *event = (struct event_post *)s->words;
	struct event_wr *wr = (struct event_wr *)(event + 1);
	struct event_sge *sge = (struct event_sge *)(wr + 1);

	event->object = W(&ends[0].qp);
	event->verb = VERB_post_send;
	event->nwr = 1;
	*wr = (struct event_wr){ .wr_id = 2,
				 .opcode = IBV_WR_SEND,
				 .flags = (uint8_t)(flags | IBV_SEND_SIGNALED),
				 .nsge = 1 };
	*sge = (struct event_sge){ AT + 1024, 8, ends[0].mr.lkey };
	story_event(s, 0, EVENT_POST, (sizeof(*event) + sizeof(*wr) + sizeof(*sge)) / 8);
}

static void poll_message(struct story *s)
{
	struct event_poll *event = (struct event_poll *)s->words;
	struct event_wc *wc = (struct event_wc *)(event + 1);

	event->cq = W(&ends[1].cq);
	event->ret = event->nwc = 1;
	*wc = (struct event_wc){ .wr_id = 1, .opcode = IBV_WC_RECV, .qp_num = ends[1].qp.qp_num };
	story_event(s, 1, EVENT_POLL, (sizeof(*event) + sizeof(*wc)) / 8);
}

static void post_receive(struct story *s)
{
	story_post(s, 1, VERB_post_recv, &ends[1].qp, 1, 0, (struct event_sge){ AT, 8, 0x20 });
}

static void poll_send(struct story *s, uint64_t wr_id)
{
	story_poll(s, 0, &ends[0].cq, wr_id, IBV_WC_SUCCESS, ends[0].qp.qp_num);
}

static void read_region(struct story *s, const struct reading *r, int i)
{
	struct ibv_mr region = ends[1].mr, another = ends[1].mr;

	region.lkey = 0x100 + 4 * (uint32_t)i;
	region.rkey = region.lkey + 1;
	another.lkey = region.lkey + 2;
	another.rkey = region.lkey + 3;
	register_as(s, 1, &region, FAR | IBV_ACCESS_REMOTE_READ);
	register_as(s, 1, &another, FAR | IBV_ACCESS_REMOTE_READ);
	post_receive(s);
	post_receive(s);
	post_rdma(s, IBV_WR_RDMA_READ, AT, 64, region.rkey);
	if (r->polled)
		poll_send(s, 1);
	post_message(s, r->fenced ? IBV_SEND_FENCE : 0);
	if (!r->polled)
		poll_send(s, 1);
	poll_send(s, 2);
	poll_message(s);
	if (r->asked) {
		post_message(s, 0);
		poll_send(s, 2);
		poll_message(s);
	}
	for (int k = 0; r->quietly && k < 3; k++)
		story_do(s, 1, VERB_query_port, 1, 0, W(&ends[1].context), W(1), W(0), W(0));
	if (r->gone)
		story_do(s, 0, VERB_destroy_qp, 9, 0, W(&ends[0].qp));
	story_do(s, 1, VERB_dereg_mr, 9, 0, W(r->other ? &another : &region));
}

static const struct reading readings[] = {
	{ .name = "a_message_that_may_overtake_the_read", .n = 3, .warns = true },
	{ .name = "it_does_so_twice", .n = 2 },
	{ .name = "a_message_with_a_fence", .n = 3, .fenced = true },
	{ .name = "a_message_after_the_completion", .n = 3, .polled = true },
	{ .name = "a_second_message_after_the_completion", .n = 3, .asked = true },
	{ .name = "another_region_is_deregistered", .n = 3, .other = true },
	{ .name = "the_reader_has_ended", .n = 1, .gone = true },
	{ .name = "the_peer_does_other_things_first", .n = 3, .quietly = true },
};

static void memory_that_is_read(void **state)
{
	const struct reading *r = *state;
	struct story s;

	begin_story(&s);
	for (int i = 0; i < r->n; i++)
		read_region(&s, r, i);
	if (!r->gone)
		story_do(&s, 0, VERB_destroy_qp, 9, 0, W(&ends[0].qp));
	story_check(&s, NULL);
	assert_int_equal(s.findings->hazards[RULE_MKEY_009], r->warns);
	if (r->warns)
		assert_non_null(strstr(s.findings->all[0]->says, "3 times, first at 1:"));
	story_end(&s);
}
TEST_ROWS(readings, memory_that_is_read);
