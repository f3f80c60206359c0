/*
 * replay/cm/cm_call.c: which calls of librdmacm a replay repeats, and with which arguments
 *
 * END and PEER are the ends of a connection, LISTENER has received its request; LONE's other end is
 * not in the trace.
 */
#include "tests/replay/cm_fake.h"

enum { END = 1, PEER, LISTENER, LONE, QP, FAR_QP, CHANNEL, LAST };

static int begin_calls(void **state)
{
	static const char *const names[] = { "192.0.2.1:7", "192.0.2.2:40" };

	begin_cm(state);
	for (uint32_t i = END; i <= LONE; i++)
		add_object(OBJECT_cm_id, 1, 100 + i);
	add_object(OBJECT_qp, 1, 100 + QP)->number = 0x77;
	add_object(OBJECT_qp, 2, 100 + FAR_QP)->number = 0x78;
	add_object(OBJECT_cm_channel, 1, 100 + CHANNEL);
	drive_cm();
	for (uint32_t i = END; i <= PEER; i++) {
		struct cm_end *end = cm_end_of(&replay, i);

		strcpy(end->src, names[i == END]);
		strcpy(end->dst, names[i == PEER]);
		end->partner = i == END ? PEER : END;
	}
	strcpy(cm_end_of(&replay, LISTENER)->src, names[0]);
	cm_end_of(&replay, PEER)->listener = LISTENER;
	return 0;
}

FIXTURE(begin_calls, end_cm);

static struct call *call_of(const struct trace_event *event)
{
	return &cm_calls[event - cm_trace];
}

/* Replay the call, and compare what librdmacm and the report got. */
static void replay_call(const struct trace_event *event, const char *expected)
{
	assert_int_equal(cm_replay(&replay, event), 0);
	expect_log(expected);
}

/* A call for the identifier at @object; @more: other arguments. */
static struct trace_event *add_for(enum verb verb, uint32_t object, const char *more)
{
	char text[1024];

	snprintf(text, sizeof(text), "{\"id\":%u%s}", object ? 100 + object : 0, more);
	return add_call(verb, object, text, NULL);
}

static void replay_for(enum verb verb, uint32_t object, const char *more, const char *expected)
{
	replay_call(add_for(verb, object, more), expected);
}

static void create_id(uint32_t object)
{
	replay_call(add_call(VERB_rdma_create_id, object, "{\"ps\":262,\"channel\":107}", NULL),
		    object == 1   ? "create 1"
		    : object == 2 ? "create 2"
				  : "create 3");
}

/* Create an identifier that has a device. */
static struct rdma_cm_id *create_bound(uint32_t object)
{
	struct cm_end *end = cm_end_of(&replay, object);

	assert_int_equal(cm_open_end(&replay, end, cm_channel_of(&replay, 0), RDMA_PS_TCP), 0);
	*cm_log = 0;
	end->id->verbs = &cm_context;
	return end->id;
}

TEST(an_identifier_is_created_on_its_channel)
{
	(void)state;
	replay_call(add_call(VERB_rdma_create_event_channel, CHANNEL, "{}", NULL), "");
	assert_int_equal(cm_nchannels, 1);
	create_id(END);
	assert_int_equal(cm_nchannels, 1);
	assert_ptr_equal(cm_ids[1].channel, cm_channel_of(&replay, CHANNEL));
	assert_int_equal(cm_ids[1].ps, RDMA_PS_TCP);
	assert_ptr_equal(cm_end_of(&replay, END)->id, &cm_ids[1]);
	assert_int_equal(cm_told.calls, 2);
	assert_int_equal(cm_told.ret, 0);
	/* again, by a damaged trace */
	replay_call(add_call(VERB_rdma_create_id, END, "{\"ps\":262,\"channel\":107}", NULL), "");
	assert_int_equal(cm_told.calls, 2);
	replay_call(add_call(VERB_rdma_create_id, QP, "{\"ps\":262,\"channel\":107}", NULL), "");
}

TEST(an_identifier_without_a_channel_uses_that_of_the_replay)
{
	(void)state;
	cm_channel_of(&replay, CHANNEL);
	replay_call(add_call(VERB_rdma_create_id, END, "{\"ps\":273,\"channel\":0}", NULL),
		    "create 1 udp");
	assert_ptr_equal(cm_ids[1].channel, cm_channel_of(&replay, 0));
	assert_true(cm_end_of(&replay, END)->datagrams);
	replay_call(add_call(VERB_rdma_create_id, PEER, "{\"channel\":999}", NULL), "create 2");
	assert_ptr_equal(cm_ids[2].channel, cm_channel_of(&replay, 0));
	assert_int_equal(cm_ids[2].ps, RDMA_PS_TCP);
}

