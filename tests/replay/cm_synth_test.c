/*
 * replay/cm/cm_synth.c: the other end of a connection, if it is not in the trace
 *
 * END connects, REQUEST is the identifier of a request that LISTENER got.
 */
#include "core/base/vec.h"
#include "tests/replay/cm_fake.h"

enum { END = 1, REQUEST, LISTENER, PARTNER };

#define PLACE "10.0.0.1:7"

static struct cm_end *end, *request;

static int begin_made(void **state)
{
	begin_cm(state);
	for (uint32_t i = END; i <= PARTNER; i++)
		add_object(OBJECT_cm_id, 1, 100 + i);
	drive_cm();
	end = cm_end_of(&replay, END);
	request = cm_end_of(&replay, REQUEST);
	request->passive = true;
	strcpy(request->src, PLACE);
	cm_open_end(&replay, end, cm_channel_of(&replay, 0), RDMA_PS_TCP);
	for (unsigned int i = 0; i < 2; i++) { /* 10.0.0.1 is 192.0.2.1 here */
		struct sockaddr_storage *host = vec_push(replay.cm->hosts, replay.cm->nhosts);

		cm_address_parse(i ? "192.0.2.1:0" : "10.0.0.1:0", host);
	}
	*cm_log = 0;
	return 0;
}

FIXTURE(begin_made, end_cm);

#define CONNECTION                                                            \
	",\"conn\":{\"private_data\":\"6162\",\"private_data_len\":2,"        \
	"\"responder_resources\":1,\"initiator_depth\":2,\"flow_control\":3," \
	"\"retry_count\":4,\"rnr_retry_count\":5,\"srq\":1,\"qp_num\":6}"

/* The program got that event of @of next. */
static void expect_before(struct cm_end *of, const char *type, const char *more,
			  const char *expected)
{
	char text[512];

	snprintf(text, sizeof(text), "{\"event\":{\"event\":\"RDMA_CM_EVENT_%s\"%s}}", type, more);
	cm_synth_prepare(&replay, of, add_call(VERB_rdma_get_cm_event, 0, NULL, text), 0);
	expect_log(expected);
}

/* END has sent its request to an end that was synthesized. */
static struct rdma_cm_id *bring_request(void)
{
	struct cm_end *made = cm_synth_new(&replay);

	cm_open_end(&replay, made, cm_channel_of(&replay, 0), RDMA_PS_TCP);
	((struct sockaddr_in *)&end->id->route.addr.src_storage)->sin_port = htons(40);
	end->id->route.addr.src_addr.sa_family = AF_INET;
	assert_int_equal(cm_note_port(&replay, end), 0);
	ask_listener(made->id, 40);
	*cm_log = 0;
	return &cm_ids[cm_nids];
}

TEST(a_request_is_accepted_as_recorded)
{
	(void)state;
	bring_request();
	expect_before(end, "ESTABLISHED", CONNECTION, "accept 3 2/1 3 4/5 1 qp 6 'ab'");
	assert_true(end->answered);
	expect_before(end, "ESTABLISHED", CONNECTION, ""); /* once */
}

TEST(a_response_shows_that_a_request_was_accepted)
{
	(void)state;
	bring_request();
	expect_before(end, "CONNECT_RESPONSE", CONNECTION, "accept 3 2/1 3 4/5 1 qp 6 'ab'");
}

TEST(a_request_is_rejected_as_recorded)
{
	(void)state;
	bring_request();
	end->refused = true;
	expect_before(end, "REJECTED", CONNECTION, ""); /* nothing listens */
	end->refused = false;
	expect_before(end, "REJECTED", CONNECTION, "reject 3 'ab'");
}

TEST(a_request_of_datagrams_may_be_unreachable)
{
	(void)state;
	bring_request();
	expect_before(end, "UNREACHABLE", "", "");
	assert_false(end->answered);
	end->datagrams = true;
	expect_before(end, "UNREACHABLE",
		      ",\"ud\":{\"private_data\":\"6364\",\"private_data_len\":2,\"qp_num\":9}",
		      "reject 3 'cd'");
}

TEST(a_request_that_does_not_come_has_no_answer)
{
	(void)state;
	expect_before(end, "ESTABLISHED", CONNECTION, "");
	assert_int_equal(cm_nwaits, 3);
	assert_false(end->answered);
}

TEST(ends_of_the_trace_answer_themselves)
{
	(void)state;
	bring_request();
	end->partner = PARTNER;
	expect_before(end, "ESTABLISHED", CONNECTION, "");
	assert_false(end->answered);
	end->partner = 0;
	expect_before(end, "ADDR_RESOLVED", "", "");
	expect_before(end, "ROUTE_RESOLVED", "", "");
	assert_false(end->answered);
}

static void note_listener(bool datagrams)
{
	assert_int_equal(cm_place_note(&replay, PLACE, datagrams, false, htons(50), NULL), 0);
}

TEST(a_recorded_request_is_sent)
{
	(void)state;
	note_listener(false);
	expect_before(request, "CONNECT_REQUEST", CONNECTION,
		      "create 2; resolve 2 - to 192.0.2.1:50 2000; route 2 2000; "
		      "connect 2 2/1 3 4/5 1 qp 6 'ab'");
	assert_ptr_equal(request->far->id, &cm_ids[2]);
}

TEST(a_recorded_request_of_datagrams_is_sent)
{
	(void)state;
	note_listener(true);
	expect_before(request, "CONNECT_REQUEST",
		      ",\"ud\":{\"private_data\":\"6364\",\"private_data_len\":2,\"qp_num\":9}",
		      "create 2 udp; resolve 2 - to 192.0.2.1:50 2000; route 2 2000; "
		      "connect 2 0/0 0 0/0 0 qp 9 'cd'");
}

