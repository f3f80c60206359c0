/*
 * The order of small recordings, written as texts: "post 1:1" is a post by thread 1.
 *
 * Queue pair 1 of process 1 is connected to queue pair 2 of process 2, which has region 3 and
 * identifier 4.
 */
#include <errno.h>
#include <infiniband/verbs.h>
#include <stdlib.h>

#include "core/base/map.h"
#include "replay/schedule/order.h"
#include "tests/test.h"

enum {
	QP = 1,
	PEER,
	REGION,
	ID,
	OBJECTS,
	EVENTS = 6000,
	PROCESSES = 3,
	KEY = 0x77,
	ID_HANDLE = 0x55
};

/* A recording, and the events read from it. */
static struct {
	struct trace_event events[EVENTS];
	unsigned int count, next, released;
	struct post posts[EVENTS];
	struct poll polls[EVENTS];
	struct wc wcs[EVENTS];
	struct call calls[EVENTS];
	struct object objects[OBJECTS];
	int64_t last[PROCESSES];
	int64_t time;
	struct map heard;
	char text[4096];
} recorded;

static const struct wr write_wr = { .opcode = IBV_WR_RDMA_WRITE, .nsge = 0, .rkey = KEY };

static int next_event(void *arg, const struct trace_event **ret_event)
{
	(void)arg;
	if (recorded.next == recorded.count)
		return 0;
	*ret_event = &recorded.events[recorded.next++];
	return 1;
}

static void release_event(void *arg, const struct trace_event *event)
{
	(void)arg;
	assert_true(event >= recorded.events && event < recorded.events + recorded.count);
	recorded.released++;
}

static bool is_short(void *arg)
{
	(void)arg;
	return false;
}

static int64_t last_time(void *arg, uint32_t process)
{
	(void)arg;
	return recorded.last[process];
}

static const struct object *find_destroyed(void *arg, uint32_t process, uint32_t rkey, int64_t time)
{
	(void)arg;
	(void)time;
	return process == 2 && rkey == KEY ? &recorded.objects[REGION] : NULL;
}

static const struct object *find_object(void *arg, uint32_t id)
{
	(void)arg;
	return id && id < OBJECTS ? &recorded.objects[id] : NULL;
}

static int begin_recording(void **state)
{
	(void)state;
	memset(&recorded, 0, sizeof(recorded));
	recorded.objects[QP] = (struct object){ .id = QP, .process = 1, .kind = OBJECT_qp };
	recorded.objects[PEER] = (struct object){ .id = PEER, .process = 2, .kind = OBJECT_qp };
	recorded.objects[REGION] = (struct object){ .id = REGION, .process = 2 };
	recorded.objects[ID] = (struct object){ .id = ID, .process = 2, .handle = ID_HANDLE };
	for (int i = 0; i < PROCESSES; i++)
		recorded.last[i] = INT64_MAX;
	return 0;
}

static int end_recording(void **state)
{
	(void)state;
	map_fini(&recorded.heard);
	return 0;
}

FIXTURE(begin_recording, end_recording);

static struct trace_event *add_event(enum trace_event_kind kind, uint32_t thread, uint64_t n)
{
	struct trace_event *e = &recorded.events[recorded.count++];

	*e = (struct trace_event){ .kind = kind,
				   .id = { thread, n },
				   .process = thread < 10 ? 1 : 2,
				   .time = ++recorded.time };
	return e;
}

static void add_post(uint32_t thread, uint64_t n)
{
	struct trace_event *e = add_event(TRACE_POST, thread, n);
	struct post *post = &recorded.posts[recorded.count];

	*post = (struct post){ .verb = VERB_post_send, .object = QP, .nwr = 1, .wr = &write_wr };
	e->post = post;
}

static void add_poll(uint32_t thread, uint64_t n, int status, struct event_id request)
{
	struct trace_event *e = add_event(TRACE_POLL, thread, n);
	struct poll *poll = &recorded.polls[recorded.count];
	struct wc *wc = &recorded.wcs[recorded.count];

	*wc = (struct wc){ .status = status, .qp = QP, .request = request };
	*poll = (struct poll){ .ret = 1, .nwc = 1, .wc = wc };
	e->poll = poll;
}

static void add_call(enum trace_event_kind kind, uint32_t thread, uint64_t n, enum verb verb)
{
	struct trace_event *e = add_event(kind, thread, n);
	struct call *call = &recorded.calls[recorded.count];

	*call = (struct call){ .verb = verb, .begin = e->time, .end = e->time + 1 };
	e->call = call;
	if (kind == TRACE_CALL && verb == VERB_dereg_mr) {
		recorded.objects[REGION].destroyed = e->id;
		recorded.objects[REGION].destroyed_at = e->time;
	}
}