TEST(a_channel_of_a_synchronous_identifier_is_not_needed)
{
	struct trace_event *event = add_call(VERB_rdma_create_event_channel, CHANNEL, "{}", NULL);

	(void)state;
	call_of(event)->depth = 1;
	replay_call(event, "");
	assert_int_equal(cm_nchannels, 0);
	event = add_call(VERB_rdma_destroy_event_channel, CHANNEL, "{}", NULL);
	call_of(event)->depth = 1;
	replay_call(event, "");
	assert_int_equal(cm_told.calls, 0);
	call_of(event)->depth = 0;
	replay_call(event, "");
	assert_int_equal(cm_told.calls, 1);
	create_bound(END);
	event = add_for(VERB_rdma_migrate_id, END, ",\"channel\":107");
	call_of(event)->depth = 1;
	replay_call(event, "");
	call_of(event)->depth = 0;
	replay_call(event, "migrate 1 to 1");
}

TEST(the_error_of_a_call_is_compared)
{
	struct trace_event *event;

	(void)state;
	cm_fails = "create_id";
	cm_error = ENODEV;
	event = add_call(VERB_rdma_create_id, END, "{\"ps\":262}", NULL);
	call_of(event)->ret = -1;
	call_of(event)->failed = true;
	replay_call(event, "");
	assert_int_equal(cm_told.ret, -1);
	assert_int_equal(cm_told.err, ENODEV);
	assert_true(cm_told.there.failed);
	assert_int_equal(cm_told.there.ret, -1);
	cm_told.err = 0;
	call_of(event)->end = -1; /* its result is not known */
	replay_call(event, "");
	assert_int_equal(cm_told.err, 0);
}

TEST(without_a_channel_there_is_no_identifier)
{
	(void)state;
	cm_fails = "create_event_channel";
	cm_error = EMFILE;
	replay_call(add_call(VERB_rdma_create_event_channel, CHANNEL, "{}", NULL), "");
	assert_int_equal(cm_told.ret, 0); /* a NULL */
	assert_int_equal(cm_told.err, EMFILE);
	replay_call(add_call(VERB_rdma_create_id, END, "{\"ps\":262,\"channel\":107}", NULL), "");
	assert_int_equal(cm_told.ret, -1);
	assert_int_equal(cm_told.err, ENODEV);
}

TEST(a_new_channel_is_compared_as_such)
{
	(void)state;
	replay_call(add_call(VERB_rdma_create_event_channel, CHANNEL, "{}", NULL), "");
	assert_int_equal(cm_told.ret, 1); /* one was created: no NULL */
}

TEST(a_call_that_waited_for_its_event_is_only_begun)
{
	struct trace_event *event = add_for(VERB_rdma_resolve_route, END, ",\"timeout_ms\":50");

	(void)state;
	create_bound(END);
	call_of(event)->failed = true;
	call_of(event)->ret = -1;
	map_put(&replay.cm->waited, event_key(event->id), 1);
	replay_call(event, "route 1 50");
	assert_false(cm_told.there.failed);
	assert_int_equal(cm_told.there.ret, 0);
}

TEST(an_identifier_is_destroyed)
{
	(void)state;
	create_bound(END);
	replay_for(VERB_rdma_destroy_id, END, "", "destroy 1");
	assert_int_equal(cm_told.ret, 0);
	assert_null(cm_end_of(&replay, END)->id);
	replay_for(VERB_rdma_destroy_id, END, "",
		   "skipped 1 its identifier does not exist in the replay");
	replay_for(VERB_rdma_destroy_id, 0, "", "skipped 0 its identifier is not in the trace");
	assert_int_equal(cm_told.calls, 1);
}

TEST(calls_inside_others_need_no_identifier)
{
	struct trace_event *event = add_for(VERB_rdma_destroy_id, END, "");

	(void)state;
	call_of(event)->depth = 1;
	replay_call(event, "tolerated an identifier that librdmacm c");
	create_bound(END);
	replay_call(event, "destroy 1");
}

