/*
 * replay/cm/cm_event.c: events that a recorded call got, and those that come in the replay
 *
 * END is connected to ACCEPTED, an identifier of another process, through LISTENER; the other end
 * of LONE is not in the trace.
 */
#include <fcntl.h>

#include "tests/replay/cm_fake.h"

enum { END = 1, ACCEPTED, LISTENER, LONE, QP };

static struct cm_end *end, *accepted, *lone;

static void open_one(uint32_t object)
{
	assert_int_equal(cm_open_end(&replay, cm_end_of(&replay, object), cm_channel_of(&replay, 0),
				     RDMA_PS_TCP),
			 0);
}

static int begin_events(void **state)
{
	begin_cm(state);
	for (uint32_t i = END; i <= LONE; i++)
		add_object(OBJECT_cm_id, 1 + (i == ACCEPTED || i == LISTENER), 100 + i);
	add_object(OBJECT_qp, 1, 100 + QP)->number = 0x77;
	drive_cm();
	end = cm_end_of(&replay, END);
	accepted = cm_end_of(&replay, ACCEPTED);
	lone = cm_end_of(&replay, LONE);
	end->partner = ACCEPTED;
	accepted->partner = END;
	accepted->passive = true;
	for (int i = 0; i < 4; i++)
		cm_last_times[i] = INT64_MAX;
	open_one(END);
	open_one(LISTENER);
	open_one(LONE);
	*cm_log = 0;
	return 0;
}

FIXTURE(begin_events, end_cm);

static struct trace_event *make_got(const char *type, uint32_t object, const char *more)
{
	char text[512];
	struct trace_event *event;

	snprintf(text, sizeof(text), "{\"event\":{\"event\":\"RDMA_CM_EVENT_%s\",\"id\":%u%s}}",
		 type, 100 + object, more);
	event = add_call(VERB_rdma_get_cm_event, 0, NULL, text);
	event->process = objects[object].process;
	return event;
}

static void replay_event(const struct trace_event *event, const char *expected)
{
	assert_int_equal(cm_replay(&replay, event), 0);
	expect_log(expected);
}

/* The program got that event of @object. */
static void get_event(const char *type, uint32_t object, const char *more, const char *expected)
{
	replay_event(make_got(type, object, more), expected);
}

TEST(an_event_that_comes_as_recorded_agrees)
{
	(void)state;
	bring_event(RDMA_CM_EVENT_ADDR_RESOLVED, lone->id);
	bring_event(RDMA_CM_EVENT_ROUTE_RESOLVED, end->id);
	get_event("ROUTE_RESOLVED", END, "", "");
	get_event("ADDR_RESOLVED", LONE, "", "");
	assert_int_equal(cm_told.agreed, 2);
	assert_int_equal(cm_told.calls, 2);
	assert_int_equal(cm_told.events, 2);
	assert_int_equal(cm_nwaits, 0);
	assert_null(end->first);
}

TEST(an_event_that_does_not_come_is_missed)
{
	(void)state;
	get_event("ROUTE_RESOLVED", END, "",
		  "1 event.event none, not RDMA_CM_EVENT_ROUTE_RESOLVED");
	assert_int_equal(cm_nwaits, 3);
	assert_int_equal(cm_deadline, CM_NOW + CM_TIMEOUT);
	assert_int_equal(end->silent, 1);
	get_event("ESTABLISHED", END, "", "1 event.event none, not RDMA_CM_EVENT_ESTABLISHED");
	assert_int_equal(cm_told.agreed, 0);
	assert_int_equal(cm_nwaits, 6);
	assert_int_equal(end->silent, 2);
	cm_explained = END;
	get_event("ROUTE_RESOLVED", END, "",
		  "1 event.event none, not RDMA_CM_EVENT_ROUTE_RESOLVED");
	assert_int_equal(end->silent,
			 4); /* one more event that did not come: another divergence explains it */
	assert_int_equal(cm_deadline, CM_NOW + CM_TIMEOUT / 8);
	end->silent = 30;
	get_event("ROUTE_RESOLVED", END, "",
		  "1 event.event none, not RDMA_CM_EVENT_ROUTE_RESOLVED");
	assert_int_equal(cm_deadline, CM_NOW + CM_TIMEOUT / (1 << 20));
}