TEST(a_listener_that_had_ended_is_synthesized_once)
{
	(void)state;
	expect_before(request, "CONNECT_REQUEST", CONNECTION,
		      "create 2; bind 2 192.0.2.1:0; listen 2 0; create 3; "
		      "resolve 3 - to 192.0.2.1:1000 2000; route 3 2000; "
		      "connect 3 2/1 3 4/5 1 qp 6 'ab'");
	expect_before(request, "CONNECT_REQUEST", CONNECTION,
		      "create 4; resolve 4 - to 192.0.2.1:1000 2000; route 4 2000; "
		      "connect 4 2/1 3 4/5 1 qp 6 'ab'");
}

TEST(a_request_needs_a_listener)
{
	(void)state;
	cm_fails = "listen";
	expect_before(request, "CONNECT_REQUEST", CONNECTION,
		      "create 2; bind 2 192.0.2.1:0; listen 2 0");
	cm_fails = NULL;
	request->listener = LISTENER; /* the listener has not listened yet */
	expect_before(request, "CONNECT_REQUEST", CONNECTION, "");
	note_listener(false);
	cm_fails = "create_id";
	expect_before(request, "CONNECT_REQUEST", CONNECTION, "");
	cm_fails = "resolve_addr";
	expect_before(request, "CONNECT_REQUEST", CONNECTION,
		      "create 3; resolve 3 - to 192.0.2.1:50 2000");
	cm_fails = "resolve_route";
	expect_before(request, "CONNECT_REQUEST", CONNECTION,
		      "create 4; resolve 4 - to 192.0.2.1:50 2000; route 4 2000");
	cm_silent = true;
	expect_before(request, "CONNECT_REQUEST", CONNECTION,
		      "create 5; resolve 5 - to 192.0.2.1:50 2000");
	assert_null(request->far);
}

static void make_far(void)
{
	note_listener(false);
	expect_before(request, "CONNECT_REQUEST", "",
		      "create 2; resolve 2 - to 192.0.2.1:50 2000; route 2 2000; "
		      "connect 2 0/0 0 0/0 0 qp 0 ''");
}

TEST(a_reply_is_established_or_rejected)
{
	(void)state;
	expect_before(request, "ESTABLISHED", "", ""); /* without a request */
	make_far();
	expect_before(request, "ESTABLISHED", "", "");
	assert_int_equal(cm_nwaits, 3);
	bring_event(RDMA_CM_EVENT_CONNECT_RESPONSE, &cm_ids[2]);
	expect_before(request, "ESTABLISHED", "", "establish 2");
	bring_event(RDMA_CM_EVENT_CONNECT_RESPONSE, &cm_ids[2]);
	expect_before(request, "REJECTED", CONNECTION, "reject 2 'ab'");
}

TEST(events_before_a_reply_are_dropped)
{
	(void)state;
	make_far();
	bring_event(RDMA_CM_EVENT_ROUTE_RESOLVED, &cm_ids[2]);
	bring_event(RDMA_CM_EVENT_CONNECT_RESPONSE, &cm_ids[2]);
	expect_before(request, "ESTABLISHED", "", "establish 2");
	assert_null(request->far->first);
}

TEST(the_other_end_disconnects)
{
	(void)state;
	expect_before(end, "DISCONNECTED", "", "");
	bring_request();
	cm_read_events(&replay);
	expect_before(end, "DISCONNECTED", "", "disconnect 3");
	bring_event(RDMA_CM_EVENT_DISCONNECTED, end->id);
	expect_before(end, "DISCONNECTED", "", ""); /* it has */
}

TEST(the_end_that_asked_disconnects)
{
	(void)state;
	make_far();
	expect_before(request, "DISCONNECTED", "", "disconnect 2");
	cm_close_end(&replay, request->far);
	expect_log("destroy 2");
	expect_before(request, "DISCONNECTED", "", "");
}

static uint16_t listen_for(const char *there, const char *expected)
{
	struct sockaddr_storage dst;
	uint16_t port;

	assert_true(cm_address_parse(there, &dst));
	port = cm_synth_listen(&replay, end, &dst);
	expect_log(expected);
	return port;
}

TEST(a_destination_has_a_listener)
{
	(void)state;
	assert_int_equal(listen_for(PLACE, "create 2; bind 2 192.0.2.1:0; listen 2 0"),
			 htons(FIRST_PORT));
	end->refused = true; /* a port only */
	assert_int_equal(listen_for(PLACE, "create 3; bind 3 192.0.2.1:0"), htons(FIRST_PORT + 1));
	end->refused = false;
	end->partner = PARTNER; /* the partner's listener ended before the trace begins */
	assert_int_equal(listen_for(PLACE, "create 4; bind 4 192.0.2.1:0; listen 4 0"),
			 htons(FIRST_PORT + 2));
	cm_end_of(&replay, PARTNER)->listener = LISTENER;
	assert_int_equal(listen_for(PLACE, "create 5; bind 5 192.0.2.1:0"), htons(FIRST_PORT + 3));
	assert_int_equal(replay.cm->nmade, 4);
}

TEST(a_listener_that_cannot_be_has_no_port)
{
	(void)state;
	cm_fails = "create_id";
	assert_int_equal(listen_for(PLACE, ""), 0);
	cm_fails = "bind_addr";
	assert_int_equal(listen_for(PLACE, "create 2; bind 2 192.0.2.1:0"), 0);
	cm_fails = "listen";
	assert_int_equal(listen_for(PLACE, "create 3; bind 3 192.0.2.1:0; listen 3 0"), 0);
}
