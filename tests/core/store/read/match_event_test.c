/*
 * core/store/read/match_event.c: the effects of recorded calls on the queues of a matcher
 */
#include "core/store/open.h"
#include "tests/core/store/make_events.h"
#include "tests/test.h"

enum { SEND_SIZE = 4 };

static char path[256];
static struct maker m;
static struct make_world world;
static struct ibv_qp qp;
static struct ibv_mw mw;
static struct writer *writer;

/* A program with queue pair @qp, created with @sig_all by @verb. */
static void begin_program(enum verb verb, bool sig_all)
{
	struct ibv_qp_init_attr init = { .qp_type = IBV_QPT_RC,
					 .sq_sig_all = sig_all,
					 .cap = { .max_send_wr = SEND_SIZE, .max_recv_wr = 4 } };
	struct ibv_qp_init_attr_ex ex = { .qp_type = IBV_QPT_RC,
					  .comp_mask = IBV_QP_INIT_ATTR_PD,
					  .pd = &world.pd,
					  .sq_sig_all = sig_all,
					  .cap = { .max_send_wr = SEND_SIZE, .max_recv_wr = 4 } };

	make_now = 1000;
	snprintf(path, sizeof(path), "%s", make_path("match.db"));
	writer = make_writer(path);
	make_thread(&m, writer, 0, 100, 101);
	make_process(&m, 1, 0, 0, 0);
	make_world(&m, &world, 17);
	init.send_cq = init.recv_cq = ex.send_cq = ex.recv_cq = &world.cq;
	qp = world.qp;
	qp.qp_num = 18;
	if (verb == VERB_create_qp)
		make_verb(&m, verb, MAKE_ARGS(MAKE_PTR(&world.pd), MAKE_PTR(&init)),
			  (int64_t)MAKE_PTR(&qp), 0);
	else
		make_verb(&m, verb, MAKE_ARGS(MAKE_PTR(&world.context), MAKE_PTR(&ex)),
			  (int64_t)MAKE_PTR(&qp), 0);
}

static uint32_t post_send(uint64_t wr_id, unsigned int flags)
{
	return make_post(&m, VERB_post_send, &qp, wr_id, IBV_WR_SEND, flags);
}

static void complete_send(uint64_t wr_id)
{
	struct event_wc wc = make_wc(wr_id, IBV_WC_SUCCESS, IBV_WC_SEND, 18);

	make_poll(&m, &world.cq, 0, &wc, 1);
}

/* The posts that the completions of the program belong to, in order; 0: none. */
static void expect_posts(const uint32_t *posts, size_t n)
{
	const struct trace_event *event;
	struct cursor *cursor;
	struct trace *trace;
	size_t found = 0;

	make_end(&m);
	assert_int_equal(writer_finish(writer), 0);
	assert_int_equal(trace_open(path, &trace), 0);
	assert_int_equal(cursor_open(trace, NULL, &cursor), 0);
	while (cursor_next(cursor, &event) > 0) {
		if (event->kind != TRACE_POLL)
			continue;
		assert_true(found < n);
		assert_int_equal(event->poll->wc[0].request.n, posts[found++]);
	}
	assert_int_equal(found, n);
	cursor_close(cursor);
	trace_close(trace);
	unlink(path);
}

static const struct made {
	const char *name;
	enum verb verb;
	bool sig_all;
} mades[] = {
	{ "sq_sig_all_of_create_qp", VERB_create_qp, true },
	{ "no_sq_sig_all_of_create_qp", VERB_create_qp, false },
	{ "sq_sig_all_of_create_qp_ex", VERB_create_qp_ex, true },
	{ "no_sq_sig_all_of_create_qp_ex", VERB_create_qp_ex, false },
};

/*
 * Polled in the order of another thread's clock: an unsignaled request completes with a later one.
 */