static void add_exit(uint32_t process)
{
	add_event(TRACE_EXIT, 0, 0)->process = process;
}

static const struct order_source source = {
	.next = next_event,
	.release = release_event,
	.is_short = is_short,
	.last_time = last_time,
	.soonest = 0,
	.destroyed = find_destroyed,
	.object = find_object,
	.heard = &recorded.heard,
};

static void print_event(const struct ordered_event *ordered)
{
	const struct trace_event *e = ordered->event;

	static const char *const kinds[] = { [TRACE_CALL] = "begin",
					     [TRACE_RETURN] = "end",
					     [TRACE_POST] = "post",
					     [TRACE_POLL] = "poll",
					     [TRACE_EXIT] = "exit" };
	size_t used = strlen(recorded.text);

	snprintf(recorded.text + used, sizeof(recorded.text) - used, "%s%s %u:%u%s",
		 used ? ", " : "", kinds[e->kind],
		 e->kind == TRACE_EXIT ? e->process : e->id.thread, (unsigned int)e->id.n,
		 ordered->stops ? " fails" : "");
}

/* All events in their order; the peer has been stopped by @stop, if that has a thread. */
static const char *put_in_order(struct event_id stop, bool print)
{
	struct relation of[OBJECTS] = {
		[QP] = { .receives = QP, .peer = PEER }, [PEER] = { .receives = PEER, .peer = QP }
	};
	struct relations relations = { .of = of, .nobjects = OBJECTS };
	struct ordered_event event;
	struct order *order;
	unsigned int given = 0;

	of[PEER].stopped = stop.thread;
	of[PEER].end = stop;
	assert_int_equal(order_new(&source, &relations, &order), 0);
	for (; order_next(order, &event) > 0; given++) {
		if (print)
			print_event(&event);
		order_release(order, &event);
	}
	assert_int_equal(recorded.released, recorded.count);
	order_free(order);
	return recorded.text;
}

#define assert_order(wanted) assert_string_equal(put_in_order((struct event_id){ 0 }, true), wanted)

TEST(without_evidence_the_times_decide)
{
	add_post(1, 1);
	add_post(2, 1);
	add_poll(1, 2, IBV_WC_SUCCESS, (struct event_id){ 1, 1 });
	add_poll(1, 3, IBV_WC_SUCCESS, (struct event_id){ 2, 1 });
	assert_order("post 1:1, post 2:1, poll 1:2, poll 1:3");
}

TEST(posts_of_two_threads_are_in_the_order_of_their_completions)
{
	add_post(1, 1);
	add_post(2, 1);
	add_poll(3, 1, IBV_WC_SUCCESS, (struct event_id){ 2, 1 });
	add_poll(3, 2, IBV_WC_SUCCESS, (struct event_id){ 1, 1 });
	assert_order("post 2:1, post 1:1, poll 3:1, poll 3:2");
}

TEST(a_request_that_was_flushed_did_not_fail_by_itself)
{
	add_post(1, 1);
	add_post(1, 2);
	add_poll(1, 3, IBV_WC_LOC_PROT_ERR, (struct event_id){ 1, 1 });
	add_poll(1, 4, IBV_WC_WR_FLUSH_ERR, (struct event_id){ 1, 2 });
	assert_order("post 1:1 fails, post 1:2, poll 1:3, poll 1:4");
}

TEST(a_post_does_not_pass_another_event_of_its_thread)
{
	add_post(1, 1);
	add_poll(1, 2, IBV_WC_SUCCESS, (struct event_id){ 9, 9 });
	add_post(2, 1);
	add_poll(2, 2, IBV_WC_SUCCESS, (struct event_id){ 2, 1 });
	add_poll(1, 3, IBV_WC_SUCCESS, (struct event_id){ 1, 1 });
	assert_order("post 2:1, post 1:1, poll 1:2, poll 2:2, poll 1:3");
}

/*
 * The posting thread was stopped inside the post, while another continued for thousands of events.
 */
TEST(a_post_waits_for_its_completion_however_late)
{
	add_post(1, 1);
	for (unsigned int i = 1; i < 2500; i++) {
		add_post(2, 2 * i - 1);
		add_poll(2, 2 * i, IBV_WC_SUCCESS, (struct event_id){ 2, 2 * i - 1 });
	}
	add_poll(3, 1, IBV_WC_SUCCESS, (struct event_id){ 1, 1 });
	put_in_order((struct event_id){ 0 }, true);
	assert_true(!strncmp(recorded.text, "post 2:1, poll 2:2", 18));
}

