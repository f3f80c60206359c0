/* analyzer/facts/stalls_cm.c: who waits for whom to connect. */
#include <arpa/inet.h>
#include <rdma/rdma_cma.h>
#include <signal.h>

#include "analyzer/facts/stalls.h"
#include "analyzer/report/waits_text.h"
#include "tests/analyzer/story.h"

enum { SECOND = 1000000000, PEER = 200 };

#define HERE  "10.0.0.1"
#define THERE "10.0.0.2"

/* By process: 1 is thread 0, 2 is thread 1. */
static struct rdma_event_channel channels[2];
static struct rdma_cm_id ids[2], requests[2];

/* Two ranks of a job, or two programs that are none. */
static void begin_story(struct story *s, bool ranks)
{
	story_environ = ranks ? "SLURM_PROCID=3" : "";
	story_begin(s);
	assert_int_equal(story_thread(s, PEER, 0, 0), 1);
	story_environ = "";
}

/* @channel is NULL: its calls wait themselves. */
static void make_id(struct story *s, int end, struct rdma_event_channel *channel)
{
	struct rdma_cm_id *id = &ids[end];

	ids[end] = (struct rdma_cm_id){ .channel = channel };
	if (channel)
		story_do(s, end, VERB_rdma_create_event_channel, 20, W(channel));
	story_do(s, end, VERB_rdma_create_id, 21, 0, W(channel), W(&id), W(0), W(RDMA_PS_TCP));
}

static struct sockaddr_in make_address(const char *text, int port)
{
	struct sockaddr_in in = { .sin_family = AF_INET, .sin_port = htons((uint16_t)port) };

	assert_int_equal(inet_pton(AF_INET, text, &in.sin_addr), 1);
	return in;
}

static void listen_at(struct story *s, int end, const char *text, int port)
{
	struct sockaddr_in in = make_address(text, port);

	make_id(s, end, &channels[end]);
	story_do(s, end, VERB_rdma_bind_addr, 22, 0, W(&ids[end]), W(&in));
	story_do(s, end, VERB_rdma_listen, 23, 0, W(&ids[end]), W(4));
}

static void get_event(struct story *s, int end, struct rdma_cm_event *event, const char *own,
		      int own_port, const char *other, int other_port)
{
	struct sockaddr_in from = make_address(own, own_port), to = make_address(other, other_port);

	memcpy(&event->id->route.addr.src_addr, &from, sizeof(from));
	memcpy(&event->id->route.addr.dst_addr, &to, sizeof(to));
	story_do(s, end, VERB_rdma_get_cm_event, 24, 0, W(&channels[end]), W(&event));
}

/* Process 1 has an address, and asks for a connection to port 7 of process 2's. */
static void connect_there(struct story *s)
{
	struct sockaddr_in to = make_address(THERE, 7);
	struct rdma_cm_event event = { .id = &ids[0], .event = RDMA_CM_EVENT_ADDR_RESOLVED };

	make_id(s, 0, &channels[0]);
	story_do(s, 0, VERB_rdma_resolve_addr, 25, 0, W(&ids[0]), W(0), W(&to), W(2000));
	get_event(s, 0, &event, HERE, 9, THERE, 7);
	story_do(s, 0, VERB_rdma_connect, 26, 0, W(&ids[0]), W(0));
}

static void get_request(struct story *s, int end)
{
	struct rdma_cm_event event = { .id = &requests[end],
				       .listen_id = &ids[end],
				       .event = RDMA_CM_EVENT_CONNECT_REQUEST };

	get_event(s, end, &event, THERE, 7, HERE, 9);
}

static void sleep_for_event(struct story *s, int end)
{
	story_call(s, end, VERB_rdma_get_cm_event, 24, W(&channels[end]), W(0));
}

/* A second later both are killed. */
static const struct stalls *kill_both(struct story *s)
{
	s->now += SECOND;
	story_exit(s, STORY_PID, SIGTERM);
	story_exit(s, PEER, SIGTERM);
	story_check(s, NULL);
	return facts_stalls(s->findings->facts);
}

/* Process @waiter waits for the other, which calls no verb. */
static void blames_other(struct story *s, uint32_t waiter, enum stall_why why, const char *says)
{
	const struct stalls *stalls = kill_both(s);
	const struct stall_link *link;
	struct text text = { 0 };

	assert_int_equal(stalls->graph.nblames, 1);
	assert_int_equal(stalls->graph.blames[0].n, 1);
	assert_int_equal(stalls->graph.blames[0].nodes[0], 3 - waiter);
	assert_int_equal(stalls->all[waiter].state, STALL_WAITS);
	assert_int_equal(stalls->all[3 - waiter].state, STALL_QUIET);
	link = stalls_link_from(stalls, waiter, 3 - waiter);
	assert_non_null(link);
	assert_int_equal(link->why, why);
	waits_put_link(&text, s->trace, link);
	assert_string_equal(text.at, says);
	text_fini(&text);
	story_end(s);
}

static void blames_nobody(struct story *s, uint32_t process, enum stall_state state)
{
	const struct stalls *stalls = kill_both(s);

	assert_int_equal(stalls->graph.nblames, 0);
	assert_int_equal(stalls->all[process].state, state);
	story_end(s);
}

TEST(a_connection_that_is_not_accepted)
{
	struct story s;

	begin_story(&s, false);
	listen_at(&s, 1, THERE, 7);
	connect_there(&s);
	get_request(&s, 1);
	sleep_for_event(&s, 0);
	blames_other(&s, 1, STALL_CONNECT,
		     "process 1 -> process 2: rdma_connect() 1:10, not accepted for 1.00 s");
}

