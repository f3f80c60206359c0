/*
 * replay/cm/cm_learn.c: what the calls of a trace show of its identifiers
 *
 * Two processes: LISTENER and those that it accepted, ASKING and OTHER.
 */
#include "tests/replay/cm_fake.h"

enum { QP = 1, CHANNEL, LISTENER, ACCEPTED, ACCEPTED_TOO, ASKING, OTHER };

#define PLACE  "192.0.2.1:7"
#define SOURCE "192.0.2.2:40"

static int begin_learning(void **state)
{
	begin_cm(state);
	add_object(OBJECT_qp, 1, 100 + QP);
	add_object(OBJECT_cm_channel, 1, 100 + CHANNEL);
	for (uint32_t i = LISTENER; i <= OTHER; i++)
		add_object(OBJECT_cm_id, 1 + (i >= ASKING), 100 + i);
	replay.nreplicas = nobjects + 1;
	return 0;
}

FIXTURE(begin_learning, end_cm);

static struct cm_end *end_of(uint32_t object)
{
	struct cm_end *end = cm_end_of(&replay, object);

	assert_non_null(end);
	return end;
}

static struct trace_event *learn_verb(enum verb verb, uint32_t object)
{
	struct trace_event *event = add_call(verb, object, NULL, NULL);

	assert_int_equal(learn_call(event), 0);
	return event;
}

static struct trace_event *make_got(const char *type, uint32_t object, const char *more)
{
	char text[512];
	struct trace_event *event;

	snprintf(text, sizeof(text),
		 "{\"event\":{\"event\":\"RDMA_CM_EVENT_%s\",\"id\":%u,\"src_addr\":\"" PLACE
		 "\",\"dst_addr\":\"" SOURCE "\"%s}}",
		 type, 100 + object, more);
	event = add_call(VERB_rdma_get_cm_event, CHANNEL, NULL, text);
	event->process = objects[object].process;
	return event;
}

static void learn_got(const char *type, uint32_t object, const char *more)
{
	assert_int_equal(learn_call(make_got(type, object, more)), 0);
}

TEST(nothing_is_learned_before_the_first_call_of_librdmacm)
{
	(void)state;
	learn_verb(VERB_create_qp, QP);
	assert_null(replay.cm);
	learn_verb(VERB_rdma_create_id, LISTENER);
	assert_int_equal(end_of(LISTENER)->object, LISTENER);
	assert_int_equal(end_of(ASKING)->process, 2);
	assert_ptr_equal(end_of(OTHER)->last, &end_of(OTHER)->first);
	assert_null(cm_end_of(&replay, QP));
	assert_null(cm_end_of(&replay, 0));
	assert_null(cm_end_of(&replay, OTHER + 1));
}

TEST(an_event_has_the_addresses_of_its_identifier)
{
	(void)state;
	learn_got("ADDR_RESOLVED", ASKING, "");
	assert_string_equal(end_of(ASKING)->src, PLACE);
	assert_string_equal(end_of(ASKING)->dst, SOURCE);
	assert_false(end_of(ASKING)->lost);
	learn_got("ADDR_ERROR", OTHER, "");
	assert_string_equal(end_of(OTHER)->src, "");
	assert_string_equal(end_of(OTHER)->dst, "");
	assert_true(end_of(OTHER)->lost);
	assert_false(end_of(OTHER)->passive);
}

TEST(a_request_makes_an_end_of_its_listener)
{
	(void)state;
	learn_got("CONNECT_REQUEST", ACCEPTED, ",\"listen_id\":103");
	assert_true(end_of(ACCEPTED)->passive);
	assert_int_equal(end_of(ACCEPTED)->listener, LISTENER);
	assert_string_equal(end_of(LISTENER)->src, PLACE);
	assert_string_equal(end_of(LISTENER)->dst, "");
	learn_got("CONNECT_REQUEST", ACCEPTED_TOO, ",\"listen_id\":999");
	assert_true(end_of(ACCEPTED_TOO)->passive);
	assert_int_equal(end_of(ACCEPTED_TOO)->listener, 0);
	assert_false(end_of(LISTENER)->passive);
}

