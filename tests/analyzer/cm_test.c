/* The rules of analyzer/rules/cm.c over stored traces. */
#include <errno.h>
#include <rdma/rdma_cma.h>
#include <signal.h>

#include "tests/analyzer/story.h"
#include "tests/test.h"

enum { SECOND = 1000000000 };

static struct rdma_event_channel channel = { .fd = 7 }, other = { .fd = 8 };
static struct rdma_cm_id an_id = { .channel = &channel, .verbs = &a_context };
static struct rdma_cm_id new_id = { .channel = &channel, .verbs = &a_context };

static void begin_story(struct story *s)
{
	struct rdma_cm_id *id = &an_id;

	story_begin(s);
	story_do(s, 0, VERB_rdma_create_event_channel, 20, W(&channel));
	story_do(s, 0, VERB_rdma_create_id, 21, 0, W(&channel), W(&id), W(0), W(RDMA_PS_TCP));
}

static void end_story(struct story *s)
{
	story_do(s, 0, VERB_rdma_destroy_id, 22, 0, W(&an_id));
	story_do(s, 0, VERB_rdma_destroy_event_channel, 23, 0, W(&channel));
	story_exit(s, STORY_PID, 0);
}

static struct rdma_cm_event made;

static void get_event(struct story *s, enum rdma_cm_event_type type)
{
	struct rdma_cm_event *event = &made;
	bool request = type == RDMA_CM_EVENT_CONNECT_REQUEST;

	made = (struct rdma_cm_event){ .event = type,
				       .id = request ? &new_id : &an_id,
				       .listen_id = request ? &an_id : NULL };
	if (request)
		made.param.conn.qp_num = a_qp.qp_num;
	story_do(s, 0, VERB_rdma_get_cm_event, 24, 0, W(&channel), W(&event));
}

static void ack_event(struct story *s)
{
	story_do(s, 0, VERB_rdma_ack_cm_event, 25, 0, W(&made));
}

/* rdma_create_qp() with the verb inside it. */
static void make_qp(struct story *s)
{
	struct ibv_qp_init_attr attr = { .qp_type = IBV_QPT_RC };
	struct story_call call;

	open_context(s);
	alloc_pd(s);
	create_cq(s);
	call = story_call(s, 0, VERB_rdma_create_qp, 26, W(&an_id), W(&a_pd), W(&attr));
	create_qp(s);
	story_return(s, &call, 0);
}

static void end_qp(struct story *s)
{
	destroy_qp(s, 0);
	destroy_cq(s, 0);
	dealloc_pd(s, 0);
	close_context(s);
}

TEST(an_identifier_outlives_its_queue_pair)
{
	struct story s;

	begin_story(&s);
	make_qp(&s);
	end_qp(&s);
	end_story(&s);
	story_finds_nothing(&s);
}

TEST(a_queue_pair_outlives_its_identifier)
{
	const struct finding *f = NULL;
	struct story s;

	begin_story(&s);
	make_qp(&s);
	end_story(&s);
	story_check(&s, NULL);
	assert_int_equal(s.findings->rules[RULE_CM_001], 1);
	for (size_t i = 0; i < s.findings->n; i++)
		if (s.findings->all[i]->rule == RULE_CM_001)
			f = s.findings->all[i];
	assert_non_null(strstr(f->says, "identifier was destroyed before qp1"));
	assert_int_equal(f->steps[1].moment.verb, VERB_rdma_destroy_id);
	story_end(&s);
}

TEST(a_verb_destroys_the_queue_pair_afterwards)
{
	struct story s;

	begin_story(&s);
	make_qp(&s);
	story_do(&s, 0, VERB_rdma_destroy_id, 22, 0, W(&an_id));
	end_qp(&s);
	story_do(&s, 0, VERB_rdma_destroy_event_channel, 23, 0, W(&channel));
	story_exit(&s, STORY_PID, 0);
	story_warns(&s, RULE_CM_001, "identifier was destroyed before qp1, which ibv_destroy_qp()");
}