static void sq_sig_all_is_read(void **state)
{
	const struct made *row = *state;
	uint32_t first, second;

	begin_program(row->verb, row->sig_all);
	first = post_send(1, 0);
	second = post_send(2, 0);
	complete_send(2);
	complete_send(1);
	expect_posts((uint32_t[]){ second, row->sig_all ? first : 0 }, 2);
}
TEST_ROWS(mades, sq_sig_all_is_read);

/* A queue cannot hold more than twice the requested size: the oldest has completed unseen. */
TEST(the_size_of_a_queue_bounds_what_is_outstanding)
{
	uint32_t posts[2 * SEND_SIZE + 1];

	begin_program(VERB_create_qp, false);
	for (uint64_t i = 0; i <= 2 * SEND_SIZE; i++)
		posts[i] = post_send(i + 1, IBV_SEND_SIGNALED);
	complete_send(2);
	complete_send(1);
	expect_posts((uint32_t[]){ posts[1], 0 }, 2);
}

static const struct modified {
	const char *name;
	enum ibv_qp_state to;
	bool stays;
} modifieds[] = {
	{ "reset_forgets_what_is_outstanding", IBV_QPS_RESET, false },
	{ "an_error_flushes_it", IBV_QPS_ERR, true },
};

static void state_is_read(void **state)
{
	const struct modified *row = *state;
	struct ibv_qp_attr attr = { .qp_state = row->to };
	uint32_t post;

	begin_program(VERB_create_qp, false);
	post = post_send(1, IBV_SEND_SIGNALED);
	make_verb(&m, VERB_modify_qp, MAKE_ARGS(MAKE_PTR(&qp), MAKE_PTR(&attr), IBV_QP_STATE), 0,
		  0);
	complete_send(1);
	expect_posts((uint32_t[]){ row->stays ? post : 0 }, 1);
}
TEST_ROWS(modifieds, state_is_read);

static const struct bind {
	const char *name;
	unsigned int flags;
	bool found;
} binds[] = {
	{ "a_bind_posts_a_request", IBV_SEND_SIGNALED, true },
	{ "a_bind_without_a_signal_goes_with_a_later_request", 0, false },
};

static void bind_is_a_request(void **state)
{
	const struct bind *row = *state;
	struct ibv_mw_bind bind = { .wr_id = 1, .send_flags = row->flags };
	uint32_t call, post;

	begin_program(VERB_create_qp, false);
	mw = (struct ibv_mw){ .context = &world.context, .pd = &world.pd, .type = IBV_MW_TYPE_1 };
	make_verb(&m, VERB_alloc_mw, MAKE_ARGS(MAKE_PTR(&world.pd), IBV_MW_TYPE_1),
		  (int64_t)MAKE_PTR(&mw), 0);
	call = make_verb(&m, VERB_bind_mw, MAKE_ARGS(MAKE_PTR(&qp), MAKE_PTR(&mw), MAKE_PTR(&bind)),
			 0, 0);
	post = post_send(2, IBV_SEND_SIGNALED);
	complete_send(2);
	complete_send(1);
	expect_posts((uint32_t[]){ post, row->found ? call : 0 }, 2);
}
TEST_ROWS(binds, bind_is_a_request);

TEST(what_was_refused_adds_no_request)
{
	struct ibv_mw_bind bind = { .wr_id = 1, .send_flags = IBV_SEND_SIGNALED };

	begin_program(VERB_create_qp, false);
	mw = (struct ibv_mw){ .context = &world.context, .pd = &world.pd, .type = IBV_MW_TYPE_1 };
	make_verb(&m, VERB_alloc_mw, MAKE_ARGS(MAKE_PTR(&world.pd), IBV_MW_TYPE_1),
		  (int64_t)MAKE_PTR(&mw), 0);
	make_verb(&m, VERB_bind_mw, MAKE_ARGS(MAKE_PTR(&qp), MAKE_PTR(&mw), MAKE_PTR(&bind)), 22,
		  0);
	complete_send(1);
	expect_posts((uint32_t[]){ 0 }, 1);
}