TEST(a_dereg_that_began_before_comes_before_what_failed_by_it)
{
	add_call(TRACE_CALL, 10, 1, VERB_dereg_mr);
	add_post(1, 1);
	add_poll(1, 2, IBV_WC_REM_ACCESS_ERR, (struct event_id){ 1, 1 });
	add_call(TRACE_RETURN, 10, 1, VERB_dereg_mr);
	assert_order("end 10:1, post 1:1 fails, poll 1:2");
}

TEST(a_dereg_that_has_not_returned_comes_after_what_went_well)
{
	add_call(TRACE_CALL, 10, 1, VERB_dereg_mr);
	add_post(1, 1);
	add_poll(1, 2, IBV_WC_SUCCESS, (struct event_id){ 1, 1 });
	add_post(1, 3);
	add_poll(1, 4, IBV_WC_REM_ACCESS_ERR, (struct event_id){ 1, 3 });
	add_call(TRACE_RETURN, 10, 1, VERB_dereg_mr);
	assert_order("post 1:1, poll 1:2, end 10:1, post 1:3 fails, poll 1:4");
}

TEST(what_failed_by_a_dereg_that_began_later_comes_after_it)
{
	add_post(1, 1);
	add_call(TRACE_CALL, 10, 1, VERB_dereg_mr);
	add_call(TRACE_RETURN, 10, 1, VERB_dereg_mr);
	add_poll(1, 2, IBV_WC_REM_ACCESS_ERR, (struct event_id){ 1, 1 });
	assert_order("begin 10:1, end 10:1, post 1:1 fails, poll 1:2");
}

TEST(a_dereg_stays_after_what_went_well)
{
	add_call(TRACE_CALL, 10, 1, VERB_dereg_mr);
	add_post(1, 1);
	add_poll(1, 2, IBV_WC_SUCCESS, (struct event_id){ 1, 1 });
	add_call(TRACE_RETURN, 10, 1, VERB_dereg_mr);
	assert_order("begin 10:1, post 1:1, poll 1:2, end 10:1");
}

TEST(an_end_that_was_noticed_late_comes_before_what_failed_by_it)
{
	add_call(TRACE_CALL, 10, 1, VERB_query_port);
	recorded.last[2] = recorded.time;
	add_post(1, 1);
	add_poll(1, 2, IBV_WC_SUCCESS, (struct event_id){ 1, 1 });
	add_post(1, 3);
	add_poll(1, 4, IBV_WC_RETRY_EXC_ERR, (struct event_id){ 1, 3 });
	add_exit(2);
	assert_order("begin 10:1, post 1:1, poll 1:2, exit 2:0, post 1:3 fails, poll 1:4");
}

/* The exit comes thousands of events after the evidence. */
TEST(an_end_that_is_not_in_the_window_is_made)
{
	recorded.last[2] = 0;
	add_post(1, 1);
	add_poll(1, 2, IBV_WC_RETRY_EXC_ERR, (struct event_id){ 1, 1 });
	for (unsigned int i = 3; i < 5000; i++)
		add_call(TRACE_CALL, 1, i, VERB_query_port);
	add_exit(2);
	put_in_order((struct event_id){ 0 }, true);
	assert_true(!strncmp(recorded.text, "exit 2:0, post 1:1 fails, poll 1:2, ", 36));
	assert_null(strstr(recorded.text + 1, "exit"));
}

TEST(an_end_is_not_before_the_last_event_of_its_process)
{
	add_post(1, 1);
	add_call(TRACE_CALL, 10, 1, VERB_query_port);
	recorded.last[2] = recorded.time;
	add_poll(1, 2, IBV_WC_RETRY_EXC_ERR, (struct event_id){ 1, 1 });
	add_exit(2);
	assert_order("begin 10:1, exit 2:0, post 1:1 fails, poll 1:2");
}

TEST(an_end_stays_where_nothing_shows_it)
{
	recorded.last[2] = 0;
	add_post(1, 1);
	add_poll(1, 2, IBV_WC_SUCCESS, (struct event_id){ 1, 1 });
	add_exit(2);
	assert_order("post 1:1, poll 1:2, exit 2:0");
}

TEST(a_stop_comes_after_what_went_well)
{
	add_call(TRACE_CALL, 10, 1, VERB_modify_qp);
	add_post(1, 1);
	add_poll(1, 2, IBV_WC_SUCCESS, (struct event_id){ 1, 1 });
	add_call(TRACE_RETURN, 10, 1, VERB_modify_qp);
	assert_string_equal(put_in_order((struct event_id){ 10, 1 }, true),
			    "post 1:1, begin 10:1, poll 1:2, end 10:1");
}

