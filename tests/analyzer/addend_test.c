/* analyzer/model/addend.c, QUEUE-005: fetch-and-adds whose value is in swap. */
#include "tests/analyzer/ends.h"
#include "tests/test.h"

struct atomic {
	int opcode;
	uint64_t compare_add, swap;
};

static void post_atomic(struct story *s, const struct atomic *a)
{
	struct event_post *event = (struct event_post *)s->words;
	struct event_wr *wr = (struct event_wr *)(event + 1);
	struct event_rdma *rdma = (struct event_rdma *)(wr + 1);
	struct event_atomic *atomic = (struct event_atomic *)(rdma + 1);
	struct event_sge *sge = (struct event_sge *)(atomic + 1);

	event->object = W(&ends[0].qp);
	event->verb = VERB_post_send;
	event->nwr = 1;
	*wr = (struct event_wr){ .wr_id = 2,
				 .opcode = (uint8_t)a->opcode,
				 .flags = IBV_SEND_SIGNALED,
				 .nsge = 1,
				 .parts = WR_RDMA | WR_ATOMIC };
	*rdma = (struct event_rdma){ .remote_addr = AT, .rkey = 0x21 };
	*atomic = (struct event_atomic){ .compare_add = a->compare_add, .swap = a->swap };
	*sge = (struct event_sge){ AT, 8, ends[0].mr.lkey };
	story_event(s, 0, EVENT_POST, (size_t)((char *)(sge + 1) - (char *)event) / 8);
	story_poll(s, 0, &ends[0].cq, 2, IBV_WC_SUCCESS, ends[0].qp.qp_num);
}

static uint64_t post_two(struct atomic first, struct atomic second, const char *says)
{
	struct story s;
	uint64_t found;

	begin_story(&s);
	post_atomic(&s, &first);
	post_atomic(&s, &second);
	story_do(&s, 0, VERB_destroy_qp, 5, 0, W(&ends[0].qp));
	story_check(&s, NULL);
	found = s.findings->hazards[RULE_QUEUE_005];
	for (size_t i = 0; i < s.findings->n && found; i++)
		if (s.findings->all[i]->rule == RULE_QUEUE_005)
			assert_non_null(strstr(s.findings->all[i]->says, says));
	story_end(&s);
	return found;
}

TEST(the_value_to_add_is_in_swap)
{
	const struct atomic one = { IBV_WR_ATOMIC_FETCH_AND_ADD, 0, 1 };
	const struct atomic minus = { IBV_WR_ATOMIC_FETCH_AND_ADD, 0, (uint64_t)-3 };
	const struct atomic random = { IBV_WR_ATOMIC_FETCH_AND_ADD, 0, 0x7f1234567890 };
	const struct atomic adds = { IBV_WR_ATOMIC_FETCH_AND_ADD, 1, 0 };
	const struct atomic reads = { IBV_WR_ATOMIC_FETCH_AND_ADD, 0, 0 };
	const struct atomic swaps = { IBV_WR_ATOMIC_CMP_AND_SWP, 0, 1 };

	assert_int_equal(post_two(one, one, "All atomics of qp1 (number 0x21) (2), from 1:"), 1);
	assert_int_equal(post_two(minus, one, "that of the first is -3."), 1);
	assert_int_equal(post_two(random, random, ""), 0);
	assert_int_equal(post_two(one, adds, ""), 0);
	assert_int_equal(post_two(reads, reads, ""), 0);
	assert_int_equal(post_two(swaps, one, ""), 0); /* it may be left over */
}