TEST(an_event_shows_the_queue_pair_of_the_other_end)
{
	(void)state;
	learn_got("CONNECT_REQUEST", ACCEPTED, ",\"conn\":{\"qp_num\":7,\"srq\":1}");
	learn_got("ESTABLISHED", ACCEPTED, ",\"conn\":{\"qp_num\":0,\"srq\":0}");
	assert_int_equal(end_of(ACCEPTED)->far_queue.qp_num, 7);
	assert_int_equal(end_of(ACCEPTED)->far_queue.srq, 1);
	learn_got("ESTABLISHED", ASKING, ",\"ud\":{\"qp_num\":8}");
	assert_int_equal(end_of(ASKING)->far_queue.qp_num, 8);
	assert_int_equal(end_of(ASKING)->far_queue.srq, 0);
}

TEST(only_an_end_that_asked_is_completed_by_librdmacm)
{
	(void)state;
	learn_got("CONNECT_RESPONSE", ASKING, "");
	assert_false(end_of(ASKING)->completed);
	learn_got("ESTABLISHED", ASKING, "");
	assert_true(end_of(ASKING)->completed);
	learn_got("CONNECT_REQUEST", ACCEPTED, "");
	learn_got("ESTABLISHED", ACCEPTED, "");
	assert_false(end_of(ACCEPTED)->completed);
}

TEST(events_that_were_not_got_show_nothing)
{
	struct trace_event *event;

	(void)state;
	event = make_got("ADDR_RESOLVED", ASKING, "");
	cm_calls[0].failed = true;
	assert_int_equal(learn_call(event), 0);
	assert_string_equal(end_of(ASKING)->src, "");
	event = make_got("ADDR_RESOLVED", ASKING, "");
	event->process = 1; /* another's identifier */
	assert_int_equal(learn_call(event), 0);
	assert_string_equal(end_of(ASKING)->src, "");
}

/* Whether there was no listener. */
static const struct refusal_row {
	const char *name;
	const char *type, *more;
	bool refused;
} refusals[] = {
	{ "by_the_program", "REJECTED", ",\"status\":28", false },
	{ "by_librdmacm_for_the_program", "REJECTED", ",\"status\":35", false },
	{ "without_a_listener", "REJECTED", ",\"status\":8", true },
	{ "of_iwarp", "REJECTED", ",\"status\":-111", true },
	{ "of_iwarp_by_the_program", "REJECTED",
	  ",\"status\":-111,\"conn\":{\"private_data_len\":4}", false },
	{ "with_status_zero", "REJECTED", ",\"status\":0,\"conn\":{\"private_data_len\":4}", true },
	{ "of_datagrams", "UNREACHABLE", ",\"status\":1", true },
	{ "of_datagrams_by_the_program", "UNREACHABLE", ",\"status\":2", false },
	{ "of_other_events", "ESTABLISHED", ",\"status\":1", false },
};

static void expect_refusal(void **state)
{
	const struct refusal_row *row = *state;

	begin_learning(state);
	learn_got(row->type, ASKING, row->more);
	assert_int_equal(end_of(ASKING)->refused, row->refused);
	assert_false(end_of(ASKING)->passive);
	end_cm(state);
}

TEST_ROWS(refusals, expect_refusal);

TEST(a_queue_pair_made_inside_belongs_to_the_identifier)
{
	struct trace_event *event;
	uint64_t end;

	(void)state;
	learn_verb(VERB_rdma_create_qp, ASKING); /* from 10 to 15 */
	event = add_call(VERB_create_qp, QP, NULL, NULL);
	cm_calls[1].begin = 15;
	assert_int_equal(learn_call(event), 0);
	assert_int_equal(end_of(ASKING)->qp, QP);
	assert_true(map_get(&replay.cm->of_qp, QP, &end));
	assert_int_equal(end, ASKING);
}

/* The call inside begins at @begin. */
static void learn_inside(enum verb verb, int64_t begin)
{
	struct trace_event *event = add_call(verb, QP, NULL, NULL);

	cm_calls[event - cm_trace].begin = begin;
	assert_int_equal(learn_call(event), 0);
}

TEST(a_queue_pair_may_be_given_to_the_identifier)
{
	uint64_t end;

	(void)state;
	learn_verb(VERB_rdma_accept, ACCEPTED);
	learn_inside(VERB_modify_qp, 16); /* by the program, later */
	assert_int_equal(end_of(ACCEPTED)->qp, 0);
	learn_inside(VERB_query_qp, 15);
	assert_int_equal(end_of(ACCEPTED)->qp, 0);
	learn_inside(VERB_modify_qp, 15);
	assert_int_equal(end_of(ACCEPTED)->qp, QP);
	assert_true(map_get(&replay.cm->of_qp, QP, &end));
	assert_int_equal(end, ACCEPTED);
	/* when the reply comes */
	learn_got("CONNECT_RESPONSE", ASKING, "");
	learn_inside(VERB_modify_qp, 12);
	assert_int_equal(end_of(ASKING)->qp, QP);
}

