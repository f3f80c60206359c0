/*
 * A completion as a line: the fields that the verbs define, and no others.
 */
#include <infiniband/verbs.h>
#include <stdlib.h>

#include "cli/dump/choice.h"
#include "cli/dump/render.h"
#include "tests/test.h"

struct came {
	const char *name;
	struct wc wc;
	const char *shown;
};

/* clang-format off */
static const struct came came[] = {
	{ "what_may_be_no_datagram_has_no_sender",
	  { .opcode = IBV_WC_RECV, .byte_len = 104, .src_qp = 0x11, .qp_num = 0x12 },
	  "opcode=IBV_WC_RECV, byte_len=104, qp_num=0x12}" },
	{ "a_datagram_has_its_sender_and_a_grh_is_no_immediate_data",
	  { .opcode = IBV_WC_RECV, .byte_len = 104, .wc_flags = IBV_WC_GRH, .imm = 9, .src_qp = 2 },
	  "byte_len=104, wc_flags=IBV_WC_GRH, src_qp=0x2, qp_num" },
	{ "immediate_data_may_be_0",
	  { .opcode = IBV_WC_RECV, .wc_flags = IBV_WC_WITH_IMM },
	  "wc_flags=IBV_WC_WITH_IMM, imm_data=0x0, qp_num" },
	{ "a_key_is_a_key",
	  { .opcode = IBV_WC_RECV, .wc_flags = IBV_WC_WITH_INV, .imm = 0x33 },
	  "wc_flags=IBV_WC_WITH_INV, invalidated_rkey=0x33, qp_num" },
	{ "a_send_has_no_sender",
	  { .opcode = IBV_WC_SEND, .byte_len = 8, .src_qp = 0x11 },
	  "opcode=IBV_WC_SEND, byte_len=8, qp_num" },
	{ "a_failure_has_an_error_only",
	  { .status = IBV_WC_LOC_PROT_ERR, .opcode = IBV_WC_RECV, .vendor_err = 7, .src_qp = 1 },
	  "status=IBV_WC_LOC_PROT_ERR, vendor_err=0x7, qp_num" },
};
/* clang-format on */

static void shows_what_came(void **state)
{
	const struct came *row = *state;
	struct poll poll = { .verb = VERB_poll_cq, .ret = 1, .nwc = 1, .wc = (void *)&row->wc };
	struct trace_event event = { .kind = TRACE_POLL, .poll = &poll };
	char *text = NULL;
	size_t size;
	struct render render = { .out = open_memstream(&text, &size) };

	render_event(&render, &event);
	fclose(render.out);
	if (!strstr(text, row->shown))
		fail_msg("no '%s' in: %s", row->shown, text);
	free(text);
}

TEST_ROWS(came, shows_what_came);

/* The begin of a poll of four, the third from another queue pair. */
static void expect_poll(bool brief, bool full, const char *shown)
{
	const struct wc flushed = { .status = IBV_WC_WR_FLUSH_ERR, .qp_num = 7 };
	struct wc wcs[] = { flushed, flushed, flushed, flushed };
	struct poll poll = { .verb = VERB_poll_cq, .ret = 4, .nwc = 4, .wc = wcs };
	struct trace_event event = { .kind = TRACE_POLL, .poll = &poll };
	char *text = NULL;
	size_t size;
	struct render render = { .out = open_memstream(&text, &size),
				 .brief = brief,
				 .full = full };

	wcs[2].qp_num = 8;
	wcs[3].status = IBV_WC_RETRY_EXC_ERR;
	render_event(&render, &event);
	fclose(render.out);
	assert_string_equal(text, shown);
	free(text);
}

#define FLUSHED(qp) "{wr_id=0x0, status=IBV_WC_WR_FLUSH_ERR, vendor_err=0x0, qp_num=0x" qp "}"
#define FAILED      "{wr_id=0x0, status=IBV_WC_RETRY_EXC_ERR, vendor_err=0x0, qp_num=0x7}"

TEST(flushed_ones_of_a_queue_pair_are_one)
{
	expect_poll(true, false,
		    "ibv_poll_cq(NULL) = 4 [" FLUSHED("7") ", 1 more flushed, " FLUSHED(
			    "8") ", " FAILED "]");
	expect_poll(false, false,
		    "ibv_poll_cq(NULL) = 4 [" FLUSHED("7") ", " FLUSHED("7") ", " FLUSHED(
			    "8") ", " FAILED "]");
	expect_poll(true, true,
		    "ibv_poll_cq(NULL) = 4 [\n    " FLUSHED("7") ", 1 more flushed,\n    " FLUSHED(
			    "8") ",\n    " FAILED "]");
}

static void expect_chosen(const struct trace_event *event, const char *shown)
{
	const struct choice choice = { .wr_id = { true, 7 } };
	char *text = NULL;
	size_t size;
	struct render render = { .out = open_memstream(&text, &size), .choice = &choice };

	render_event(&render, event);
	fclose(render.out);
	assert_string_equal(text, shown);
	free(text);
}

/* The numbers of nine requests or completions, of which those of 7 are chosen. */
static const uint64_t chosen[] = { 1, 2, 7, 3, 7, 7, 4, 5, 6 };

enum { CHOSEN = sizeof(chosen) / sizeof(*chosen) };

#define ASKED "{wr_id=0x7, opcode=IBV_WR_RDMA_WRITE, send_flags=0, sge=[]}"
#define CAME  "{wr_id=0x7, status=IBV_WC_SUCCESS, opcode=IBV_WC_SEND, byte_len=0, qp_num=0x0}"

TEST(completions_that_are_not_chosen_are_counted)
{
	struct wc wcs[CHOSEN] = { 0 };
	struct poll poll = { .verb = VERB_poll_cq, .ret = CHOSEN, .nwc = CHOSEN, .wc = wcs };
	struct trace_event event = { .kind = TRACE_POLL, .poll = &poll };

	for (int i = 0; i < CHOSEN; i++)
		wcs[i].wr_id = chosen[i];
	expect_chosen(&event, "ibv_poll_cq(NULL) = 9 [2 others, " CAME ", 1 other, " CAME ", " CAME
			      ", 3 others]");
}

TEST(requests_that_are_not_chosen_are_counted)
{
	struct wr wrs[CHOSEN] = { 0 };
	struct post post = { .verb = VERB_post_send, .nwr = CHOSEN, .wr = wrs };
	struct trace_event event = { .kind = TRACE_POST, .post = &post };

	for (int i = 0; i < CHOSEN; i++)
		wrs[i].wr_id = chosen[i];
	expect_chosen(&event, "ibv_post_send(NULL, [2 others, " ASKED ", 1 other, " ASKED ", " ASKED
			      ", 3 others]) = 0");
}