/* A damaged trace may have no device there: librdmacm would follow a NULL pointer. */
static const struct device_row {
	const char *name;
	enum verb verb;
	const char *more, *expected;
} device_rows[] = {
	{ "route", VERB_rdma_resolve_route, "", "" },
	{ "connect", VERB_rdma_connect, "", "" },
	{ "accept", VERB_rdma_accept, "", "" },
	{ "establish", VERB_rdma_establish, "", "" },
	{ "disconnect", VERB_rdma_disconnect, "", "" },
	{ "join", VERB_rdma_join_multicast, ",\"addr\":\"224.0.0.1:0\"", "" },
	{ "join_ex", VERB_rdma_join_multicast_ex, ",\"mc_join_attr\":{\"addr\":\"224.0.0.1:0\"}",
	  "" },
	{ "leave", VERB_rdma_leave_multicast, ",\"addr\":\"224.0.0.1:0\"", "" },
	{ "reject", VERB_rdma_reject, "", "reject 1 ''" },
	{ "notify", VERB_rdma_notify, ",\"event\":4", "notify 1 4" },
};

static void expect_refused(void **state)
{
	const struct device_row *row = *state;

	begin_calls(state);
	create_bound(END)->verbs = NULL;
	replay_for(row->verb, END, row->more, row->expected);
	assert_int_equal(cm_told.ret, *row->expected ? 0 : -1);
	assert_int_equal(cm_told.err, *row->expected ? 0 : EINVAL);
	assert_int_equal(cm_told.calls, 1);
	end_cm(state);
}

TEST_ROWS(device_rows, expect_refused);

TEST(calls_pass_their_arguments)
{
	(void)state;
	create_bound(END);
	replay_for(VERB_rdma_establish, END, "", "establish 1");
	replay_for(VERB_rdma_disconnect, END, "", "disconnect 1");
	replay_for(VERB_rdma_notify, END, ",\"event\":\"IBV_EVENT_COMM_EST\"", "notify 1 4");
	replay_for(VERB_rdma_reject, END, ",\"private_data\":\"6162\",\"private_data_len\":2",
		   "reject 1 'ab'");
	replay_for(VERB_rdma_reject_ece, END, ",\"private_data\":\"6162\",\"private_data_len\":1",
		   "reject_ece 1 'a'");
	replay_for(VERB_rdma_join_multicast, END, ",\"addr\":\"224.0.0.1:0\"",
		   "join 1 224.0.0.1:0");
	replay_for(VERB_rdma_join_multicast_ex, END,
		   ",\"mc_join_attr\":{\"addr\":\"224.0.0.2:0\",\"comp_mask\":3,\"join_flags\":2}",
		   "join_ex 1 224.0.0.2:0 3 2");
	replay_for(VERB_rdma_leave_multicast, END, ",\"addr\":\"224.0.0.1:0\"",
		   "leave 1 224.0.0.1:0");
	/* groups that it has not left are left before the identifier is destroyed */
	replay_for(VERB_rdma_destroy_id, END, "", "leave 1 224.0.0.2:0; destroy 1");
	assert_int_equal(cm_told.calls, 9);
}

TEST(private_data_may_be_recorded_in_part)
{
	(void)state;
	create_bound(END);
	replay_for(VERB_rdma_reject, END, ",\"private_data\":\"61626\",\"private_data_len\":3",
		   "reject 1 'ab'"); /* zeros follow */
	replay_for(VERB_rdma_reject, END, ",\"private_data_len\":3", "reject 1 ''");
	replay_for(VERB_rdma_reject, END, ",\"private_data\":\"6162\",\"private_data_len\":1",
		   "reject 1 'a'");
	replay.cm->lib.reject_ece = NULL; /* an older library */
	replay_for(VERB_rdma_reject_ece, END, "", "reject 1 ''");
	replay.cm->lib.join_multicast_ex = NULL;
	replay_for(VERB_rdma_join_multicast_ex, END, ",\"mc_join_attr\":{\"addr\":\"224.0.0.2:0\"}",
		   "join 1 224.0.0.2:0");
}

