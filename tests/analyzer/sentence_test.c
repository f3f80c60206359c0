/*
 * Facts and errors as sentences
 */
#include "analyzer/report/sentence.h"

#include <errno.h>
#include <signal.h>

#include "analyzer/facts/cause.h"
#include "analyzer/facts/first_errors.h"
#include "tests/analyzer/story.h"
#include "tests/test.h"

static struct story story;

static void begin_story(void)
{
	story_begin(&story);
	story_check(&story, NULL);
}

static const struct row {
	const char *name;
	struct fact fact;
	const char *told;
} rows[] = {
	{ "an_errno_has_its_name",
	  { .kind = FACT_FAILED, .what = "a()", .error = EINVAL, .because = "b" },
	  "a() = EINVAL: b" },
	{ "minus_one_is_a_failure",
	  { .kind = FACT_FAILED, .what = "a()", .error = -1 },
	  "a() = failure" },
	{ "another_number_is_itself",
	  { .kind = FACT_FAILED, .what = "a()", .error = -2 },
	  "a() = -2" },
	{ "an_errno_without_a_name_is_its_number",
	  { .kind = FACT_FAILED, .error = 4000 },
	  "? = 4000" },
	{ "a_call_that_hung_in_its_process",
	  { .kind = FACT_HUNG, .what = "a()", .lasted = 2000000000, .ended = true },
	  "a() had not returned 2.00 s later, when the process ended" },
	{ "a_call_that_hung_in_the_trace",
	  { .kind = FACT_HUNG, .lasted = 2000000000 },
	  "? had not returned 2.00 s later, when the trace ended" },
	{ "a_fatal_event", { .kind = FACT_FATAL, .what = "a of b" }, "a of b" },
	{ "a_killed_process",
	  { .kind = FACT_KILLED,
	    .process = 1,
	    .error = SIGSEGV,
	    .time = 3000000000,
	    .live = 2,
	    .event = { 1, 2 },
	    .verb = VERB_reg_mr,
	    .last = 1000000000 },
	  "process 1 (app) by SIGSEGV at 3.00 s, with 2 objects alive; its last verb, "
	  "ibv_reg_mr(), at 1.00 s" },
	{ "a_killed_process_without_more",
	  { .kind = FACT_KILLED, .process = 1, .time = 3000000000, .last = 1000000000 },
	  "process 1 (app) at 3.00 s; its last verb at 1.00 s" },
	{ "a_process_that_exited",
	  { .kind = FACT_EXITED, .process = 1, .error = 3, .time = 3000000000, .live = 1 },
	  "process 1 (app) with status 3 at 3.00 s, with 1 object alive; its last verb at 0 ns" },
	{ "an_unknown_process",
	  { .kind = FACT_EXITED, .process = 7, .error = 1 },
	  "process 7 with status 1 at 0 ns; its last verb at 0 ns" },
};

static void tells_fact(void **state)
{
	const struct row *row = *state;
	struct text text = { 0 };

	begin_story();
	sentence_put_fact(&text, story.trace, &row->fact);
	assert_string_equal(text.at, row->told);
	text_fini(&text);
	story_end(&story);
}

TEST_ROWS(rows, tells_fact);

static void expect_error(const struct first_error *error, const struct cause *cause,
			 const char *told)
{
	struct text text = { 0 };

	sentence_put_error(&text, story.trace, error, cause);
	assert_string_equal(text.at, told);
	text_fini(&text);
}

#define QP     "IBV_WC_REM_ACCESS_ERR: process 1 (app) a queue pair"
#define WRITE  "IBV_WR_RDMA_WRITE of 256 bytes at 0x7000 (lkey 0x2"
#define POSTED "posted 1:42, 1000 ns earlier"

TEST(an_error_has_its_request_and_its_cause)
{
	struct first_error error = { .status = IBV_WC_REM_ACCESS_ERR,
				     .process = 1,
				     .time = 2000,
				     .wr_id = 0x10,
				     .request = { .id = { 1, 42 },
						  .opcode = IBV_WR_RDMA_WRITE,
						  .posted_at = 1000,
						  .nsge = 1,
						  .sge = { 0x7000, 256, 0x2 },
						  .remote_addr = 0x9000,
						  .rkey = 0x3 } };
	struct cause cause = { .name = "qp2",
			       .key = "a key",
			       .peer = "a peer",
			       .port = "a port",
			       .lkey = "mr1",
			       .rkey = "mr2" };

	begin_story();
	expect_error(&error, NULL,
		     QP "; " WRITE "), remote 0x9000 (rkey 0x3), wr_id 0x10, " POSTED);
	error.flushes = 3;
	expect_error(&error, &cause,
		     QP " -> qp2; " WRITE
			"<mr1>), remote 0x9000 (rkey 0x3<mr2>), wr_id 0x10, " POSTED
			"; 3 flushed after it; a port; a key; peer: a peer");
	error.request.remote_addr = error.request.rkey = 0;
	expect_error(&error, NULL, QP "; " WRITE "), wr_id 0x10, " POSTED "; 3 flushed after it");
	error.request.nsge = 0;
	expect_error(&error, NULL,
		     QP "; IBV_WR_RDMA_WRITE, wr_id 0x10, " POSTED "; 3 flushed after it");
	error.request.id.thread = error.flushes = 0;
	expect_error(&error, NULL, QP "; its work request is unknown");
	story_end(&story);
}
