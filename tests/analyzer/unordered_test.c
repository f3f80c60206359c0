/* analyzer/model/unordered.c, analyzer/rules/unordered.c: WRITEs that nothing orders. */
#include "tests/analyzer/story.h"
#include "tests/analyzer/others.h"
#include "tests/test.h"

enum { RELAXED = 1 << 20 /* IBV_ACCESS_RELAXED_ORDERING */ };

/* How a program announces its writes. */
struct announced {
	uint64_t n;
	bool waits; /* for the completion of the write, before it sends */
	bool same;  /* sends on the queue pair of the write, at last */
};

static uint64_t announce_writes(struct announced how)
{
	struct story s;
	uint64_t found;

	begin_story(&s);
	connect_others(&s);
	for (uint64_t i = 0; i < how.n; i++) {
		struct event_sge sge = { AT, 8, ends[0].mr.lkey };

		story_post(&s, 1, VERB_post_recv, &others[1].qp, i, 0,
			   (struct event_sge){ AT + 64 * i, 8, ends[1].mr.lkey });
		post_rdma(&s, IBV_WR_RDMA_WRITE, AT + 1024, 512, 0x21);
		if (how.waits)
			poll_as(&s, IBV_WC_SUCCESS);
		story_post(&s, 0, VERB_post_send, &others[0].qp, 7, IBV_WR_SEND, sge);
		if (!how.waits)
			poll_as(&s, IBV_WC_SUCCESS);
		story_poll(&s, 0, &ends[0].cq, 7, IBV_WC_SUCCESS, others[0].qp.qp_num);
	}
	if (how.same)
		story_post(&s, 0, VERB_post_send, &ends[0].qp, 8, IBV_WR_SEND,
			   (struct event_sge){ AT, 8, ends[0].mr.lkey });
	story_do(&s, 0, VERB_destroy_qp, 5, 0, W(&ends[0].qp));
	story_check(&s, NULL);
	found = s.findings->hazards[RULE_MKEY_009];
	for (size_t i = 0; i < s.findings->n && found; i++)
		if (s.findings->all[i]->rule == RULE_MKEY_009)
			assert_non_null(
				strstr(s.findings->all[i]->says,
				       "qp1 (number 0x21) only writes. 3 times, first at "));
	story_end(&s);
	return found;
}

TEST(a_message_on_another_queue_pair_announces_a_write)
{
	assert_int_equal(announce_writes((struct announced){ .n = 3 }), 1);
	assert_int_equal(announce_writes((struct announced){ .n = 2 }), 0);
	assert_int_equal(announce_writes((struct announced){ .n = 3, .waits = true }), 0);
	assert_int_equal(announce_writes((struct announced){ .n = 3, .same = true }), 0);
}

/* @n writes of @first bytes, each followed by one of @second. */
static uint64_t write_flags(int access, uint64_t n, uint32_t first, uint32_t second, int last)
{
	struct story s;
	uint64_t found;

	begin_ends(&s);
	connect_end(&s, 0, 0x22, 0x22, FAR);
	connect_end(&s, 1, 0x21, 0x21, FAR);
	register_as(&s, 0, &ends[0].mr, IBV_ACCESS_LOCAL_WRITE);
	register_as(&s, 1, &ends[1].mr, FAR | access);
	for (uint64_t i = 0; i < n; i++) {
		post_rdma(&s, IBV_WR_RDMA_WRITE, AT, first, 0x21);
		post_rdma(&s, last, AT + 2048, second, 0x21);
		poll_as(&s, IBV_WC_SUCCESS);
		poll_as(&s, IBV_WC_SUCCESS);
	}
	story_do(&s, 0, VERB_destroy_qp, 5, 0, W(&ends[0].qp));
	story_check(&s, NULL);
	found = s.findings->hazards[RULE_MKEY_009];
	for (size_t i = 0; i < s.findings->n && found; i++)
		if (s.findings->all[i]->rule == RULE_MKEY_009)
			assert_non_null(strstr(s.findings->all[i]->says,
					       "3 times a small write (8 bytes the first time) "
					       "followed a larger one (1 KiB)"));
	story_end(&s);
	return found;
}