/* rdma_destroy_ep() destroys the queue pair itself. */
TEST(an_endpoint_takes_its_queue_pair_with_it)
{
	struct story_call call;
	struct story s;

	begin_story(&s);
	make_qp(&s);
	call = story_call(&s, 0, VERB_rdma_destroy_ep, 27, W(&an_id));
	end_qp(&s);
	story_return(&s, &call, 0);
	story_do(&s, 0, VERB_rdma_destroy_event_channel, 23, 0, W(&channel));
	story_exit(&s, STORY_PID, 0);
	story_finds_nothing(&s);
}

TEST(a_channel_is_destroyed_with_its_identifiers)
{
	struct story s;

	begin_story(&s);
	story_do(&s, 0, VERB_rdma_destroy_event_channel, 23, 0, W(&channel));
	story_do(&s, 0, VERB_rdma_destroy_id, 22, 0, W(&an_id));
	story_exit(&s, STORY_PID, 0);
	story_tells(&s, RULE_CM_001, "cm_channel1 was destroyed while cm_id1 used it");
}

TEST(an_identifier_has_moved)
{
	struct story s;

	begin_story(&s);
	story_do(&s, 0, VERB_rdma_create_event_channel, 20, W(&other));
	story_do(&s, 0, VERB_rdma_migrate_id, 28, 0, W(&an_id), W(&other));
	story_do(&s, 0, VERB_rdma_destroy_event_channel, 23, 0, W(&channel));
	story_do(&s, 0, VERB_rdma_destroy_id, 22, 0, W(&an_id));
	story_do(&s, 0, VERB_rdma_destroy_event_channel, 23, 0, W(&other));
	story_exit(&s, STORY_PID, 0);
	story_finds_nothing(&s);
}

TEST(a_destroy_waits_for_an_event)
{
	const struct finding *f;
	struct story s;

	begin_story(&s);
	get_event(&s, RDMA_CM_EVENT_ADDR_RESOLVED);
	ack_event(&s);
	get_event(&s, RDMA_CM_EVENT_ROUTE_RESOLVED);
	story_call(&s, 0, VERB_rdma_destroy_id, 22, W(&an_id));
	s.now += SECOND;
	story_exit(&s, STORY_PID, 14);
	story_check(&s, NULL);
	f = story_only(&s, RULE_CM_002);
	assert_non_null(strstr(f->says, "never returned (1.00 s, until the process ended): 1 "
					"event was retrieved for it, the last, "
					"RDMA_CM_EVENT_ROUTE_RESOLVED, by 1:"));
	assert_int_equal(f->steps[1].moment.verb, VERB_rdma_get_cm_event);
	story_end(&s);
}

/* Another thread has acknowledged it, or it belongs to another object. */
/* RDMA_OPTION_ID_TOS, or RDMA_OPTION_ID_ACK_TIMEOUT */
static void set_option(struct story *s, int optname)
{
	static uint8_t value = 14;

	story_do(s, 0, VERB_rdma_set_option, 27, 0, W(&an_id), W(RDMA_OPTION_ID), W(optname),
		 W(&value), W(1));
}

static void connect_id(struct story *s)
{
	struct rdma_conn_param param = { .retry_count = 7 };

	story_do(s, 0, VERB_rdma_connect, 28, 0, W(&an_id), W(&param));
}

/* An option that is set after the connection has what it says. */
static void expect_late(int optname, bool connected, bool late, const char *says)
{
	struct story s;
	const struct finding *found = NULL;

	begin_story(&s);
	make_qp(&s);
	if (!late)
		set_option(&s, optname);
	if (connected)
		connect_id(&s);
	if (late)
		set_option(&s, optname);
	end_qp(&s);
	end_story(&s);
	story_check(&s, NULL);
	for (size_t i = 0; i < s.findings->n; i++)
		if (s.findings->all[i]->rule == RULE_STATE_001)
			found = s.findings->all[i];
	assert_int_equal(s.findings->hazards[RULE_STATE_001], says ? 1 : 0);
	if (says && !strstr(found->says, says))
		fail_msg("no '%s' in: %s", says, found->says);
	story_end(&s);
}

