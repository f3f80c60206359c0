/* analyzer/model/crossing.c: bytes that requests of different queues have in common. */
#include "tests/analyzer/story.h"
#include "tests/analyzer/others.h"
#include "tests/test.h"

enum { ROUNDS = 4, STEP = 64 };

static uint64_t end_as(struct story *s, const char *text)
{
	uint64_t found;

	story_do(s, 0, VERB_destroy_qp, 5, 0, W(&others[0].qp));
	story_do(s, 0, VERB_destroy_qp, 5, 0, W(&ends[0].qp));
	story_check(s, NULL);
	found = s->findings->hazards[RULE_MKEY_007];
	for (size_t i = 0; i < s->findings->n && found; i++)
		if (s->findings->all[i]->rule == RULE_MKEY_007)
			assert_non_null(strstr(s->findings->all[i]->says, text));
	story_end(s);
	return found;
}

static void receive_at(struct story *s, int thread, const struct ibv_qp *qp, uint64_t wr_id,
		       uint64_t addr)
{
	story_post(s, thread, VERB_post_recv, qp, wr_id, 0,
		   (struct event_sge){ addr, STEP, ends[thread].mr.lkey });
}

static void poll_message(struct story *s, int thread, const struct ibv_qp *qp, uint64_t wr_id)
{
	struct event_poll *event = (struct event_poll *)s->words;
	struct event_wc *wc = (struct event_wc *)(event + 1);

	event->cq = W(&ends[thread].cq);
	event->ret = 1;
	event->nwc = 1;
	wc->wr_id = wr_id;
	wc->opcode = IBV_WC_RECV;
	wc->qp_num = qp->qp_num;
	story_event(s, thread, EVENT_POLL, (sizeof(*event) + sizeof(*wc)) / 8);
}

static void send_at(struct story *s, const struct ibv_qp *qp, uint64_t wr_id, uint64_t addr,
		    uint8_t flags)
{
	struct event_post *event = (struct event_post *)s->words;
	struct event_wr *wr = (struct event_wr *)(event + 1);
	struct event_sge *sge = (struct event_sge *)(wr + 1);

	event->object = W(qp);
	event->verb = VERB_post_send;
	event->nwr = 1;
	*wr = (struct event_wr){ .wr_id = wr_id, .opcode = IBV_WR_SEND, .flags = flags, .nsge = 1 };
	*sge = (struct event_sge){ addr, STEP, ends[0].mr.lkey };
	story_event(s, 0, EVENT_POST, (sizeof(*event) + sizeof(*wr) + sizeof(*sge)) / 8);
}

/* Messages of one queue pair are passed on by another one, without a copy. */
struct proxy {
	uint64_t rounds, step; /* between receive buffers */
	uint8_t flags;
	bool waits;    /* for the completion, before the buffer is posted again */
	bool first;    /* the buffer is posted again before it is sent */
	bool answered; /* the receiver of the message has answered before */
	bool own;      /* the queue pair of the messages passes them on */
};

static uint64_t pass_on(struct proxy how)
{
	const struct ibv_qp *to = how.own ? &ends[0].qp : &others[0].qp;
	struct story s;

	begin_story(&s);
	connect_others(&s);
	for (uint64_t i = 0; i < 2; i++)
		receive_at(&s, 0, &ends[0].qp, i, AT + i * how.step);
	if (how.answered)
		for (uint64_t i = 0; i < how.rounds; i++)
			receive_at(&s, 0, &others[0].qp, 30 + i, AT + 2048 + STEP * i);
	for (uint64_t i = 0; i < how.rounds; i++) {
		uint64_t addr = AT + i % 2 * how.step;

		poll_message(&s, 0, &ends[0].qp, i % 2);
		if (how.first)
			receive_at(&s, 0, &ends[0].qp, i % 2, addr);
		send_at(&s, to, 50 + i, addr, how.flags);
		if (how.answered)
			poll_message(&s, 0, &others[0].qp, 30 + i);
		if (how.waits)
			story_poll(&s, 0, &ends[0].cq, 50 + i, IBV_WC_SUCCESS, to->qp_num);
		if (!how.first)
			receive_at(&s, 0, &ends[0].qp, i % 2, addr);
	}
	return end_as(&s, how.first ? "sends 64 bytes at 0x7000 of the receive with wr_id 0x0"
			  : how.own ? "receives into 64 bytes"
				    : "receives into 64 bytes at 0x7000 of the IBV_WR_SEND with "
				      "wr_id 0x32, ");
}