TEST(a_post_comes_after_the_stop_that_it_failed_by)
{
	add_post(1, 1);
	add_call(TRACE_CALL, 10, 1, VERB_modify_qp);
	add_call(TRACE_RETURN, 10, 1, VERB_modify_qp);
	add_poll(1, 2, IBV_WC_RETRY_EXC_ERR, (struct event_id){ 1, 1 });
	assert_string_equal(put_in_order((struct event_id){ 10, 1 }, true),
			    "begin 10:1, post 1:1 fails, end 10:1, poll 1:2");
}

/* By thread 1, before thread 10 listened. */
static void add_request(uint64_t n, uint64_t heard_by)
{
	add_call(TRACE_CALL, 1, n, VERB_rdma_connect);
	assert_int_equal(
		map_put(&recorded.heard, (uint64_t)1 << 40 ^ n, (uint64_t)10 << 40 ^ heard_by), 0);
}

TEST(a_request_that_was_received_comes_after_the_listen)
{
	add_call(TRACE_CALL, 10, 1, VERB_rdma_create_id);
	add_request(1, 3);
	add_call(TRACE_CALL, 10, 2, VERB_rdma_bind_addr);
	add_call(TRACE_CALL, 1, 2, VERB_create_qp);
	add_request(3, 3);
	add_call(TRACE_CALL, 10, 3, VERB_rdma_listen);
	add_call(TRACE_CALL, 10, 4, VERB_rdma_accept);
	assert_order("begin 10:1, begin 10:2, begin 10:3, begin 1:1, begin 1:2, begin 1:3, "
		     "begin 10:4");
}

TEST(a_request_that_was_not_received_does_not_wait)
{
	add_request(1, 9);
	add_call(TRACE_CALL, 10, 3, VERB_rdma_listen);
	assert_order("begin 1:1, begin 10:3");
}

/* Calls of the listener in between, and evidence that these must stay there. */
TEST(a_listener_stays_behind_what_others_know_of)
{
	add_request(1, 3);
	add_call(TRACE_CALL, 10, 2, VERB_rdma_accept);
	add_call(TRACE_CALL, 10, 3, VERB_rdma_listen);
	assert_order("begin 1:1, begin 10:2, begin 10:3");
}

TEST(a_listener_stays_behind_another_thread_of_its_process)
{
	add_request(1, 3);
	add_call(TRACE_CALL, 11, 1, VERB_rdma_create_id);
	add_call(TRACE_CALL, 10, 3, VERB_rdma_listen);
	assert_order("begin 1:1, begin 11:1, begin 10:3");
}

/* rdma_destroy_id() from 1 to @end, and meanwhile another thread of process 2 gets an event. */
static void destroy_while_an_event_comes(const char *out, int64_t end)
{
	struct args *args = args_new(out, strlen(out));

	add_call(TRACE_CALL, 10, 1, VERB_rdma_destroy_id);
	recorded.calls[recorded.count].object = ID;
	recorded.calls[recorded.count].end = end;
	add_post(1, 1);
	add_call(TRACE_RETURN, 11, 1, VERB_rdma_get_cm_event);
	recorded.calls[recorded.count].out = args;
	recorded.calls[recorded.count].failed = !*out;
	add_poll(1, 2, IBV_WC_SUCCESS, (struct event_id){ 1, 1 });
	put_in_order((struct event_id){ 0 }, true);
	args_unref(args);
}

TEST(an_identifier_is_destroyed_after_its_last_event)
{
	destroy_while_an_event_comes("{\"event\":{\"id\":85}}", 9);
	assert_string_equal(recorded.text, "post 1:1, end 11:1, begin 10:1, poll 1:2");
}

TEST(an_event_of_another_identifier_does_not_delay_a_destroy)
{
	destroy_while_an_event_comes("{\"event\":{\"id\":86}}", 9);
	assert_string_equal(recorded.text, "begin 10:1, post 1:1, end 11:1, poll 1:2");
}

TEST(an_event_after_a_destroy_is_of_another_identifier)
{
	destroy_while_an_event_comes("{\"event\":{\"id\":85}}", 3);
	assert_string_equal(recorded.text, "begin 10:1, post 1:1, end 11:1, poll 1:2");
}

TEST(a_failed_wait_for_an_event_does_not_delay_a_destroy)
{
	destroy_while_an_event_comes("", 9);
	assert_string_equal(recorded.text, "begin 10:1, post 1:1, end 11:1, poll 1:2");
}