TEST(options_of_an_identifier_are_set)
{
	(void)state;
	create_bound(END);
	replay_for(VERB_rdma_set_option, END,
		   ",\"level\":0,\"optname\":2,\"optval\":\"414243\",\"optlen\":3",
		   "option 1 0 2 3 'ABC'");
	assert_int_equal(cm_told.calls, 1);
	replay_for(VERB_rdma_set_option, END, ",\"level\":1,\"optval\":\"41\",\"optlen\":1",
		   "tolerated an option that sets a path of ");
	replay_for(VERB_rdma_set_option, END, ",\"level\":0,\"optlen\":1",
		   "tolerated an option that sets a path of ");
	replay_for(VERB_rdma_set_option, END, ",\"level\":0,\"optval\":\"41\",\"optlen\":257",
		   "tolerated an option that sets a path of ");
	assert_int_equal(cm_told.calls, 1);
	replay_for(VERB_rdma_set_option, END,
		   ",\"level\":0,\"optname\":1,\"optval\":\"4142\",\"optlen\":1",
		   "option 1 0 1 1 'A'");
	replay_for(VERB_rdma_set_option, END,
		   ",\"level\":0,\"optname\":1,\"optval\":\"41\",\"optlen\":2",
		   "option 1 0 1 2 'A'");
}

#define PARAMETERS                                                              \
	",\"conn_param\":{\"private_data\":\"6869\",\"private_data_len\":2,"    \
	"\"responder_resources\":%d,\"initiator_depth\":%d,\"flow_control\":1," \
	"\"retry_count\":5,\"rnr_retry_count\":6,\"srq\":1,\"qp_num\":%d}"

static void replay_connect(enum verb verb, int resources, int depth, int number,
			   const char *expected)
{
	char more[512];

	snprintf(more, sizeof(more), PARAMETERS, resources, depth, number);
	replay_for(verb, LONE, more, expected);
}

TEST(a_connection_has_the_recorded_parameters)
{
	(void)state;
	create_bound(LONE);
	replay_connect(VERB_rdma_connect, 2, 3, 4, "connect 1 2/3 1 5/6 1 qp 4 'hi'");
	replay_connect(VERB_rdma_accept, 2, 3, 4, "accept 1 2/3 1 5/6 1 qp 4 'hi'");
	replay_for(VERB_rdma_accept, LONE, "", "accept 1 255/255 0 7/7 0 qp 0 ''");
	cm_fails = "accept";
	replay_for(VERB_rdma_accept, LONE, "", "accept 1 255/255 0 7/7 0 qp 0 ''");
	assert_int_equal(cm_told.ret, -1);
}

TEST(what_the_device_cannot_is_left_to_librdmacm)
{
	struct trace_event *event;
	char more[512];

	(void)state;
	cm_device.attr.max_qp_init_rd_atom = 3;
	cm_device.attr.max_qp_rd_atom = 2;
	create_bound(LONE);
	replay_connect(VERB_rdma_connect, 2, 3, 4, "connect 1 2/3 1 5/6 1 qp 4 'hi'");
	replay_connect(VERB_rdma_connect, 3, 4, 4, "connect 1 255/255 1 5/6 1 qp 4 'hi'");
	snprintf(more, sizeof(more), PARAMETERS, 3, 4, 4);
	event = add_for(VERB_rdma_connect, LONE, more);
	call_of(event)->failed = true; /* perhaps the reason for the failure */
	replay_call(event, "connect 1 3/4 1 5/6 1 qp 4 'hi'");
	cm_device.attr.max_qp_init_rd_atom = 0; /* not known */
	replay_connect(VERB_rdma_connect, 1, 4, 4, "connect 1 1/4 1 5/6 1 qp 4 'hi'");
	cm_device.attr.max_qp_init_rd_atom = 1;
	replay_connect(VERB_rdma_connect, 1, 2, 4, "connect 1 1/255 1 5/6 1 qp 4 'hi'");
	replay_connect(VERB_rdma_connect, 255, 255, 4, "connect 1 255/255 1 5/6 1 qp 4 'hi'");
}