TEST(an_option_is_set_when_it_has_no_effect_any_more)
{
	expect_late(RDMA_OPTION_ID_TOS, true, true,
		    "RDMA_OPTION_ID_TOS of cm_id1 was set 2000 ns after its rdma_connect() at 1:");
	expect_late(RDMA_OPTION_ID_TOS, true, false, NULL);
	expect_late(RDMA_OPTION_ID_TOS, false, true, NULL);
	expect_late(RDMA_OPTION_ID_AFONLY, true, true, NULL);
	expect_late(RDMA_OPTION_ID_ACK_TIMEOUT, true, true, "when the queue pair goes to RTS");
	expect_late(RDMA_OPTION_ID_ACK_TIMEOUT, false, true, NULL);
}

TEST(what_is_acknowledged_is_not_waited_for)
{
	struct rdma_cm_event multicast = { .id = &an_id, .event = RDMA_CM_EVENT_MULTICAST_JOIN };
	struct rdma_cm_event *event = &multicast;
	struct story s;

	begin_story(&s);
	get_event(&s, RDMA_CM_EVENT_ESTABLISHED);
	ack_event(&s);
	story_do(&s, 0, VERB_rdma_get_cm_event, 24, 0, W(&channel), W(&event));
	story_call(&s, 0, VERB_rdma_destroy_id, 22, W(&an_id));
	s.now += SECOND;
	story_exit(&s, STORY_PID, 14);
	story_finds_nothing(&s);
}

/* The request event belongs to the listener, and has a new identifier. */
TEST(a_request_is_owed_to_the_listener)
{
	const struct finding *f;
	struct story s;

	begin_story(&s);
	get_event(&s, RDMA_CM_EVENT_CONNECT_REQUEST);
	story_do(&s, 0, VERB_rdma_destroy_id, 29, 0, W(&new_id));
	story_call(&s, 0, VERB_rdma_destroy_id, 22, W(&an_id));
	s.now += SECOND;
	story_exit(&s, STORY_PID, 14);
	story_check(&s, NULL);
	f = story_only(&s, RULE_CM_002);
	assert_string_equal(f->object, "cm_id1");
	story_end(&s);
}

TEST(what_is_left_at_exit_is_a_leak)
{
	struct story s;

	begin_story(&s);
	get_event(&s, RDMA_CM_EVENT_CONNECT_REQUEST);
	ack_event(&s);
	story_exit(&s, STORY_PID, 0);
	story_check(&s, NULL);
	assert_int_equal(s.findings->rules[RULE_LIFE_004], s.findings->n);
	assert_true(s.findings->n >= 1);
	story_end(&s);
}

/* @verb, if any, is called for the identifier of a request by an_id's queue pair, which waits. */
static void waits_for_answer(bool connects, enum verb verb, const char *says)
{
	const struct fact *fact = NULL;
	struct story s;

	begin_story(&s);
	make_qp(&s);
	if (connects)
		story_do(&s, 0, VERB_rdma_connect, 27, 0, W(&an_id), W(0));
	get_event(&s, RDMA_CM_EVENT_CONNECT_REQUEST);
	if (verb != VERB_COUNT)
		story_do(&s, 0, verb, 28, 0, W(&new_id), W(0), W(0));
	s.now += SECOND;
	story_exit(&s, STORY_PID, 15);
	story_check(&s, NULL);
	for (size_t i = 0; i < s.findings->facts->list.n; i++)
		if (s.findings->facts->list.all[i].kind == FACT_KILLED)
			fact = &s.findings->facts->list.all[i];
	assert_non_null(fact);
	assert_string_equal(fact->because, says);
	story_end(&s);
}

TEST(a_request_that_nobody_answers)
{
	a_qp.state = IBV_QPS_INIT;
	waits_for_answer(true, VERB_COUNT,
			 "qp1 was still in INIT; rdma_connect() of its identifier cm_id1 was "
			 "called at 1:16, and no connection established: process 1 got the request "
			 "at 1:18, cm_id2, and neither accepted nor rejected it");
	waits_for_answer(true, VERB_rdma_reject,
			 "qp1 was still in INIT; rdma_connect() of its identifier cm_id1 was "
			 "called at 1:16, and no connection established");
	waits_for_answer(false, VERB_COUNT,
			 "qp1 was still in INIT; neither rdma_connect() nor rdma_accept() of its "
			 "identifier cm_id1 was called");
	a_qp.state = IBV_QPS_RTS;
}

