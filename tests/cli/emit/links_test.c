/*
 * Connections, numbers of SRQs, and requests that failed
 */
#include "cli/emit/links.h"

#include <stdio.h>
#include <stdlib.h>
#include <infiniband/verbs.h>

#include "core/store/finish/connections.h"
#include "tests/test.h"

enum { PEER = 2, QP = 3, CQ = 4, SRQ = 5, OBJECTS = 5, THREAD = 1 };

static struct program program;
static struct links links;
static struct connection connected; /* the only one of the trace */
static size_t first[OBJECTS + 2];
static struct connections connections = { .list = &connected, .first = first, .nobjects = OBJECTS };
static unsigned int depth; /* of the calls that are learned */

static int make_program(void **state)
{
	(void)state;
	depth = 0;
	memset(&links, 0, sizeof(links));
	links.connections = &connections;
	connections.count = 0;
	memset(&program, 0, sizeof(program));
	program.nobjects = OBJECTS;
	program.objects = calloc(OBJECTS + 1, sizeof(*program.objects));
	return program.objects ? 0 : -1;
}

static int free_program(void **state)
{
	(void)state;
	links_fini(&links);
	program_fini(&program);
	return 0;
}

FIXTURE(make_program, free_program);

static void learn_call(enum verb verb, uint32_t object, int64_t time, const char *in,
		       const char *out, bool failed)
{
	struct call call = { .verb = verb,
			     .begin = time,
			     .end = time,
			     .object = object,
			     .failed = failed,
			     .depth = depth,
			     .args = args_new(in, strlen(in)),
			     .out = args_new(out, strlen(out)) };
	struct trace_event event = {
		.kind = TRACE_RETURN, .id = { THREAD, (uint64_t)time }, .time = time, .call = &call
	};

	assert_int_equal(links_learn(&links, &program, &event), 0);
	args_unref(call.args);
	args_unref(call.out);
}

static void connect_qp(int64_t time)
{
	char in[96];

	snprintf(in, sizeof(in), "{\"attr_mask\":%d,\"attr\":{\"dest_qp_num\":77}}",
		 IBV_QP_STATE | IBV_QP_DEST_QPN);
	connected = (struct connection){
		.id = { THREAD, (uint64_t)time }, .qp = QP, .peer = PEER, .since = time
	};
	connections.count = 1;
	for (uint32_t qp = 0; qp < OBJECTS + 2; qp++)
		first[qp] = qp > QP;
	learn_call(VERB_modify_qp, QP, time, in, "{}", false);
}

static void poll_one(int64_t time, enum verb verb, const struct wc *wc)
{
	struct poll poll = { .verb = verb, .object = CQ, .ret = 1, .nwc = 1, .wc = wc };
	struct trace_event event = {
		.kind = TRACE_POLL, .id = { THREAD, (uint64_t)time }, .time = time, .poll = &poll
	};

	assert_int_equal(links_learn(&links, &program, &event), 0);
}

TEST(a_queue_pair_is_connected_from_then_on)
{
	connect_qp(5);
	assert_false(links_is_connected(&links, QP, 4));
	assert_true(links_is_connected(&links, QP, 5));
	assert_false(links_is_connected(&links, QP + 1, 5));
	assert_int_equal(links_find(&links, QP, 4), 0);
	assert_int_equal(links_find(&links, QP, 5), PEER);
}

TEST(a_connection_that_comes_can_be_waited_for)
{
	connect_qp(5);
	assert_int_equal(links_next_connection(&links, QP, 4).n, 5);
	assert_int_equal(links_next_connection(&links, QP, 5).n, 0);
}

TEST(a_connection_behind_a_message_cannot_be_waited_for)
{
	struct wc wc = { .opcode = IBV_WC_RECV, .qp = QP };

	poll_one(4, VERB_poll_cq, &wc);
	connect_qp(5);
	assert_int_equal(links_next_connection(&links, QP, 3).n, 0);
}

TEST(a_connection_within_another_verb_cannot_be_waited_for)
{
	depth = 1;
	connect_qp(5);
	assert_true(links_is_connected(&links, QP, 5));
	assert_int_equal(links_next_connection(&links, QP, 4).n, 0);
}

TEST(an_srq_is_found_by_its_number)
{
	learn_call(VERB_get_srq_num, SRQ, 1, "{}", "{\"srq_num\":300}", false);
	assert_int_equal(links_find_srq(&links, 300), SRQ);
	assert_int_equal(links_find_srq(&links, 301), 0);
}

TEST(a_request_has_the_status_it_completed_with)
{
	struct event_id post = { THREAD, 9 };
	struct wc wc = {
		.status = IBV_WC_REM_ACCESS_ERR, .qp = QP, .request = post, .request_index = 2
	};

	poll_one(10, VERB_poll_cq, &wc);
	assert_int_equal(links_find_status(&links, post, 2), IBV_WC_REM_ACCESS_ERR);
	assert_int_equal(links_find_status(&links, post, 1), IBV_WC_SUCCESS);
}

TEST(a_queue_that_is_polled_as_extended_is_known)
{
	struct wc wc = { .qp = QP };

	poll_one(10, VERB_poll_cq, &wc);
	assert_false(program.objects[CQ].by_ex);
	poll_one(11, VERB_start_poll, &wc);
	assert_true(program.objects[CQ].by_ex);
}