TEST(the_number_of_a_queue_pair_is_that_of_the_replay)
{
	(void)state;
	create_bound(LONE);
	cm_replicas[QP].number = 0x99;
	cm_replicas[FAR_QP].number = 0x98;
	replay_connect(VERB_rdma_connect, 1, 1, 0x77, "connect 1 1/1 1 5/6 1 qp 153 'hi'");
	replay_connect(VERB_rdma_connect, 1, 1, 0x78, "connect 1 1/1 1 5/6 1 qp 120 'hi'");
	objects[QP].destroyed_at = cm_trace[1].time + 10; /* before the next call */
	replay_connect(VERB_rdma_connect, 1, 1, 0x77, "connect 1 1/1 1 5/6 1 qp 119 'hi'");
	objects[QP].destroyed_at = INT64_MAX;
	objects[QP].created_at = cm_trace[2].time + 11;
	replay_connect(VERB_rdma_connect, 1, 1, 0x77, "connect 1 1/1 1 5/6 1 qp 119 'hi'");
	objects[QP].created_at = cm_trace[3].time + 10;
	replay_connect(VERB_rdma_connect, 1, 1, 0x77, "connect 1 1/1 1 5/6 1 qp 153 'hi'");
	cm_end_of(&replay, LONE)->qp = FAR_QP; /* that of the identifier */
	replay_connect(VERB_rdma_connect, 1, 1, 0x77, "connect 1 1/1 1 5/6 1 qp 152 'hi'");
	replay_for(VERB_rdma_connect, LONE, "", "connect 1 255/255 0 7/7 0 qp 152 ''");
	cm_replicas[FAR_QP].number = 0;
	replay_connect(VERB_rdma_connect, 1, 1, 0x77, "connect 1 1/1 1 5/6 1 qp 119 'hi'");
}

/* Whatever the program says. */
TEST(a_queue_pair_tells_whether_its_receives_are_shared)
{
	struct ibv_srq srq;
	struct ibv_qp qp = { 0 };

	(void)state;
	create_bound(LONE);
	cm_end_of(&replay, LONE)->qp = QP;
	cm_replicas[QP].number = 0x99;
	cm_replicas[QP].handle = &qp;
	replay_connect(VERB_rdma_accept, 1, 1, 0, "accept 1 1/1 1 5/6 0 qp 153 'hi'");
	replay_for(VERB_rdma_accept, LONE, "", "accept 1 255/255 0 7/7 0 qp 153 ''");
	qp.srq = &srq;
	replay_connect(VERB_rdma_connect, 1, 1, 0, "connect 1 1/1 1 5/6 1 qp 153 'hi'");
	replay_for(VERB_rdma_accept, LONE, "", "accept 1 255/255 0 7/7 1 qp 153 ''");
	cm_replicas[QP].handle = NULL;
}

TEST(a_request_waits_until_its_listener_listens)
{
	const struct cm_place *place;

	(void)state;
	create_bound(END);
	create_bound(LISTENER);
	replay_for(VERB_rdma_connect, END,
		   ",\"conn_param\":{\"responder_resources\":1,\"initiator_depth\":1}", "");
	assert_true(cm_end_of(&replay, END)->waits);
	assert_int_equal(cm_told.ret, 0);
	((struct sockaddr_in *)&cm_ids[2].route.addr.src_storage)->sin_port = htons(50);
	replay_for(VERB_rdma_listen, LISTENER, ",\"backlog\":9",
		   "listen 2 9; connect 1 1/1 0 0/0 0 qp 0 ''");
	assert_false(cm_end_of(&replay, END)->waits);
	place = cm_place_find(&replay, "192.0.2.1:7", false, false);
	assert_non_null(place);
	assert_int_equal(place->port, htons(50));
	assert_true(place->listened);
	/* from now on at once */
	replay_for(VERB_rdma_connect, END,
		   ",\"conn_param\":{\"responder_resources\":1,\"initiator_depth\":2}",
		   "connect 1 1/2 0 0/0 0 qp 0 ''");
	assert_false(cm_end_of(&replay, END)->waits);
}

TEST(only_requests_to_that_listener_stop_waiting)
{
	(void)state;
	create_bound(END);
	create_bound(LISTENER);
	create_bound(LONE);
	strcpy(cm_end_of(&replay, LONE)->dst, "192.0.2.1:8");
	cm_end_of(&replay, LONE)->partner = PEER;
	replay_for(VERB_rdma_connect, LONE, "", "");
	((struct sockaddr_in *)&cm_ids[2].route.addr.src_storage)->sin_port = htons(50);
	replay_for(VERB_rdma_listen, LISTENER, ",\"backlog\":9", "listen 2 9");
	assert_true(cm_end_of(&replay, LONE)->waits);
	strcpy(cm_end_of(&replay, LONE)->dst, "192.0.2.1:7");
	replay_for(VERB_rdma_listen, LISTENER, ",\"backlog\":9",
		   "listen 2 9; connect 3 255/255 0 7/7 0 qp 0 ''");
	cm_fails = "listen";
	replay_for(VERB_rdma_listen, LISTENER, ",\"backlog\":9", "listen 2 9");
	assert_int_equal(cm_told.ret, -1);
}