TEST(a_buffer_is_posted_again_while_another_queue_pair_sends_it)
{
	const struct proxy proxy = { ROUNDS, STEP, IBV_SEND_SIGNALED, false, false, false, false };
	struct proxy other = proxy;

	assert_int_equal(pass_on(proxy), 1);
	other.rounds--;
	assert_int_equal(pass_on(other), 0);
	other = proxy;
	other.waits = true;
	assert_int_equal(pass_on(other), 0);
	other = proxy;
	other.answered = true;
	assert_int_equal(pass_on(other), 0);
	other = proxy;
	other.flags = 0; /* its end may be known from elsewhere */
	assert_int_equal(pass_on(other), 0);
	other.flags = IBV_SEND_SIGNALED | IBV_SEND_INLINE;
	assert_int_equal(pass_on(other), 0);
	other = proxy;
	other.step = 0; /* the other end ignores what it receives */
	assert_int_equal(pass_on(other), 0);
	other = proxy;
	other.own = true; /* told once */
	assert_int_equal(pass_on(other), 1);
	other = proxy;
	other.first = true;
	assert_int_equal(pass_on(other), 1);
	other.flags |= IBV_SEND_INLINE;
	assert_int_equal(pass_on(other), 0);
}

static void write_imm(struct story *s, const struct ibv_qp *qp, uint64_t wr_id, uint64_t remote,
		      uint32_t bytes)
{
	struct event_post *event = (struct event_post *)s->words;
	struct event_wr *wr = (struct event_wr *)(event + 1);
	struct event_rdma *rdma = (struct event_rdma *)(wr + 1);
	struct event_sge *sge = (struct event_sge *)(rdma + 1);

	event->object = W(qp);
	event->verb = VERB_post_send;
	event->nwr = 1;
	*wr = (struct event_wr){ .wr_id = wr_id,
				 .opcode = IBV_WR_RDMA_WRITE_WITH_IMM,
				 .flags = IBV_SEND_SIGNALED,
				 .nsge = 1,
				 .parts = WR_RDMA };
	*rdma = (struct event_rdma){ .remote_addr = remote, .rkey = 0x21 };
	*sge = (struct event_sge){ AT, bytes, ends[0].mr.lkey };
	story_event(s, 0, EVENT_POST,
		    (sizeof(*event) + sizeof(*wr) + sizeof(*rdma) + sizeof(*sge)) / 8);
}

/* A ring of two slots; @late: how many records the receiver is behind. */
static uint64_t write_ring(uint64_t rounds, uint64_t late, uint32_t bytes, uint64_t step)
{
	struct story s;

	begin_story(&s);
	connect_others(&s);
	for (uint64_t i = 0; i < rounds; i++)
		receive_at(&s, 1, &ends[1].qp, i, AT + 3072);
	for (uint64_t i = 0; i < rounds; i++) {
		write_imm(&s, &ends[0].qp, i, AT + i % 2 * step, bytes);
		story_poll(&s, 0, &ends[0].cq, i, IBV_WC_SUCCESS, ends[0].qp.qp_num);
		if (i >= late)
			poll_message(&s, 1, &ends[1].qp, i - late);
	}
	return end_as(&s, "writes to 512 bytes at 0x7000 of the peer, where the "
			  "IBV_WR_RDMA_WRITE_WITH_IMM with wr_id 0x0, ");
}

