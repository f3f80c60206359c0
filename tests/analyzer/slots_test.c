/* analyzer/model/slots.c, MKEY-007: WRITEs to the slots of a ring, which messages return. */
#include "tests/analyzer/posted.h"
#include "tests/test.h"

static struct ibv_qp_cap wide = { 16, 64, 1, 1, 16 };

/* How a ring of the peer is filled. */
struct filling {
	uint64_t n, slots;
	uint64_t window;  /* writes without a message */
	uint64_t missing; /* messages that are not received */
	uint32_t bytes;   /* of a message */
	bool jumps;       /* one write goes elsewhere */
};

static void write_slot(struct story *s, uint64_t addr)
{
	struct event_post *event = (struct event_post *)s->words;
	struct event_wr *wr = (struct event_wr *)(event + 1);
	struct event_rdma *rdma = (struct event_rdma *)(wr + 1);
	struct event_sge *sge = (struct event_sge *)(rdma + 1);

	event->object = W(&a_qp);
	event->verb = VERB_post_send;
	event->nwr = 1;
	*wr = (struct event_wr){ .wr_id = 100,
				 .opcode = IBV_WR_RDMA_WRITE,
				 .flags = IBV_SEND_SIGNALED,
				 .nsge = 1,
				 .parts = WR_RDMA };
	*rdma = (struct event_rdma){ .remote_addr = addr, .rkey = 7 };
	*sge = (struct event_sge){ addr, 64, 0x10 };
	story_event(s, 0, EVENT_POST,
		    (sizeof(*event) + sizeof(*wr) + sizeof(*rdma) + sizeof(*sge)) / 8);
	poll_sends(s, 100, 1);
}

static void poll_message(struct story *s, uint64_t wr_id, uint32_t bytes)
{
	struct event_poll *event = (struct event_poll *)s->words;
	struct event_wc *wc = (struct event_wc *)(event + 1);

	event->cq = W(&a_cq);
	event->ret = event->nwc = 1;
	*wc = (struct event_wc){
		.wr_id = wr_id, .opcode = IBV_WC_RECV, .byte_len = bytes, .qp_num = a_qp.qp_num
	};
	story_event(s, 0, EVENT_POLL, (sizeof(*event) + sizeof(*wc)) / 8);
}

static uint64_t fill_ring(struct filling r)
{
	struct story s;
	uint64_t found, polled = 0;

	begin_with(&s, wide, wide);
	for (uint64_t i = 0; i < r.n; i++)
		post_list(&s, 0, &(struct posted){ .verb = VERB_post_recv, .wr_id = i, .n = 1 });
	for (uint64_t i = 0; i < r.n; i++) {
		if (i >= r.window && polled < r.n - r.missing)
			poll_message(&s, polled++, r.bytes);
		write_slot(&s, 0x9000 + i % r.slots * 64 + (r.jumps && i == 7 ? 4096 : 0));
	}
	while (polled < r.n - r.missing)
		poll_message(&s, polled++, r.bytes);
	end_well(&s);
	story_check(&s, NULL);
	found = s.findings->hazards[RULE_MKEY_007];
	story_end(&s);
	return found;
}

TEST(a_slot_is_written_before_it_is_returned)
{
	const struct filling r = { .n = 16, .slots = 4, .window = 5 };
	struct filling other = r;

	assert_int_equal(fill_ring(r), 1);
	other.window = 4;
	assert_int_equal(fill_ring(other), 0);
	other = r;
	other.n = 15;
	assert_int_equal(fill_ring(other), 0);
	other = r;
	other.slots = 1; /* a counter, of which only the last value counts */
	assert_int_equal(fill_ring(other), 0);
	other = r;
	other.missing = 5; /* a message may return more than one */
	assert_int_equal(fill_ring(other), 0);
	other = r;
	other.n = 40;
	other.window = 9; /* not a window of this ring */
	assert_int_equal(fill_ring(other), 0);
	other = r;
	other.bytes = 128; /* messages with data */
	assert_int_equal(fill_ring(other), 0);
	other = r;
	other.jumps = true;
	assert_int_equal(fill_ring(other), 0);
}