TEST(a_request_that_is_not_fetched)
{
	struct story s;

	begin_story(&s, false);
	listen_at(&s, 1, THERE, 7);
	connect_there(&s);
	sleep_for_event(&s, 0);
	blames_other(&s, 1, STALL_CONNECT,
		     "process 1 -> process 2: rdma_connect() 1:10, not accepted for 1.00 s");
}

TEST(a_listener_at_all_addresses)
{
	struct story s;

	begin_story(&s, false);
	listen_at(&s, 1, "0.0.0.0", 7);
	connect_there(&s);
	sleep_for_event(&s, 0);
	blames_other(&s, 1, STALL_CONNECT,
		     "process 1 -> process 2: rdma_connect() 1:10, not accepted for 1.00 s");
}

TEST(nobody_listens_in_the_trace)
{
	struct story s;

	begin_story(&s, true);
	listen_at(&s, 1, THERE, 8);
	connect_there(&s);
	sleep_for_event(&s, 0);
	blames_nobody(&s, 1, STALL_UNKNOWN);
}

/* An identifier without a channel: rdma_connect() itself waits, and is not what hangs. */
TEST(a_connect_that_waits_itself)
{
	struct sockaddr_in to = make_address(THERE, 7);
	struct story s;

	begin_story(&s, false);
	listen_at(&s, 1, THERE, 7);
	make_id(&s, 0, NULL);
	story_do(&s, 0, VERB_rdma_resolve_addr, 25, 0, W(&ids[0]), W(0), W(&to), W(2000));
	story_call(&s, 0, VERB_rdma_connect, 26, W(&ids[0]), W(0));
	s.now += 4ull * SECOND;
	blames_other(&s, 1, STALL_CONNECT,
		     "process 1 -> process 2: rdma_connect() 1:6, not accepted for 5.00 s");
}

TEST(an_answer_that_is_not_fetched)
{
	struct story s;

	begin_story(&s, false);
	listen_at(&s, 1, THERE, 7);
	connect_there(&s);
	get_request(&s, 1);
	story_do(&s, 1, VERB_rdma_accept, 27, 0, W(&requests[1]), W(0));
	sleep_for_event(&s, 1);
	blames_other(&s, 2, STALL_ACCEPT,
		     "process 2 -> process 1: rdma_accept() 2:12, not established for 1.00 s");
}

TEST(an_address_that_is_not_resolved_waits_for_the_network)
{
	struct sockaddr_in to = make_address(THERE, 7);
	struct story s;

	begin_story(&s, true);
	listen_at(&s, 1, THERE, 7);
	make_id(&s, 0, &channels[0]);
	story_do(&s, 0, VERB_rdma_resolve_addr, 25, 0, W(&ids[0]), W(0), W(&to), W(2000));
	sleep_for_event(&s, 0);
	blames_nobody(&s, 1, STALL_UNKNOWN);
}

/* The other rank waits for the connection of this one. */
TEST(a_rank_that_does_not_connect)
{
	struct story s;

	begin_story(&s, true);
	make_id(&s, 0, &channels[0]);
	listen_at(&s, 1, THERE, 7);
	sleep_for_event(&s, 1);
	blames_other(&s, 2, STALL_REQUEST,
		     "process 2 -> process 1: no request for a connection for 1.00 s");
}

TEST(a_server_that_is_no_rank_may_wait_for_requests)
{
	struct story s;

	begin_story(&s, false);
	make_id(&s, 0, &channels[0]);
	listen_at(&s, 1, THERE, 7);
	sleep_for_event(&s, 1);
	assert_int_equal(kill_both(&s)->graph.nblames, 0);
	story_end(&s);
}

/* Each listens, and waits for the other to connect. */
TEST(two_ranks_that_both_listen)
{
	const struct stalls *stalls;
	struct story s;

	begin_story(&s, true);
	listen_at(&s, 0, HERE, 7);
	listen_at(&s, 1, THERE, 7);
	sleep_for_event(&s, 0);
	sleep_for_event(&s, 1);
	stalls = kill_both(&s);
	assert_int_equal(stalls->graph.nblames, 1);
	assert_int_equal(stalls->graph.blames[0].n, 2);
	assert_int_equal(stalls->waiting, 2);
	story_end(&s);
}

TEST(a_rank_that_waits_for_the_end_of_its_connection)
{
	struct rdma_cm_event established = { .id = &ids[0], .event = RDMA_CM_EVENT_ESTABLISHED };
	struct story s;

	begin_story(&s, true);
	listen_at(&s, 1, THERE, 7);
	connect_there(&s);
	get_request(&s, 1);
	story_do(&s, 1, VERB_rdma_accept, 27, 0, W(&requests[1]), W(0));
	get_event(&s, 0, &established, HERE, 9, THERE, 7);
	sleep_for_event(&s, 0);
	blames_other(&s, 1, STALL_EVENT, "process 1 -> process 2: connected, no event for 1.00 s");
}

TEST(a_connection_that_was_refused_is_not_waited_for)
{
	struct rdma_cm_event rejected = { .id = &ids[0], .event = RDMA_CM_EVENT_REJECTED };
	struct story s;

	begin_story(&s, true);
	listen_at(&s, 1, THERE, 7);
	connect_there(&s);
	get_event(&s, 0, &rejected, HERE, 9, THERE, 7);
	sleep_for_event(&s, 0);
	blames_nobody(&s, 1, STALL_QUIET);
}