TEST(events_go_with_their_end)
{
	(void)state;
	bring_event(RDMA_CM_EVENT_ROUTE_RESOLVED, end->id);
	cm_read_events(&replay);
	assert_non_null(end->first);
	cm_close_end(&replay, end);
	assert_null(end->first);
	expect_log("destroy 1");
}

TEST(events_of_all_channels_are_taken)
{
	(void)state;
	end->id->channel = cm_channel_of(&replay, QP);
	assert_int_equal(replay.cm->nchannels, 2);
	bring_event(RDMA_CM_EVENT_ROUTE_RESOLVED, end->id);
	cm_read_events(&replay);
	assert_non_null(end->first);
}

TEST(a_channel_without_an_event_does_not_block)
{
	const struct rdma_event_channel *channel = cm_channel_of(&replay, 0);

	(void)state;
	assert_true(fcntl(channel->fd, F_GETFL) & O_NONBLOCK);
}

TEST(another_event_or_status_is_a_divergence)
{
	(void)state;
	bring_event(RDMA_CM_EVENT_CONNECT_ERROR, lone->id);
	get_event("ROUTE_RESOLVED", LONE, "",
		  "4 event.event RDMA_CM_EVENT_CONNECT_ERROR, not RDMA_CM_EVENT_ROUTE_RESOLVED");
	assert_int_equal(cm_told.agreed, 0);
	bring_event(RDMA_CM_EVENT_REJECTED, end->id)->status = 28;
	get_event("REJECTED", END, ",\"status\":8", "1 event.status 28, not 8");
	bring_event(RDMA_CM_EVENT_REJECTED, end->id)->status = 8;
	get_event("REJECTED", END, ",\"status\":8", "");
	assert_int_equal(cm_told.agreed, 2);
}

TEST(calls_without_an_event_are_tolerated)
{
	struct trace_event *event = make_got("ESTABLISHED", END, "");

	(void)state;
	cm_calls[0].failed = true;
	replay_event(event, "tolerated a request for an event that re");
	cm_calls[0].end = -1;
	replay_event(event, "tolerated a call that waited for an even");
	cm_calls[0].failed = false;
	replay_event(event, "tolerated a call that waited for an even");
	assert_int_equal(cm_told.calls, 0);
}

TEST(a_call_at_the_start_has_returned)
{
	struct trace_event *event = make_got("ROUTE_RESOLVED", END, "");

	(void)state;
	cm_calls[0].end = 0;
	bring_event(RDMA_CM_EVENT_ROUTE_RESOLVED, end->id);
	replay_event(event, "");
	assert_int_equal(cm_told.agreed, 1);
	cm_calls[0].failed = true;
	replay_event(event, "tolerated a request for an event that re");
}

TEST(events_that_the_replay_cannot_cause_are_left_out)
{
	static const char why[] = "skipped 1 a device that is removed, or an address that changes";

	(void)state;
	get_event("DEVICE_REMOVAL", END, "", why);
	get_event("ADDR_CHANGE", END, "", why);
	get_event("UNREACHABLE", END, ",\"status\":-110",
		  "tolerated a connection without a respons");
	assert_int_equal(cm_told.events, 1);
	get_event("UNREACHABLE", END, ",\"status\":-111",
		  "1 event.event none, not RDMA_CM_EVENT_UNREACHABLE");
	get_event("ESTABLISHED", 66, "", "skipped 0 its identifier is not in the trace");
	cm_close_end(&replay, end);
	*cm_log = 0;
	get_event("ADDR_RESOLVED", END, "",
		  "skipped 1 its identifier does not exist in the replay");
}

TEST(connections_that_an_iwarp_device_cannot_have_bring_no_events)
{
	(void)state;
	cm_ibv_device.transport_type = IBV_TRANSPORT_IWARP;
	bring_event(RDMA_CM_EVENT_ADDR_RESOLVED, lone->id);
	bring_event(RDMA_CM_EVENT_ROUTE_RESOLVED, lone->id);
	get_event("ADDR_RESOLVED", LONE, "", "");
	get_event("ROUTE_RESOLVED", LONE, "", "");
	get_event("ESTABLISHED", LONE, "",
		  "skipped 4 peers cannot be synthesized on an iWARP device");
	get_event("ESTABLISHED", END, "", "1 event.event none, not RDMA_CM_EVENT_ESTABLISHED");
}