TEST(other_queue_pairs_belong_to_none)
{
	struct trace_event *event;

	(void)state;
	learn_verb(VERB_rdma_create_qp_ex, ASKING);
	event = add_call(VERB_create_qp, QP, NULL, NULL);
	cm_calls[1].begin = 16; /* later */
	assert_int_equal(learn_call(event), 0);
	cm_calls[1].begin = 12;
	cm_calls[1].failed = true;
	assert_int_equal(learn_call(event), 0);
	cm_calls[1].failed = false;
	event->id.thread = 2;
	replay.cm->inside[1].id = OTHER;
	assert_int_equal(learn_call(event), 0);
	event->id.thread = 1;
	cm_calls[1].verb = VERB_create_cq;
	assert_int_equal(learn_call(event), 0);
	cm_calls[1].verb = VERB_modify_qp;
	assert_int_equal(learn_call(event), 0);
	assert_int_equal(end_of(OTHER)->qp, 0);
	assert_int_equal(replay.cm->of_qp.used, 0);
}

TEST(a_call_that_never_returned_encloses_all_that_follow)
{
	(void)state;
	add_call(VERB_rdma_create_qp_ex, OTHER, NULL, NULL);
	cm_calls[0].end = -1;
	assert_int_equal(learn_call(&cm_trace[0]), 0);
	learn_verb(VERB_create_qp, QP);
	assert_int_equal(end_of(OTHER)->qp, QP);
}

TEST(a_call_at_the_start_encloses_none_that_follow)
{
	(void)state;
	add_call(VERB_rdma_create_qp, OTHER, NULL, NULL);
	cm_calls[0].begin = cm_calls[0].end = 0;
	assert_int_equal(learn_call(&cm_trace[0]), 0);
	learn_verb(VERB_create_qp, QP);
	assert_int_equal(end_of(OTHER)->qp, 0);
}

TEST(a_queue_pair_of_an_unknown_identifier_belongs_to_none)
{
	(void)state;
	add_call(VERB_rdma_create_qp, 0, NULL, NULL);
	cm_calls[0].end = -1;
	assert_int_equal(learn_call(&cm_trace[0]), 0);
	learn_verb(VERB_create_qp, QP);
	assert_int_equal(replay.cm->of_qp.used, 0);
}

static bool has_waited(const struct trace_event *event)
{
	uint64_t one;

	return map_get(&replay.cm->waited, event_key(event->id), &one) && one == 1;
}

/* A call, and then another that asks for an event inside it. */
static struct trace_event *learn_waiting(enum verb verb, unsigned int depth, int64_t after)
{
	struct trace_event *event = learn_verb(verb, ASKING);
	struct trace_event *got = make_got("ADDR_RESOLVED", OTHER, "");
	struct call *call = &cm_calls[cm_ncalls - 1];

	call->depth = depth;
	call->begin = event->call->end + after;
	assert_int_equal(learn_call(got), 0);
	return event;
}

static const struct verb_row {
	const char *name;
	enum verb verb;
	bool waits;
} verb_rows[] = {
	{ "resolve_addr_waits", VERB_rdma_resolve_addr, true },
	{ "resolve_route_waits", VERB_rdma_resolve_route, true },
	{ "connect_waits", VERB_rdma_connect, true },
	{ "accept_waits", VERB_rdma_accept, true },
	{ "disconnect_waits", VERB_rdma_disconnect, true },
	{ "join_multicast_waits", VERB_rdma_join_multicast, true },
	{ "join_multicast_ex_waits", VERB_rdma_join_multicast_ex, true },
	{ "listen_does_not_wait", VERB_rdma_listen, false },
};

static void expect_wait(void **state)
{
	const struct verb_row *row = *state;

	begin_learning(state);
	assert_int_equal(has_waited(learn_waiting(row->verb, 1, 0)), row->waits);
	end_cm(state);
}

TEST_ROWS(verb_rows, expect_wait);

TEST(an_event_that_the_program_asks_for_is_not_waited_for)
{
	(void)state;
	assert_false(has_waited(learn_waiting(VERB_rdma_connect, 0, 0)));
	assert_false(has_waited(learn_waiting(VERB_rdma_connect, 1, 1)));
	assert_string_equal(end_of(OTHER)->src, PLACE);
}

