/*
 * The watched iterator of extended completion queues, over a provider that does nothing
 */
#include <errno.h>
#include <string.h>
#include <infiniband/verbs.h>

#include "shim/trace/objects/strict.h"
#include "shim/trace/verbs/strict_cq.h"
#include "tests/shim/trace/fixture.h"
#include "tests/test.h"

static int start_result;

static int start_poll(struct ibv_cq_ex *cq, struct ibv_poll_cq_attr *attr)
{
	(void)cq, (void)attr;
	return start_result;
}

static int next_poll(struct ibv_cq_ex *cq)
{
	return (int)cq->read_opcode(cq) * 0; /* as the recorder reads it */
}

static void end_poll(struct ibv_cq_ex *cq)
{
	(void)cq;
}

#define READER(type, name, value)              \
	static type name(struct ibv_cq_ex *cq) \
	{                                      \
		(void)cq;                      \
		return (type)(value);          \
	}
READER(enum ibv_wc_opcode, read_opcode, IBV_WC_RECV)
READER(uint32_t, read_vendor_err, 99)
READER(uint32_t, read_byte_len, 98)
READER(uint32_t, read_qp_num, 97)

/* The CQ has a function for byte_len, which was not requested. */
static struct ibv_cq_ex new_cq(void)
{
	return (struct ibv_cq_ex){ .start_poll = start_poll,
				   .next_poll = next_poll,
				   .end_poll = end_poll,
				   .read_opcode = read_opcode,
				   .read_vendor_err = read_vendor_err,
				   .read_byte_len = read_byte_len,
				   .read_qp_num = read_qp_num };
}

/*
 * s: a start that finds a completion, f: one in error, 0: none; n: next, e: end; of the fields
 * o: opcode, b: byte_len, q: qp_num, v: vendor_err
 */
static void do_step(struct ibv_cq_ex *cq, char step)
{
	struct ibv_poll_cq_attr attr = { 0 };

	if (strchr("sf0", step)) {
		start_result = step == '0' ? ENOENT : 0;
		cq->status = step == 'f' ? IBV_WC_WR_FLUSH_ERR : IBV_WC_SUCCESS;
		HOLDS(ibv_start_poll(cq, &attr) == start_result);
	} else if (step == 'n') {
		HOLDS(!ibv_next_poll(cq));
	} else if (step == 'e') {
		ibv_end_poll(cq);
	} else {
		HOLDS((step == 'o' && ibv_wc_read_opcode(cq) == IBV_WC_RECV) ||
		      (step == 'b' && ibv_wc_read_byte_len(cq) == 98) ||
		      (step == 'q' && ibv_wc_read_qp_num(cq) == 97) ||
		      (step == 'v' && ibv_wc_read_vendor_err(cq) == 99));
	}
}

static const struct walk {
	const char *name, *steps;
	enum event_misuse_what what; /* MISUSES: none is reported */
} walks[] = {
	{ "a_batch", "sononqe", MISUSES },
	{ "nothing_then_a_batch", "00sone", MISUSES },
	{ "two_batches", "sqesoe", MISUSES },
	{ "valid_fields_of_an_error", "fqve", MISUSES },
	{ "another_field_of_an_error", "fo", MISUSE_ERROR_FIELD },
	{ "a_field_not_asked_for", "sb", MISUSE_UNASKED_FIELD },
	{ "a_field_before_the_start", "q", MISUSE_READ_OUTSIDE },
	{ "a_field_behind_the_end", "seo", MISUSE_READ_OUTSIDE },
	{ "a_field_where_nothing_was_found", "0q", MISUSE_READ_OUTSIDE },
	{ "a_start_in_a_batch", "ss", MISUSE_START_INSIDE },
	{ "next_where_nothing_was_found", "0n", MISUSE_NEXT_OUTSIDE },
	{ "next_behind_the_end", "sen", MISUSE_NEXT_OUTSIDE },
	{ "an_end_where_nothing_was_found", "0e", MISUSE_END_OUTSIDE },
	{ "two_ends", "see", MISUSE_END_OUTSIDE },
};

static const char *steps;
static enum event_misuse_what expected;

static void walk_body(void)
{
	struct ibv_cq_ex cq = new_cq();
	const struct event_misuse *misuse;
	struct ring ring;

	session_begin(RING_MIN, ON_FULL_WAIT);
	session.page->strict = 1;
	HOLDS(strict_own_thread() && strict_is_on());
	HOLDS(strict_note_created(&cq, false));
	strict_cq_patch(&cq, IBV_WC_EX_WITH_QP_NUM);
	HOLDS(cq.start_poll != start_poll && !cq.read_src_qp);
	for (const char *step = steps; *step; step++)
		do_step(&cq, *step);
	ring = session_ring(0);
	misuse = expect_event(&ring, EVENT_MISUSE);
	HOLDS(expected == MISUSES ? !misuse : misuse && misuse->what == expected);
	HOLDS(!misuse || misuse->object == (uintptr_t)&cq);
	HOLDS(!misuse || !expect_event(&ring, EVENT_MISUSE));
}

static void tells_of_walk(void **state)
{
	const struct walk *row = *state;
	steps = row->steps;
	expected = row->what;
	in_child(walk_body);
}

TEST_ROWS(walks, tells_of_walk);

TEST(valid_fields_of_an_error_stay)
{
	struct ibv_wc wc[2] = { { .wr_id = 1, .byte_len = 7 },
				{ .wr_id = 2,
				  .status = IBV_WC_WR_FLUSH_ERR,
				  .qp_num = 3,
				  .vendor_err = 4,
				  .byte_len = 7 } };

	strict_cq_overwrite_invalid(wc, 2);
	assert_int_equal(wc[0].byte_len, 7);
	assert_int_equal(wc[1].wr_id, 2);
	assert_int_equal(wc[1].status, IBV_WC_WR_FLUSH_ERR);
	assert_int_equal(wc[1].qp_num, 3);
	assert_int_equal(wc[1].vendor_err, 4);
	assert_int_equal(wc[1].byte_len, 0xdeadbeef);
	assert_int_equal(wc[1].opcode, 0x5a);
}