/* A request of END comes to the listener. */
static struct rdma_cm_event *bring_request(void)
{
	((struct sockaddr_in *)&end->id->route.addr.src_storage)->sin_port = htons(40);
	end->id->route.addr.src_addr.sa_family = AF_INET;
	assert_int_equal(cm_note_port(&replay, end), 0);
	return ask_listener(cm_end_of(&replay, LISTENER)->id, 40);
}

TEST(a_request_gives_its_identifier)
{
	struct rdma_cm_event *request = bring_request();
	struct rdma_cm_id *id = request->id;

	(void)state;
	get_event("CONNECT_REQUEST", ACCEPTED, "", "related 2 to 1; related 1 to 2");
	assert_ptr_equal(accepted->id, id);
	assert_ptr_equal(id->context, accepted);
	assert_null(end->asked);
	assert_null(accepted->first);
	bring_event(RDMA_CM_EVENT_ESTABLISHED, id);
	get_event("ESTABLISHED", ACCEPTED, "", "");
	assert_int_equal(cm_told.agreed, 2);
}

TEST(events_after_a_request_come_to_its_identifier)
{
	struct rdma_cm_event *request = bring_request();

	(void)state;
	bring_event(RDMA_CM_EVENT_DISCONNECTED, request->id);
	get_event("CONNECT_REQUEST", ACCEPTED, "", "related 2 to 1; related 1 to 2");
	get_event("DISCONNECTED", ACCEPTED, "", "");
	assert_int_equal(cm_told.agreed, 2);
}

TEST(a_request_that_does_not_come_is_missed)
{
	(void)state;
	get_event("CONNECT_REQUEST", ACCEPTED, "",
		  "2 event.event none, not RDMA_CM_EVENT_CONNECT_REQUEST");
	assert_int_equal(cm_nwaits, 3);
	bring_request();
	get_event("CONNECT_REQUEST", LISTENER, "",
		  "3 event.event none, not RDMA_CM_EVENT_CONNECT_REQUEST");
	assert_int_equal(cm_nwaits, 3); /* there is none to wait for */
	cm_read_events(&replay);
	open_one(ACCEPTED); /* by a damaged trace */
	*cm_log = 0;
	get_event("CONNECT_REQUEST", ACCEPTED, "",
		  "2 event.event none, not RDMA_CM_EVENT_CONNECT_REQUEST");
}

TEST(requests_of_other_programs_are_not_accepted)
{
	struct rdma_cm_event *request;

	(void)state;
	bring_request();
	request = ask_listener(cm_end_of(&replay, LISTENER)->id, 41);
	assert_int_equal(number_of(request->id), 5);
	cm_read_events(&replay);
	expect_log("destroy 5");
	ask_listener(cm_end_of(&replay, LISTENER)->id, 40); /* again */
	cm_read_events(&replay);
	expect_log("destroy 6");
	assert_int_equal(cm_nacked, 3);
	assert_int_equal(number_of(end->asked->id), 4);
}

TEST(a_request_goes_with_the_end_that_sent_it)
{
	(void)state;
	bring_request();
	cm_read_events(&replay);
	assert_non_null(end->asked);
	cm_close_end(&replay, end);
	expect_log("destroy 4; destroy 1");
	cm_close_end(&replay, end);
	expect_log("");
}

TEST(events_of_other_identifiers_are_dropped)
{
	(void)state;
	open_one(ACCEPTED);
	accepted->id->context = NULL;
	*cm_log = 0;
	bring_event(RDMA_CM_EVENT_ADDR_RESOLVED, accepted->id);
	cm_read_events(&replay);
	assert_int_equal(cm_nacked, 1);
	assert_null(accepted->first);
}

static void bring_established(void)
{
	if (cm_nwaits == 2)
		bring_event(RDMA_CM_EVENT_ESTABLISHED, accepted->id);
}