TEST(a_failed_destroy_destroys_nothing)
{
	struct story_call call;
	struct story s;

	begin_story(&s);
	make_qp(&s);
	call = story_call(&s, 0, VERB_rdma_destroy_id, 22, W(&an_id));
	story_fails(&s, &call, (uint64_t)-1, EBUSY);
	end_qp(&s);
	end_story(&s);
	story_finds_nothing(&s);
}

TEST(a_migration_waits_for_an_event)
{
	struct story s;

	begin_story(&s);
	story_do(&s, 0, VERB_rdma_create_event_channel, 20, W(&other));
	get_event(&s, RDMA_CM_EVENT_ROUTE_RESOLVED);
	story_call(&s, 0, VERB_rdma_migrate_id, 28, W(&an_id), W(&other));
	s.now += SECOND;
	story_exit(&s, STORY_PID, 14);
	story_tells(&s, RULE_CM_002,
		    "rdma_migrate_id(cm_id1) never returned (1.00 s, until the "
		    "process ended): 1 event was retrieved for it");
}

TEST(a_migration_waits_for_another_thread)
{
	struct story_call call;
	struct story s;

	begin_story(&s);
	story_do(&s, 0, VERB_rdma_create_event_channel, 20, W(&other));
	get_event(&s, RDMA_CM_EVENT_ROUTE_RESOLVED);
	assert_int_equal(story_thread(&s, STORY_PID, 0, 0), 1);
	call = story_call(&s, 0, VERB_rdma_migrate_id, 28, W(&an_id), W(&other));
	story_do(&s, 1, VERB_rdma_ack_cm_event, 25, 0, W(&made));
	story_return(&s, &call, 0);
	story_do(&s, 0, VERB_rdma_destroy_event_channel, 23, 0, W(&channel));
	story_do(&s, 0, VERB_rdma_destroy_id, 22, 0, W(&an_id));
	story_do(&s, 0, VERB_rdma_destroy_event_channel, 23, 0, W(&other));
	story_exit(&s, STORY_PID, 0);
	story_finds_nothing(&s);
}

static void resolve_within(struct story *s, int timeout_ms, int ret)
{
	struct sockaddr_in in = { .sin_family = AF_INET };

	begin_story(s);
	story_do(s, 0, VERB_rdma_resolve_addr, 28, ret ? (uint64_t)-1 : 0, W(&an_id), W(0), W(&in),
		 W(timeout_ms));
	end_story(s);
}

TEST(an_address_that_is_resolved_without_time)
{
	struct story s;

	resolve_within(&s, 0, 0);
	story_warns(&s, RULE_STATE_009, "rdma_resolve_addr() of cm_id1 has timeout_ms 0.");
}

TEST(an_address_that_is_resolved_in_time)
{
	struct story s;

	resolve_within(&s, 1000, 0);
	story_finds_nothing(&s);
}

/* As a server does that has too many clients, and forgets the request. */
TEST(a_request_that_is_not_answered)
{
	struct story s;

	begin_story(&s);
	get_event(&s, RDMA_CM_EVENT_CONNECT_REQUEST);
	ack_event(&s);
	story_exit(&s, STORY_PID, 0);
	story_tells(&s, RULE_LIFE_004,
		    "and with it 2 cm_ids. 1 connection request was neither accepted nor "
		    "rejected: the other end got no answer.");
}

