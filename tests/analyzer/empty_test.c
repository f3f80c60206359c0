/* analyzer/model/empty.c, QUEUE-005: SENDs without bytes to receives that have room for some. */
#include "tests/analyzer/ends.h"
#include "tests/test.h"

struct messages {
	int n;
	uint32_t room;  /* bytes of the receives */
	uint32_t bytes; /* of the last message */
	uint8_t opcode; /* of the last one */
	bool element;   /* they have an element, of length 0 */
};

static void send_message(struct story *s, const struct messages *m, bool last)
{
	struct event_post *event = (struct event_post *)s->words;
	struct event_wr *wr = (struct event_wr *)(event + 1);
	struct event_sge *sge = (struct event_sge *)(wr + 1);
	uint32_t bytes = last ? m->bytes : 0;
	bool element = bytes || m->element;

	event->object = W(&ends[0].qp);
	event->verb = VERB_post_send;
	event->nwr = 1;
	*wr = (struct event_wr){ .wr_id = 2,
				 .opcode = last ? m->opcode : IBV_WR_SEND,
				 .flags = IBV_SEND_SIGNALED,
				 .nsge = element };
	if (element)
		*sge = (struct event_sge){ AT, bytes, ends[0].mr.lkey };
	story_event(s, 0, EVENT_POST, (sizeof(*event) + sizeof(*wr) + element * sizeof(*sge)) / 8);
	story_poll(s, 0, &ends[0].cq, 2, IBV_WC_SUCCESS, ends[0].qp.qp_num);
}

static uint64_t send_messages(struct messages m)
{
	struct story s;
	uint64_t found;

	begin_story(&s);
	for (int i = 0; i < m.n; i++)
		story_post(&s, 1, VERB_post_recv, &ends[1].qp, 1, 0,
			   (struct event_sge){ AT, m.room, ends[1].mr.lkey });
	for (int i = 0; i < m.n; i++)
		send_message(&s, &m, i == m.n - 1);
	story_do(&s, 0, VERB_destroy_qp, 5, 0, W(&ends[0].qp));
	story_check(&s, NULL);
	found = s.findings->hazards[RULE_QUEUE_005];
	for (size_t i = 0; i < s.findings->n; i++)
		if (s.findings->all[i]->rule == RULE_QUEUE_005)
			assert_non_null(strstr(s.findings->all[i]->says,
					       "All 4 requests of qp1 (number 0x21), from 1:"));
	story_end(&s);
	return found;
}

TEST(all_messages_are_empty)
{
	const struct messages usual = { .n = 4, .room = 64, .opcode = IBV_WR_SEND };
	struct messages other = usual;

	assert_int_equal(send_messages(usual), 1);
	other.element = true;
	assert_int_equal(send_messages(other), 1);
	other = usual;
	other.n = 3;
	assert_int_equal(send_messages(other), 0);
	other = usual;
	other.room = 0; /* signals */
	assert_int_equal(send_messages(other), 0);
	other = usual;
	other.bytes = 8;
	assert_int_equal(send_messages(other), 0);
	other = usual;
	other.opcode = IBV_WR_SEND_WITH_IMM;
	assert_int_equal(send_messages(other), 0);
}