TEST(librdmacm_establishes_an_identifier_with_a_queue_pair)
{
	(void)state;
	open_one(ACCEPTED);
	*cm_log = 0;
	bring_event(RDMA_CM_EVENT_CONNECT_RESPONSE, end->id);
	get_event("CONNECT_RESPONSE", END, "", "");
	end->qp = QP;
	bring_event(RDMA_CM_EVENT_CONNECT_RESPONSE, end->id);
	get_event("ESTABLISHED", END, "", "establish 1");
	assert_int_equal(cm_told.agreed, 2);
	cm_fails = "establish";
	bring_event(RDMA_CM_EVENT_CONNECT_RESPONSE, end->id);
	get_event("CONNECT_ERROR", END, "", "establish 1");
	assert_int_equal(cm_told.agreed, 3);
	cm_fails = NULL;
	/* before the accepting end gets to know it */
	bring_event(RDMA_CM_EVENT_CONNECT_RESPONSE, end->id);
	get_event("DISCONNECTED", ACCEPTED, "",
		  "2 event.event none, not RDMA_CM_EVENT_DISCONNECTED");
	cm_nwaits = 0;
	cm_on_wait = bring_established;
	get_event("ESTABLISHED", ACCEPTED, "", "establish 1");
	assert_int_equal(cm_told.agreed, 4);
	assert_int_equal(end->first->type, RDMA_CM_EVENT_ESTABLISHED);
}

/* The queue pair was destroyed before the trace begins. */
TEST(librdmacm_established_an_identifier_whose_event_shows_it)
{
	(void)state;
	end->completed = true;
	bring_event(RDMA_CM_EVENT_CONNECT_RESPONSE, end->id);
	get_event("ESTABLISHED", END, "", "establish 1");
	assert_int_equal(cm_told.agreed, 1);
}

static void end_process(int64_t last)
{
	cm_last_times[2] = last;
	open_one(ACCEPTED);
	*cm_log = 0;
}

TEST(a_partner_that_had_ended_is_closed)
{
	(void)state;
	end_process(9); /* before the call at 10 */
	get_event("DISCONNECTED", END, "",
		  "destroy 4; 1 event.event none, not RDMA_CM_EVENT_DISCONNECTED");
	assert_null(accepted->id);
}

TEST(a_partner_that_had_not_ended_is_not_closed)
{
	(void)state;
	end_process(10);
	get_event("DISCONNECTED", END, "", "1 event.event none, not RDMA_CM_EVENT_DISCONNECTED");
	assert_non_null(accepted->id);
}

TEST(a_rejection_may_come_of_an_end_too)
{
	(void)state;
	end_process(5);
	get_event("ESTABLISHED", END, "", "1 event.event none, not RDMA_CM_EVENT_ESTABLISHED");
	bring_event(RDMA_CM_EVENT_REJECTED, end->id);
	get_event("REJECTED", END, "", ""); /* it has come already */
	assert_non_null(accepted->id);
	accepted->process = 1;
	get_event("REJECTED", END, "", "1 event.event none, not RDMA_CM_EVENT_REJECTED");
	accepted->process = 2;
	get_event("REJECTED", END, "", "destroy 4; 1 event.event none, not RDMA_CM_EVENT_REJECTED");
}

static struct rdma_cm_event *bring_connection(struct rdma_cm_id *id, const char *data)
{
	struct rdma_cm_event *event = bring_event(RDMA_CM_EVENT_ESTABLISHED, id);

	event->param.conn = (struct rdma_conn_param){
		.private_data = data,
		.private_data_len = (uint8_t)strlen(data),
		.responder_resources = 1,
		.initiator_depth = 2,
		.flow_control = 3,
		.retry_count = 4,
		.rnr_retry_count = 5,
		.srq = 1,
		.qp_num = 0x99,
	};
	return event;
}

#define CONNECTION(data, length, resources, depth, flow, retry, rnr, srq, number)          \
	",\"conn\":{\"private_data\":\"" data "\",\"private_data_len\":" #length           \
	",\"responder_resources\":" #resources ",\"initiator_depth\":" #depth              \
	",\"flow_control\":" #flow ",\"retry_count\":" #retry ",\"rnr_retry_count\":" #rnr \
	",\"srq\":" #srq ",\"qp_num\":" #number "}"