/* A server whose @n first clients have gone. */
static void leave_clients(struct story *s, int n)
{
	static struct rdma_cm_id ids[3];
	struct rdma_cm_event *event = &made;

	story_begin(s);
	story_do(s, 0, VERB_rdma_create_event_channel, 20, W(&channel));
	for (int i = 0; i < 3; i++) {
		struct rdma_cm_id *id = &ids[i];

		story_do(s, 0, VERB_rdma_create_id, 21, 0, W(&channel), W(&id), W(0),
			 W(RDMA_PS_TCP));
		made = (struct rdma_cm_event){ .event = i < n ? RDMA_CM_EVENT_DISCONNECTED
							      : RDMA_CM_EVENT_ESTABLISHED,
					       .id = id };
		story_do(s, 0, VERB_rdma_get_cm_event, 24, 0, W(&channel), W(&event));
		ack_event(s);
	}
	story_exit(s, STORY_PID, 0);
}

TEST(identifiers_that_were_disconnected_are_named_first)
{
	struct story s;

	leave_clients(&s, 2);
	story_tells(&s, RULE_LIFE_004,
		    "2 identifiers whose RDMA_CM_EVENT_DISCONNECTED had been retrieved were never "
		    "destroyed: cm_channel1, created by rdma_create_event_channel(), still existed "
		    "when process 1 exited, and with it 3 cm_ids.");
	leave_clients(&s, 1);
	story_check(&s, NULL);
	assert_null(strstr(story_only(&s, RULE_LIFE_004)->says, "DISCONNECTED"));
	story_end(&s);
}

/* Begins the use of an identifier that was destroyed: the call never returns. */
static void use_gone_id(struct story *s, enum verb verb)
{
	begin_story(s);
	story_do(s, 0, VERB_rdma_destroy_id, 22, 0, W(&an_id));
	story_call(s, 0, verb, 28, W(&an_id));
	story_exit(s, STORY_PID, SIGSEGV);
}

TEST(an_identifier_is_used_after_its_destroy)
{
	struct story s;

	use_gone_id(&s, VERB_rdma_disconnect);
	story_tells(&s, RULE_LIFE_001, "rdma_disconnect() used it again; the call never returned.");
}

TEST(an_identifier_is_destroyed_twice)
{
	struct story s;

	use_gone_id(&s, VERB_rdma_destroy_id);
	story_tells(&s, RULE_LIFE_002, "and again");
}

TEST(a_refused_request_is_destroyed_before_its_event_is_acknowledged)
{
	struct story s;

	begin_story(&s);
	get_event(&s, RDMA_CM_EVENT_CONNECT_REQUEST);
	story_do(&s, 0, VERB_rdma_destroy_id, 22, 0, W(&new_id));
	ack_event(&s);
	end_story(&s);
	story_finds_nothing(&s);
}

/* rdma_create_id() without a channel makes one, which may be where the last one was. */
TEST(a_channel_of_librdmacm_is_at_the_address_of_a_destroyed_one)
{
	struct rdma_cm_id *id = &an_id;
	struct story s;

	story_begin(&s);
	story_do(&s, 0, VERB_rdma_create_event_channel, 20, W(&channel));
	story_do(&s, 0, VERB_rdma_destroy_event_channel, 23, 0, W(&channel));
	story_do(&s, 0, VERB_rdma_create_id, 21, 0, W(0), W(&id), W(0), W(RDMA_PS_TCP));
	get_event(&s, RDMA_CM_EVENT_ADDR_RESOLVED);
	ack_event(&s);
	story_do(&s, 0, VERB_rdma_destroy_id, 22, 0, W(&an_id));
	story_exit(&s, STORY_PID, 0);
	story_finds_nothing(&s);
}

/* A request is accepted without a queue pair; @with: by which number of its own. */
static void accept_bare(struct story *s, uint32_t with)
{
	struct rdma_conn_param param = { .qp_num = with };

	begin_story(s);
	get_event(s, RDMA_CM_EVENT_CONNECT_REQUEST);
	ack_event(s);
	story_do(s, 0, VERB_rdma_accept, 28, 0, W(&new_id), W(&param));
	story_do(s, 0, VERB_rdma_destroy_id, 22, 0, W(&new_id));
	end_story(s);
}

TEST(a_request_of_a_queue_pair_is_accepted_without_one)
{
	struct story s;

	accept_bare(&s, 0);
	story_warns(&s, RULE_STATE_005, "of the peer to none: no rdma_create_qp() had made one");
}

