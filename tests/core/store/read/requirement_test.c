#include <errno.h>

#include "core/store/open.h"
#include "core/store/read/requirement.h"
#include "core/store/read/trace.h"
#include "tests/core/store/make_events.h"
#include "tests/test.h"

static char path[256];
static struct trace *trace;

/* A queue pair with its objects, and an atomic request. */
static int make_trace(void **state)
{
	struct make_world world;
	struct writer *w;
	struct maker m;

	(void)state;
	make_now = 1000;
	snprintf(path, sizeof(path), "%s", make_path("trace.db"));
	w = make_writer(path);
	make_thread(&m, w, 0, 100, 101);
	make_process(&m, 1, 0, 0, 0);
	make_world(&m, &world, 17);
	make_post(&m, VERB_post_send, &world.qp, 1, IBV_WR_ATOMIC_FETCH_AND_ADD, 0);
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

static int count_call(void *arg, struct event_id call)
{
	assert_int_equal(call.thread, 1);
	++*(int *)arg;
	return 0;
}

static int refuse_call(void *arg, struct event_id call)
{
	(void)arg;
	(void)call;
	return -ENOBUFS;
}

TEST(each_need_finds_its_calls)
{
	for (int what = 0; what < NEEDING_COUNT; what++) {
		int n = 0;

		assert_int_equal(
			requirement_visit_calls(trace, (enum requirement_kind)what, count_call, &n),
			0);
		assert_int_equal(n, what == NEEDING_ATOMICS);
	}
}

TEST(error_of_the_callback_is_returned)
{
	assert_int_equal(requirement_visit_calls(trace, NEEDING_ATOMICS, refuse_call, NULL),
			 -ENOBUFS);
	assert_int_equal(requirement_visit_calls(trace, NEEDING_XRC, refuse_call, NULL), 0);
}

TEST(objects_are_counted_in_all_and_at_a_time)
{
	assert_int_equal(requirement_count_objects(trace, OBJECT_qp), 1);
	assert_int_equal(requirement_most_live(trace, OBJECT_qp), 1);
	assert_int_equal(requirement_count_objects(trace, OBJECT_srq), 0);
}