TEST(a_slot_is_written_again_before_it_was_read)
{
	assert_int_equal(write_ring(6, 2, 512, 512), 1);
	assert_int_equal(write_ring(5, 2, 512, 512), 0); /* three times */
	assert_int_equal(write_ring(6, 1, 512, 512), 0);
	assert_int_equal(write_ring(6, 2, 64, 512), 0); /* a counter: the last one counts */
	assert_int_equal(write_ring(6, 2, 512, 0), 0);  /* nobody reads this */
}

/* Two queue pairs write, each to its place, and each waits for its receiver, or not. */
static uint64_t write_parts(uint64_t rounds, uint64_t step, bool waits)
{
	struct story s;

	begin_story(&s);
	connect_others(&s);
	for (uint64_t i = 0; i < rounds; i++) {
		const struct end *first[2] = { &ends[0], &others[0] };
		const struct end *second[2] = { &ends[1], &others[1] };

		for (uint64_t k = 0; k < 2; k++)
			receive_at(&s, 1, &second[k]->qp, 2 * i + k, AT + 3072);
		for (uint64_t k = 0; k < 2; k++) {
			write_imm(&s, &first[k]->qp, 2 * i + k, AT + k * step, 512);
			story_poll(&s, 0, &ends[0].cq, 2 * i + k, IBV_WC_SUCCESS,
				   first[k]->qp.qp_num);
			if (waits)
				poll_message(&s, 1, &second[k]->qp, 2 * i + k);
		}
		for (uint64_t k = 0; k < 2 && !waits; k++)
			poll_message(&s, 1, &second[k]->qp, 2 * i + k);
	}
	return end_as(&s, " on qp1, had written: its receive had not been polled. So do 3 others.");
}

TEST(two_queue_pairs_write_to_the_same_place)
{
	assert_int_equal(write_parts(ROUNDS, 0, false), 1);
	assert_int_equal(write_parts(ROUNDS - 1, 0, false), 0);
	assert_int_equal(write_parts(ROUNDS, 512, false), 0);
	assert_int_equal(write_parts(ROUNDS, 0, true), 0);
}

static void write_from(struct story *s, const struct ibv_qp *qp, uint64_t wr_id, uint64_t local,
		       uint64_t remote, uint32_t bytes, uint8_t opcode)
{
	struct event_post *event = (struct event_post *)s->words;
	struct event_wr *wr = (struct event_wr *)(event + 1);
	struct event_rdma *rdma = (struct event_rdma *)(wr + 1);
	struct event_sge *sge = (struct event_sge *)(rdma + 1);

	event->object = W(qp);
	event->verb = VERB_post_send;
	event->nwr = 1;
	*wr = (struct event_wr){ .wr_id = wr_id,
				 .opcode = opcode,
				 .flags = IBV_SEND_SIGNALED,
				 .nsge = 1,
				 .parts = WR_RDMA };
	*rdma = (struct event_rdma){ .remote_addr = remote, .rkey = 0x21 };
	*sge = (struct event_sge){ local, bytes, ends[0].mr.lkey };
	story_event(s, 0, EVENT_POST,
		    (sizeof(*event) + sizeof(*wr) + sizeof(*rdma) + sizeof(*sge)) / 8);
}

struct collision {
	uint64_t rounds;
	uint32_t bytes;
	uint64_t step;  /* between the places of two rounds */
	uint64_t apart; /* distance of the two buffers */
	bool waits;     /* for the first WRITE */
};