TEST(a_request_that_failed_or_has_no_listener_does_not_wait)
{
	struct trace_event *event = add_for(VERB_rdma_connect, END, "");

	(void)state;
	create_bound(END);
	create_bound(LONE);
	call_of(event)->failed = true;
	replay_call(event, "connect 1 255/255 0 7/7 0 qp 0 ''");
	assert_false(cm_end_of(&replay, END)->waits);
	replay_for(VERB_rdma_connect, LONE, "", "connect 2 255/255 0 7/7 0 qp 0 ''");
}

TEST(a_request_whose_listener_had_ended_does_not_wait)
{
	(void)state;
	create_bound(END);
	cm_end_of(&replay, PEER)->listener = 0;
	replay_for(VERB_rdma_connect, END, "", "connect 1 255/255 0 7/7 0 qp 0 ''");
	assert_false(cm_end_of(&replay, END)->waits);
}

/* The queue pair was destroyed before the trace begins; its partner's event shows it. */
TEST(a_queue_pair_that_is_not_in_the_trace_is_as_its_partner_saw_it)
{
	struct cm_end *peer = cm_end_of(&replay, PEER);

	(void)state;
	create_bound(END);
	peer->listener = 0;
	peer->far_queue.qp_num = 0x99;
	peer->far_queue.srq = 1;
	replay_for(VERB_rdma_connect, END, "", "connect 1 255/255 0 7/7 1 qp 153 ''");
	assert_true(cm_end_of(&replay, END)->foreign_queue);
	replay_for(VERB_rdma_connect, END,
		   ",\"conn_param\":{\"responder_resources\":1,\"qp_num\":152}",
		   "connect 1 1/0 0 0/0 1 qp 152 ''");
	peer->far_queue.qp_num = 0x77;
	cm_replicas[QP].number = 0x55;
	replay_for(VERB_rdma_connect, END, "", "connect 1 255/255 0 7/7 1 qp 85 ''");
	assert_false(cm_end_of(&replay, END)->foreign_queue);
}

TEST(a_listener_gets_the_place_that_was_reserved)
{
	struct cm_end *listener = cm_end_of(&replay, LISTENER);

	(void)state;
	create_bound(LISTENER);
	((struct sockaddr_in *)&cm_ids[1].route.addr.src_storage)->sin_port = htons(50);
	assert_int_equal(cm_place_note(&replay, "192.0.2.1:6", false, false, htons(51), NULL), 0);
	assert_int_equal(cm_place_note(&replay, "192.0.2.1:9", false, false, htons(50), NULL), 0);
	replay_for(VERB_rdma_listen, LISTENER, "", "listen 1 0");
	assert_true(cm_place_find(&replay, "192.0.2.1:9", false, false)->listened);
	assert_false(cm_place_find(&replay, "192.0.2.1:6", false, false)->listened);
	assert_null(cm_place_find(&replay, "192.0.2.1:7", false,
				  false)); /* the other identifier's place has the address */
	/* the place does not belong to a synthesized end */
	cm_place_find(&replay, "192.0.2.1:9", false, false)->keeper = listener;
	replay_for(VERB_rdma_listen, LISTENER, "", "listen 1 0");
	assert_non_null(cm_place_find(&replay, "192.0.2.1:7", false, false));
	cm_place_find(&replay, "192.0.2.1:9", false, false)->keeper = NULL;
}

TEST(ports_are_both_there_or_neither_is)
{
	struct trace_event *event = add_for(VERB_rdma_get_src_port, END, "");

	(void)state;
	create_bound(END);
	memset(&cm_told, 0, sizeof(cm_told));
	call_of(event)->ret = 7;
	((struct sockaddr_in *)&cm_ids[1].route.addr.src_storage)->sin_port = htons(50);
	replay_call(event, "");
	assert_int_equal(cm_told.calls, 1);
	assert_int_equal(cm_told.ret, 0); /* not compared */
	call_of(event)->ret = 0;
	replay_call(event, "");
	assert_int_equal(cm_told.ret, htons(50));
	event = add_for(VERB_rdma_get_dst_port, END, "");
	call_of(event)->ret = 7;
	cm_told.ret = 1;
	replay_call(event, "");
	assert_int_equal(cm_told.ret, 0);
	assert_int_equal(cm_told.there.ret, 7);
	/* an identifier that has no address anywhere has none to compare */
	*cm_end_of(&replay, END)->dst = 0;
	replay_call(event, "");
	assert_int_equal(cm_told.calls, 3);
	cm_ids[1].route.addr.src_addr.sa_family = AF_INET;
	replay_call(event, "");
	assert_int_equal(cm_told.calls, 4);
}