TEST(a_flag_is_written_behind_its_data)
{
	const int write = IBV_WR_RDMA_WRITE;

	assert_int_equal(write_flags(RELAXED, 3, 1024, 8, write), 1);
	assert_int_equal(write_flags(RELAXED, 2, 1024, 8, write), 0);
	assert_int_equal(write_flags(0, 3, 1024, 8, write), 0);
	assert_int_equal(write_flags(RELAXED, 3, 1024, 1024, write), 0);
	assert_int_equal(write_flags(RELAXED, 3, 1024, 8, IBV_WR_RDMA_WRITE_WITH_IMM), 0);
}

static void write_on(struct story *s, const struct ibv_qp *qp, uint64_t wr_id, uint32_t length)
{
	struct event_post *event = (struct event_post *)s->words;
	struct event_wr *wr = (struct event_wr *)(event + 1);
	struct event_rdma *rdma = (struct event_rdma *)(wr + 1);
	struct event_sge *sge = (struct event_sge *)(rdma + 1);

	event->object = W(qp);
	event->verb = VERB_post_send;
	event->nwr = 1;
	*wr = (struct event_wr){ .wr_id = wr_id,
				 .opcode = IBV_WR_RDMA_WRITE,
				 .flags = IBV_SEND_SIGNALED,
				 .nsge = 1,
				 .parts = WR_RDMA };
	*rdma = (struct event_rdma){ .remote_addr = AT, .rkey = 0x21 };
	*sge = (struct event_sge){ AT, length, ends[0].mr.lkey };
	story_event(s, 0, EVENT_POST,
		    (sizeof(*event) + sizeof(*wr) + sizeof(*rdma) + sizeof(*sge)) / 8);
}

/* A block is written in two halves, one on each queue pair, and then a flag on the second. */
struct striped {
	uint64_t n;
	uint32_t flag; /* bytes */
	bool waits;    /* for the halves, before it raises the flag */
	bool both;     /* raises one on the first queue pair, too, at last */
};

static uint64_t write_halves(struct striped how)
{
	struct story s;
	uint64_t found;

	begin_story(&s);
	connect_others(&s);
	for (uint64_t i = 0; i < how.n; i++) {
		write_on(&s, &ends[0].qp, 1, 1024);
		write_on(&s, &others[0].qp, 2, 1024);
		if (how.waits)
			poll_as(&s, IBV_WC_SUCCESS);
		write_on(&s, &others[0].qp, 3, how.flag);
		if (!how.waits)
			poll_as(&s, IBV_WC_SUCCESS);
		for (uint64_t k = 2; k <= 3; k++)
			story_poll(&s, 0, &ends[0].cq, k, IBV_WC_SUCCESS, others[0].qp.qp_num);
	}
	if (how.both)
		write_on(&s, &ends[0].qp, 4, how.flag);
	story_do(&s, 0, VERB_destroy_qp, 5, 0, W(&ends[0].qp));
	story_check(&s, NULL);
	found = s.findings->hazards[RULE_MKEY_009];
	for (size_t i = 0; i < s.findings->n && found; i++)
		if (s.findings->all[i]->rule == RULE_MKEY_009)
			assert_non_null(strstr(s.findings->all[i]->says,
					       "a small write (8 bytes) followed on qp"));
	story_end(&s);
	return found;
}

TEST(a_flag_is_written_on_another_queue_pair)
{
	assert_int_equal(write_halves((struct striped){ .n = 4, .flag = 8 }), 1);
	assert_int_equal(write_halves((struct striped){ .n = 2, .flag = 8 }), 0);
	assert_int_equal(write_halves((struct striped){ .n = 4, .flag = 512 }), 0);
	assert_int_equal(write_halves((struct striped){ .n = 4, .flag = 8, .waits = true }), 0);
	assert_int_equal(write_halves((struct striped){ .n = 4, .flag = 8, .both = true }), 0);
}