/* Two queue pairs write to the same place, from their buffers. Returns the hazards of MKEY-009. */
static uint64_t collide_writes(struct collision how)
{
	struct story s;
	uint64_t found;

	begin_story(&s);
	connect_others(&s);
	for (uint64_t i = 0; i < how.rounds; i++) {
		for (uint64_t k = 0; k < 2; k++) {
			write_from(&s, k ? &others[0].qp : &ends[0].qp, i, AT + k * how.apart,
				   AT + 1024 + i * how.step, how.bytes, IBV_WR_RDMA_WRITE);
			if (how.waits)
				story_poll(&s, 0, &ends[0].cq, i, IBV_WC_SUCCESS,
					   k ? others[0].qp.qp_num : ends[0].qp.qp_num);
		}
	}
	story_do(&s, 0, VERB_destroy_qp, 5, 0, W(&others[0].qp));
	story_do(&s, 0, VERB_destroy_qp, 5, 0, W(&ends[0].qp));
	story_check(&s, NULL);
	found = s.findings->hazards[RULE_MKEY_009];
	if (found)
		assert_non_null(strstr(story_only(&s, RULE_MKEY_009)->says,
				       "writes to 128 bytes at 0x7400 of the peer, to which the "
				       "IBV_WR_RDMA_WRITE with wr_id 0x0, "));
	story_end(&s);
	return found;
}

TEST(two_queue_pairs_write_to_one_place_at_once)
{
	const struct collision usual = { ROUNDS, 128, 128, 256, false };
	struct collision other = usual;

	assert_int_equal(collide_writes(usual), 1);
	other.rounds--;
	assert_int_equal(collide_writes(other), 0);
	other = usual;
	other.bytes = 64; /* a counter */
	assert_int_equal(collide_writes(other), 0);
	other = usual;
	other.step = 0; /* a benchmark */
	assert_int_equal(collide_writes(other), 0);
	other = usual;
	other.apart = 0; /* the same bytes */
	assert_int_equal(collide_writes(other), 0);
	other = usual;
	other.waits = true;
	assert_int_equal(collide_writes(other), 0);
}

struct row {
	uint64_t n, local, remote;
	uint8_t opcode;
	bool waits;
};

static const char *post_row(struct story *s, struct row how)
{
	static char says[512];

	says[0] = 0;
	begin_story(s);
	connect_others(s);
	for (uint64_t i = 0; i < how.n; i++) {
		write_from(s, &ends[0].qp, i, AT + i * how.local, AT + 1024 + i * how.remote, 128,
			   how.opcode);
		if (how.waits)
			story_poll(s, 0, &ends[0].cq, i, IBV_WC_SUCCESS, ends[0].qp.qp_num);
	}
	story_do(s, 0, VERB_destroy_qp, 5, 0, W(&ends[0].qp));
	story_check(s, NULL);
	for (size_t i = 0; i < s->findings->n; i++)
		if (s->findings->all[i]->rule == RULE_MKEY_007)
			snprintf(says, sizeof(says), "%s", s->findings->all[i]->says);
	story_end(s);
	return says;
}

static void expect_text(const char *says, const char *text)
{
	if (!strstr(says, text))
		fail_msg("no '%s' in: %s", text, says);
}

TEST(remote_addr_does_not_advance)
{
	const struct row write = { 5, 128, 0, IBV_WR_RDMA_WRITE, false };
	struct row other = write;
	struct story s;

	expect_text(post_row(&s, write),
		    "5 IBV_WR_RDMA_WRITEs in a row, outstanding together, from 1:");
	expect_text(post_row(&s, write),
		    "but to the same 128 bytes at 0x7400 of the peer: remote_addr did "
		    "not advance with the buffer.");
	other.remote = 32;
	expect_text(post_row(&s, other), "that are only 32 bytes apart");
	other.remote = 120; /* a log, each record with a mark at its end */
	assert_string_equal(post_row(&s, other), "");
	other.remote = 128;
	assert_string_equal(post_row(&s, other), "");
	other = write;
	other.n = 4;
	assert_string_equal(post_row(&s, other), "");
	other = write;
	other.waits = true;
	assert_string_equal(post_row(&s, other), "");
	other = write;
	other.local = 0;
	assert_string_equal(post_row(&s, other), "");
	other = write;
	other.opcode = IBV_WR_RDMA_READ; /* its contents change, or do not matter */
	assert_string_equal(post_row(&s, other), "");
}