TEST(the_parameters_of_a_connection_are_compared)
{
	(void)state;
	map_put(&replay.numbers, 0x99, QP);
	bring_connection(end->id, "ab");
	get_event("ESTABLISHED", END, CONNECTION("6162", 2, 1, 2, 3, 4, 5, 1, 119), "");
	bring_connection(end->id, "ab");
	get_event(
		"ESTABLISHED", END, CONNECTION("6162", 2, 9, 9, 9, 9, 9, 0, 9),
		"1 event.conn.responder_resources 1, not 9; 1 event.conn.initiator_depth 2, not 9; "
		"1 event.conn.flow_control 3, not 9; 1 event.conn.retry_count 4, not 9; "
		"1 event.conn.rnr_retry_count 5, not 9; 1 event.conn.srq 1, not 0; "
		"1 event.conn.qp_num 119, not 9");
	map_remove(&replay.numbers, 0x99); /* no number of the trace */
	bring_connection(end->id, "ab");
	get_event("ESTABLISHED", END, CONNECTION("6162", 2, 1, 2, 3, 4, 5, 1, 153), "");
	/* the trace does not have the queue pair with this number */
	map_put(&replay.numbers, 0x99, QP);
	accepted->foreign_queue = true;
	bring_connection(end->id, "ab");
	get_event("ESTABLISHED", END, CONNECTION("6162", 2, 1, 2, 3, 4, 5, 1, 153), "");
	map_remove(&replay.numbers, 0x99);
	/* a synthesized end sends the recorded one */
	map_put(&replay.numbers, 0x99, QP);
	bring_connection(lone->id, "ab");
	lone->answered = true;
	get_event("ESTABLISHED", LONE, CONNECTION("6162", 2, 1, 2, 3, 4, 5, 1, 153), "");
}

TEST(private_data_is_compared_without_its_padding)
{
	(void)state;
	map_put(&replay.numbers, 0x99, QP);
	bring_connection(end->id, "ab");
	get_event("ESTABLISHED", END, CONNECTION("616200", 3, 1, 2, 3, 4, 5, 1, 119),
		  "tolerated the length of private data, wh");
	bring_connection(end->id, "abc");
	get_event("ESTABLISHED", END, CONNECTION("616200", 3, 1, 2, 3, 4, 5, 1, 119),
		  "1 event.conn.private_data 616263, not 6162");
	bring_connection(end->id, "a");
	get_event("ESTABLISHED", END, CONNECTION("6b6c", 1, 1, 2, 3, 4, 5, 1, 119),
		  "1 event.conn.private_data 61, not 6b");
	bring_connection(end->id, "ab");
	get_event("ESTABLISHED", END, CONNECTION("..", 2, 1, 2, 3, 4, 5, 1, 119),
		  ""); /* not known */
	bring_connection(end->id, "");
	get_event("ESTABLISHED", END, CONNECTION("", 0, 1, 2, 3, 4, 5, 1, 119), "");
}

TEST(datagrams_have_parameters_of_their_own)
{
	struct rdma_cm_event *event;

	(void)state;
	end->id->qp_type = IBV_QPT_UD;
	map_put(&replay.numbers, 0x99, QP);
	for (int i = 0; i < 2; i++) {
		event = bring_event(RDMA_CM_EVENT_ESTABLISHED, end->id);
		event->param.ud = (struct rdma_ud_param){
			.private_data = "ab", .private_data_len = 2, .qp_num = 0x99, .qkey = 5
		};
	}
	get_event("ESTABLISHED", END,
		  ",\"ud\":{\"private_data\":\"6162\",\"private_data_len\":2,"
		  "\"qp_num\":119,\"qkey\":5}",
		  "");
	get_event("ESTABLISHED", END,
		  ",\"ud\":{\"private_data\":\"6163\",\"private_data_len\":2,"
		  "\"qp_num\":9,\"qkey\":6}",
		  "1 event.ud.private_data 6162, not 6163; 1 event.ud.qp_num 119, not 9; "
		  "1 event.ud.qkey 5, not 6");
}