TEST(a_request_is_accepted_for_a_queue_pair_of_the_program)
{
	struct story s;

	accept_bare(&s, 0x77);
	story_finds_nothing(&s);
}

/* The other end responds, and the program makes its own queue pair ready. */
static void respond_to_request(struct story *s, bool ready, bool establishes)
{
	struct rdma_conn_param param = { .qp_num = 0x77 };
	struct ibv_qp_attr attr;
	int mask;

	begin_story(s);
	story_do(s, 0, VERB_rdma_connect, 28, 0, W(&an_id), W(&param));
	get_event(s, RDMA_CM_EVENT_CONNECT_RESPONSE);
	ack_event(s);
	if (ready)
		story_do(s, 0, VERB_rdma_init_qp_attr, 29, 0, W(&an_id), W(&attr), W(&mask));
	if (establishes)
		story_do(s, 0, VERB_rdma_establish, 30, 0, W(&an_id));
	end_story(s);
}

TEST(a_response_after_which_nothing_is_established)
{
	struct story s;

	respond_to_request(&s, true, false);
	story_warns(&s, RULE_STATE_005, "but not rdma_establish() in the ");
	respond_to_request(&s, true, true);
	story_finds_nothing(&s);
	respond_to_request(&s, false, false); /* it does not want the connection */
	story_finds_nothing(&s);
}

static void post_send(struct story *s, bool data)
{
	struct event_post *event = (struct event_post *)s->words;
	struct event_wr *wr = (struct event_wr *)(event + 1);
	struct event_sge *sge = (struct event_sge *)(wr + 1);

	event->object = W(&a_qp);
	event->verb = VERB_post_send;
	event->nwr = 1;
	*wr = (struct event_wr){ .opcode = IBV_WR_SEND, .flags = IBV_SEND_SIGNALED, .nsge = data };
	*sge = (struct event_sge){ 0x1000, 64, 0x10 };
	story_event(s, 0, EVENT_POST,
		    (sizeof(*event) + sizeof(*wr) + (data ? sizeof(*sge) : 0)) / 8);
}

/* The connection is refused; librdmacm moves the queue pair to ERR. */
static void begin_rejected(struct story *s)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_INIT, .port_num = 1 };
	struct rdma_conn_param param = { .retry_count = 7 };
	struct rdma_cm_event *event = &made;
	struct story_call call;

	begin_story(s);
	make_qp(s);
	story_do(s, 0, VERB_modify_qp, 40, 0, W(&a_qp), W(&attr),
		 W(IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS));
	story_do(s, 0, VERB_rdma_connect, 41, 0, W(&an_id), W(&param));
	made = (struct rdma_cm_event){ .event = RDMA_CM_EVENT_REJECTED, .id = &an_id };
	call = story_call(s, 0, VERB_rdma_get_cm_event, 24, W(&channel), W(&event));
	attr.qp_state = IBV_QPS_ERR;
	story_do(s, 0, VERB_modify_qp, 42, 0, W(&a_qp), W(&attr), W(IBV_QP_STATE));
	story_return(s, &call, 0);
	ack_event(s);
}

static void end_rejected(struct story *s)
{
	story_poll(s, 0, &a_cq, 0, IBV_WC_WR_FLUSH_ERR, a_qp.qp_num);
	end_qp(s);
	end_story(s);
}

TEST(a_request_is_sent_although_the_connection_was_rejected)
{
	struct story s;

	begin_rejected(&s);
	post_send(&s, true);
	end_rejected(&s);
	story_tells(&s, RULE_STATE_003,
		    "had entered ERR because of RDMA_CM_EVENT_REJECTED of cm_id1, retrieved at 1:");
}

/* The flush of the request shows that all receives were flushed. */
TEST(a_request_without_data_is_flushed_after_the_rejection)
{
	struct story s;

	begin_rejected(&s);
	post_send(&s, false);
	end_rejected(&s);
	story_finds_nothing(&s);
}

TEST(a_rejected_queue_pair_is_destroyed)
{
	struct story s;

	begin_rejected(&s);
	end_qp(&s);
	end_story(&s);
	story_finds_nothing(&s);
}