TEST(an_end_point_is_created_with_its_addresses)
{
	struct trace_event *event;

	(void)state;
	replay_call(add_call(VERB_rdma_create_ep, LISTENER,
			     "{\"res\":{\"ai_flags\":1,\"ai_port_space\":262,"
			     "\"ai_src_addr\":\"0.0.0.0:7\"}}",
			     NULL),
		    "create 1; bind 1 0.0.0.0:0");
	event = add_call(VERB_rdma_create_ep, LONE,
			 "{\"res\":{\"ai_port_space\":262,\"ai_dst_addr\":\"0.0.0.0:7\"}}", NULL);
	replay_call(event, "create 2; resolve 2 - to 0.0.0.0:7 2000");
	assert_int_equal(cm_told.calls, 2);
	assert_ptr_equal(cm_ids[2].channel, cm_channel_of(&replay, 0));
	/* its addresses are in calls inside */
	event = add_call(VERB_rdma_create_ep, END,
			 "{\"res\":{\"ai_port_space\":273,\"ai_dst_addr\":\"0.0.0.0:7\"}}", NULL);
	map_put(&replay.cm->inside_ep, event_key(event->id), LONE);
	replay_call(event, "create 3 udp");
}

TEST(calls_of_the_program_are_replayed_where_they_begin)
{
	struct trace_event *event = add_call(VERB_rdma_listen, END, "{}", NULL);

	(void)state;
	assert_true(cm_takes(event));
	event->kind = TRACE_RETURN;
	assert_false(cm_takes(event));
	event->kind = TRACE_CALL;
	call_of(event)->ours = true;
	assert_false(cm_takes(event));
	assert_false(cm_takes(add_call(VERB_rdma_create_qp, END, "{}", NULL)));
	assert_false(cm_takes(add_call(VERB_create_qp, END, "{}", NULL)));
	/* an event is got when its call returns */
	event = add_call(VERB_rdma_get_cm_event, END, "{}", NULL);
	assert_false(cm_takes(event));
	event->kind = TRACE_RETURN;
	assert_true(cm_takes(event));
	call_of(event)->end = 0; /* at the start */
	assert_true(cm_takes(event));
	call_of(event)->end = -1;
	assert_false(cm_takes(event));
	event->kind = TRACE_CALL;
	assert_true(cm_takes(event));
}

TEST(nothing_is_called_unless_the_library_is_driven)
{
	struct trace_event *event = add_for(VERB_rdma_disconnect, END, "");

	(void)state;
	create_bound(END);
	replay.cm->driven = false;
	replay_call(event, "");
	replay.cm->driven = true;
	replay_call(event, "disconnect 1");
}

TEST(connections_that_an_iwarp_device_cannot_have_are_left_out)
{
	static const char why[] = "peers cannot be synthesized on an iWARP device";
	char skipped[80];

	(void)state;
	snprintf(skipped, sizeof(skipped), "skipped %d %s", LONE, why);
	cm_ibv_device.transport_type = IBV_TRANSPORT_IWARP;
	create_id(END);
	replay_call(add_call(VERB_rdma_create_id, LONE, "{\"ps\":262,\"channel\":107}", NULL),
		    "create 2");
	cm_ids[2].verbs = &cm_context;
	replay_for(VERB_rdma_resolve_route, LONE, ",\"timeout_ms\":1", "route 2 1");
	replay_for(VERB_rdma_connect, LONE, "", skipped);
	replay_for(VERB_rdma_accept, LONE, "", skipped);
	replay_for(VERB_rdma_establish, LONE, "", skipped);
	replay_for(VERB_rdma_reject, LONE, "", skipped);
	replay_for(VERB_rdma_reject_ece, LONE, "", skipped);
	replay_for(VERB_rdma_notify, LONE, "", skipped);
	replay_for(VERB_rdma_disconnect, LONE, "", skipped);
	replay_for(VERB_rdma_destroy_id, LONE, "", "destroy 2");
	replay_for(VERB_rdma_resolve_route, LONE, "", skipped);
	replay_for(VERB_rdma_disconnect, END, "",
		   ""); /* the call is made, although there is no device */
	assert_int_equal(cm_told.err, EINVAL);
}