static const char *inside_ep(enum verb verb, unsigned int depth, int64_t after, int error)
{
	static char text[16];
	struct trace_event *ep = learn_verb(VERB_rdma_create_ep, ASKING), *inside;
	struct call *call = &cm_calls[cm_ncalls];
	uint64_t object;

	inside = add_call(verb, OTHER, NULL, NULL);
	call->depth = depth;
	call->begin = ep->call->end + after;
	call->failed = error;
	call->error = error;
	assert_int_equal(learn_call(inside), 0);
	if (!map_get(&replay.cm->inside_ep, event_key(ep->id), &object))
		return "none";
	snprintf(text, sizeof(text), "%u", (unsigned int)object);
	return text;
}

TEST(the_addresses_of_an_end_point_may_be_in_calls_inside)
{
	(void)state;
	assert_string_equal(inside_ep(VERB_rdma_bind_addr, 1, 0, 0), "7");
	assert_string_equal(inside_ep(VERB_rdma_resolve_addr, 1, 0, EADDRNOTAVAIL), "7");
	assert_string_equal(inside_ep(VERB_rdma_resolve_addr, 1, 0, EAFNOSUPPORT), "none");
	assert_string_equal(inside_ep(VERB_rdma_resolve_addr, 0, 0, 0), "none");
	assert_string_equal(inside_ep(VERB_rdma_resolve_addr, 1, 1, 0), "none");
	assert_string_equal(inside_ep(VERB_rdma_listen, 1, 0, 0), "none");
}

static bool is_lost(enum verb verb, int error)
{
	struct trace_event *event = add_call(verb, OTHER, NULL, NULL);

	cm_calls[cm_ncalls - 1].failed = error;
	cm_calls[cm_ncalls - 1].error = error;
	assert_int_equal(learn_call(event), 0);
	return end_of(OTHER)->lost;
}

TEST(an_address_that_failed_is_lost)
{
	(void)state;
	assert_false(is_lost(VERB_rdma_resolve_addr, 0));
	assert_false(is_lost(VERB_rdma_resolve_addr, EAGAIN));
	assert_false(is_lost(VERB_rdma_resolve_route, EINPROGRESS));
	assert_false(is_lost(VERB_rdma_bind_addr, EADDRNOTAVAIL));
	assert_true(is_lost(VERB_rdma_resolve_route, ENODEV));
	end_of(OTHER)->lost = false;
	assert_true(is_lost(VERB_rdma_resolve_addr, EADDRNOTAVAIL));
}

TEST(an_identifier_is_found_at_the_time_of_its_event)
{
	struct trace_event *event;
	struct object *later, *latest;

	(void)state;
	replay.nreplicas = OBJECTS_MOST;
	event = learn_verb(VERB_rdma_listen, LISTENER);
	objects[ACCEPTED].created_at = 50;
	objects[ACCEPTED].destroyed_at = 60;
	later = add_object(OBJECT_cm_id, 1, 500);
	latest = add_object(OBJECT_cm_id, 1, 500);
	later->created_at = 90;
	latest->created_at = 80;
	add_object(OBJECT_cm_id, 2, 500)->created_at = 70;
	add_object(OBJECT_cm_id, 1, 501)->created_at = 70;
	add_object(OBJECT_qp, 1, 500)->created_at = 70;
	for (uint32_t i = later->id; i <= nobjects; i++) {
		replay.cm->ends[i] = replay.cm->ends[i] ?: calloc(1, sizeof(struct cm_end));
		replay.cm->ends[i]->object = i;
	}
	assert_ptr_equal(cm_end_at(&replay, event, 104, 55), end_of(ACCEPTED));
	assert_ptr_equal(cm_end_at(&replay, event, 500, 85), end_of(latest->id));
	/* of a request that has not been got: the next one */
	assert_ptr_equal(cm_end_at(&replay, event, 500, 40), end_of(latest->id));
	assert_ptr_equal(cm_end_at(&replay, event, 500, 80), end_of(latest->id));
	latest->destroyed_at = 82;
	assert_ptr_equal(cm_end_at(&replay, event, 500, 84), end_of(later->id));
	assert_null(cm_end_at(&replay, event, 0, 55));
	assert_null(cm_end_at(&replay, event, 777, 55));
}

