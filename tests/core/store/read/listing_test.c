#include <errno.h>

#include "core/store/open.h"
#include "core/store/read/listing.h"
#include "core/store/read/trace.h"
#include "core/store/vtab/views.h"
#include "tests/core/store/make_events.h"
#include "tests/test.h"

static char path[256];
static struct trace *trace;

/* A queue pair with its objects, a send that failed, and a phase of 2 ns. */
static int make_trace(void **state)
{
	struct make_world world;
	struct event_wc wc;
	struct writer *w;
	struct maker m;

	(void)state;
	make_now = 1000;
	snprintf(path, sizeof(path), "%s", make_path("trace.db"));
	w = make_writer(path);
	make_thread(&m, w, 0, 100, 101);
	make_process(&m, 1, 0, 0, 0);
	make_world(&m, &world, 17);
	make_post(&m, VERB_post_send, &world.qp, 1, IBV_WR_RDMA_READ, IBV_SEND_SIGNALED);
	wc = make_wc(1, IBV_WC_RETRY_EXC_ERR, IBV_WC_RDMA_READ, 17);
	make_poll(&m, &world.cq, 7, &wc, 1);
	make_end(&m);
	assert_int_equal(writer_finish(w), 0);
	return trace_open(path, &trace);
}

static int remove_trace(void **state)
{
	(void)state;
	trace_close(trace);
	return unlink(path);
}

FIXTURE(make_trace, remove_trace);

static int count_rows(enum listing_kind kind)
{
	struct listing *listing;
	int err = listing_open(trace, kind, &listing), n = 0;

	while (!err && (err = listing_next(listing)) > 0) {
		assert_true(listing_columns(listing) > 0);
		n++;
		err = 0;
	}
	listing_close(listing);
	return err ? err : n;
}

/* Table qps needs the model: analyzer/tables. */
TEST(each_list_can_be_read)
{
	assert_int_equal(views_create(trace_db(trace), false, NULL), 0);
	for (int kind = 0; kind < LISTING_KINDS; kind++)
		if (kind != LISTING_PAGE_QPS)
			assert_true(count_rows((enum listing_kind)kind) >= 0);
	assert_int_equal(count_rows(LISTING_PAGE_QPS), -EINVAL);
}

TEST(cells_have_the_values_and_types_of_the_tables)
{
	struct listing *listing;

	assert_int_equal(listing_open(trace, LISTING_PROCESSES, &listing), 0);
	assert_int_equal(listing_columns(listing), 10);
	assert_int_equal(listing_next(listing), 1);
	assert_int_equal(listing_cell(listing, 0), LISTING_INTEGER);
	assert_int_equal(listing_integer(listing, 0), 1);
	assert_int_equal(listing_integer(listing, 1), 100);
	assert_int_equal(listing_cell(listing, 2), LISTING_NULL);
	assert_null(listing_text(listing, 2));
	assert_int_equal(listing_next(listing), 0);
	listing_close(listing);
	listing_close(NULL);
}

static void expect_word(enum listing_kind kind, const char *word)
{
	struct listing *listing;

	assert_int_equal(listing_open(trace, kind, &listing), 0);
	assert_int_equal(listing_next(listing), 1);
	assert_string_equal(listing_text(listing, 0), word);
	assert_int_equal(listing_next(listing), 0);
	listing_close(listing);
}

TEST(words_are_those_of_the_verbs)
{
	expect_word(LISTING_OPCODES, "IBV_WR_RDMA_READ");
	expect_word(LISTING_STATUSES, "IBV_WC_RETRY_EXC_ERR");
	assert_int_equal(count_rows(LISTING_REFUSED), 0);
}