static void connect_ends(uint32_t asking, uint32_t accepted)
{
	struct cm_end *from = end_of(asking), *to = end_of(accepted);

	snprintf(from->src, SOCKADDR_TEXT, "%s", SOURCE);
	snprintf(from->dst, SOCKADDR_TEXT, "%s", PLACE);
	snprintf(to->src, SOCKADDR_TEXT, "%s", PLACE);
	snprintf(to->dst, SOCKADDR_TEXT, "%s", SOURCE);
	to->passive = true;
}

TEST(ends_with_the_same_addresses_are_partners_in_order)
{
	(void)state;
	learn_verb(VERB_rdma_listen, LISTENER);
	connect_ends(ASKING, ACCEPTED);
	connect_ends(OTHER, ACCEPTED_TOO);
	end_of(ASKING)->refused = true;
	assert_int_equal(cm_pair(&replay), 0);
	assert_int_equal(end_of(ASKING)->partner, ACCEPTED);
	assert_int_equal(end_of(ACCEPTED)->partner, ASKING);
	assert_int_equal(end_of(OTHER)->partner, ACCEPTED_TOO);
	assert_int_equal(end_of(ACCEPTED_TOO)->partner, OTHER);
	assert_int_equal(end_of(LISTENER)->partner, 0);
	assert_false(end_of(ASKING)->refused);
	assert_null(cm_early_listeners(&replay));
}

TEST(ends_with_other_addresses_are_no_partners)
{
	(void)state;
	learn_verb(VERB_rdma_listen, LISTENER);
	connect_ends(ASKING, ACCEPTED);
	strcpy(end_of(ACCEPTED)->dst, "192.0.2.2:41");
	assert_int_equal(cm_pair(&replay), 0);
	assert_int_equal(end_of(ASKING)->partner, 0);
	strcpy(end_of(ACCEPTED)->dst, SOURCE);
	strcpy(end_of(ACCEPTED)->src, "192.0.2.1:8");
	assert_int_equal(cm_pair(&replay), 0);
	assert_int_equal(end_of(ASKING)->partner, 0);
	connect_ends(ASKING, ACCEPTED_TOO);
	end_of(OTHER)->passive = true; /* without a destination: none */
	assert_int_equal(cm_pair(&replay), 0);
	assert_int_equal(end_of(ASKING)->partner, ACCEPTED_TOO);
	assert_int_equal(end_of(OTHER)->partner, 0);
}

TEST(a_request_without_an_other_end_is_alone)
{
	(void)state;
	learn_verb(VERB_rdma_listen, LISTENER);
	connect_ends(ASKING, ACCEPTED);
	connect_ends(ASKING, ACCEPTED_TOO);
	assert_int_equal(cm_pair(&replay), 0);
	assert_int_equal(end_of(ACCEPTED)->partner, ASKING);
	assert_int_equal(end_of(ACCEPTED_TOO)->partner, 0);
}

/* Was the request of ASKING heard by a listen that begins @listen, if it begins at 20? */
static const struct map *heard_at(enum verb verb, int64_t listen, bool failed)
{
	struct trace_event *asks = add_call(VERB_rdma_connect, ASKING, NULL, NULL);
	struct trace_event *listens = add_call(verb, LISTENER, NULL, NULL);

	cm_calls[0].begin = 20;
	cm_calls[1].begin = listen;
	cm_calls[1].failed = failed;
	assert_int_equal(learn_call(asks), 0);
	assert_int_equal(learn_call(listens), 0);
	replay.cm->driven = true;
	connect_ends(ASKING, ACCEPTED);
	end_of(ACCEPTED)->listener = LISTENER;
	assert_int_equal(cm_pair(&replay), 0);
	return cm_early_listeners(&replay);
}

TEST(a_request_may_be_earlier_than_its_listener)
{
	const struct map *heard = heard_at(VERB_rdma_listen, 21, false);
	uint64_t listens;

	(void)state;
	assert_non_null(heard);
	assert_int_equal(heard->used, 1);
	assert_true(map_get(heard, event_key(cm_trace[0].id), &listens));
	assert_int_equal(listens, event_key(cm_trace[1].id));
	replay.cm->driven = false;
	assert_null(cm_early_listeners(&replay));
}

TEST(a_request_after_its_listener_needs_no_order)
{
	(void)state;
	assert_null(heard_at(VERB_rdma_listen, 20, false));
}

TEST(a_listen_that_failed_hears_nothing)
{
	(void)state;
	assert_null(heard_at(VERB_rdma_listen, 30, true));
}

TEST(only_a_listen_hears)
{
	(void)state;
	assert_null(heard_at(VERB_rdma_bind_addr, 30, false));
}
