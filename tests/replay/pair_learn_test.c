/*
 * replay/two_host/pair_learn.c: facts from the events of one half
 *
 * The events are those of the test, and so are the objects: queue pairs QP and OTHER, datagram
 * queue pair UD and shared receive queue SRQ of one process.
 */
#include <errno.h>

#include "core/store/finish/connections.h"
#include "core/store/finish/queue_table.h"
#include "replay/state/recorded.h"
#include "replay/two_host/pair_priv.h"
#include "tests/replay/objects.h"
#include "tests/test.h"

enum { QP = 1, OTHER, UD, SRQ, AH, DEVICE, MW, NOBJECTS, EVENTS_MOST = 64 };

static struct trace_event events[EVENTS_MOST];
static struct call calls[EVENTS_MOST];
static struct post posts[EVENTS_MOST];
static struct poll polls[EVENTS_MOST];
static struct wr wrs[EVENTS_MOST][4];
static struct wc wcs[EVENTS_MOST];
static size_t nevents, at_event;

static struct connections connections;
static struct replay replay;
static struct replica replicas[NOBJECTS];
static struct pair pair;
static struct device device;
static struct queue_row row;
static uint32_t inside; /* the peer in this trace */
static bool claimed;

int cursor_open(struct trace *trace, const struct trace_filter *filter, struct cursor **ret_cursor)
{
	(void)trace;
	(void)filter;
	*ret_cursor = (struct cursor *)(void *)&at_event;
	at_event = 0;
	return 0;
}

int cursor_next(struct cursor *cursor, const struct trace_event **ret_event)
{
	(void)cursor;
	*ret_event = &events[at_event];
	return at_event++ < nevents;
}

void cursor_close(struct cursor *cursor)
{
	(void)cursor;
}

int trace_queues(struct trace *trace, const struct queue_table **ret_table)
{
	(void)trace;
	*ret_table = NULL;
	return 0;
}

const struct queue_row *queue_table_at(const struct queue_table *table, uint32_t object,
				       enum queue_side side, int64_t time)
{
	(void)table;
	(void)time;
	assert_int_equal(side, QUEUE_RECV);
	return object == OTHER ? &row : NULL;
}

const struct device *devices_find_role(struct devices *devices, const char *name)
{
	(void)devices;
	assert_string_equal(name, "object");
	return &device;
}

uint8_t device_port(const struct device *of, uint8_t port)
{
	return of->ports[port].there ? port : 1;
}

bool peers_is_claimed(const struct peers *peers, uint32_t id)
{
	(void)peers;
	(void)id;
	return claimed;
}

const struct connection *connections_at(const struct connections *all, uint32_t id, int64_t time)
{
	static struct connection connection;

	assert_ptr_equal(all, &connections);
	(void)id;
	(void)time;
	connection.peer = inside;
	return &connection;
}

uint32_t peers_find(const struct peers *peers, uint32_t id, uint32_t dest,
		    const struct place *place, int64_t time, enum peers_known *ret_known)
{
	(void)peers;
	(void)id;
	(void)dest;
	(void)place;
	(void)time;
	(void)ret_known;
	return 0;
}

uint32_t peers_find_datagram(const struct peers *peers, uint32_t id, uint32_t number,
			     const struct place *place, int64_t time)
{
	(void)peers;
	(void)id;
	(void)number;
	(void)place;
	(void)time;
	return 0;
}

/* Port 1 of the recorded device was known by two addresses. */
const struct place *peers_known_place(const struct peers *peers, uint32_t id, uint8_t port,
				      size_t i)
{
	static const struct place places[] = { { .lid = 5 }, { .lid = 6 } };

	(void)peers;
	assert_int_equal(id, DEVICE);
	return port == 1 && i < 2 ? &places[i] : NULL;
}

const struct process *trace_process(const struct trace *trace, uint32_t id)
{
	(void)trace;
	(void)id;
	return NULL;
}

static int begin_learning(void **state)
{
	(void)state;
	nobjects = 0;
	add_object(OBJECT_qp, 7, 16)->number = 17;
	add_object(OBJECT_qp, 7, 0)->number = 18;
	add_object(OBJECT_qp, 7, 0)->number = 19;
	add_object(OBJECT_srq, 7, 0);
	add_object(OBJECT_ah, 7, 0);
	add_object(OBJECT_device, 7, 0);
	add_object(OBJECT_mw, 7, 0);
	for (uint32_t i = 1; i < DEVICE; i++)
		objects[i].parent = DEVICE;
	memset(&device, 0, sizeof(device));
	for (int i = 1; i <= 2; i++)
		device.ports[i] = (struct port){ .there = true, .lid = (uint16_t)(100 + i) };
	nevents = inside = 0;
	claimed = false;
	row = (struct queue_row){ .srq = SRQ };
	replay = (struct replay){ .replicas = replicas,
				  .nreplicas = NOBJECTS,
				  .connections = &connections };
	pair = (struct pair){ .r = &replay };
	return 0;
}

static int end_learning(void **state)
{
	(void)state;
	for (size_t i = 0; i < nevents; i++) {
		if (events[i].kind == TRACE_CALL) {
			args_unref(calls[i].args);
			args_unref(calls[i].out);
		}
	}
	for (size_t i = 0; i < pair.mine.nstreams; i++)
		free(pair.needs[i].posted);
	pair_table_fini(&pair.mine);
	free(pair.own);
	free(pair.needs);
	free(pair.now);
	free(pair.first);
	free(pair.posted);
	free(pair.av);
	map_fini(&pair.failed);
	map_fini(&pair.avs);
	map_fini(&pair.binds);
	return 0;
}

FIXTURE(begin_learning, end_learning);

static struct trace_event *add_event(enum trace_event_kind kind)
{
	struct trace_event *event = &events[nevents++];

	assert_true(nevents <= EVENTS_MOST);
	*event = (struct trace_event){
		.kind = kind, .id = { 1, nevents }, .process = 7, .time = (int64_t)nevents * 10
	};
	return event;
}

static struct trace_event *add_call(enum verb verb, uint32_t object, const char *args)
{
	struct trace_event *event = add_event(TRACE_CALL);
	struct call *call = &calls[nevents - 1];

	*call = (struct call){ .verb = verb,
			       .begin = event->time,
			       .end = event->time + 5,
			       .object = object,
			       .args = args_new(args, strlen(args)) };
	event->call = call;
	return event;
}

static void create_qp(uint32_t object, const char *type)
{
	char args[64];

	snprintf(args, sizeof(args), "{\"qp_init_attr\":{\"qp_type\":\"%s\"}}", type);
	add_call(VERB_create_qp, object, args);
}

static void modify_qp(uint32_t object, const char *attr)
{
	char args[256];

	snprintf(args, sizeof(args), "{\"attr\":{%s}}", attr);
	add_call(VERB_modify_qp, object, args);
}

static void connect_qp(uint32_t object)
{
	modify_qp(object, "\"dest_qp_num\":33,\"ah_attr\":{\"dlid\":9}");
}

static struct event_id add_post(enum verb verb, uint32_t object, uint32_t n)
{
	struct trace_event *event = add_event(TRACE_POST);

	memset(wrs[nevents - 1], 0, sizeof(wrs[0]));
	posts[nevents - 1] =
		(struct post){ .verb = verb, .object = object, .nwr = n, .wr = wrs[nevents - 1] };
	event->post = &posts[nevents - 1];
	return event->id;
}

/* A request that names memory by @rkey; 0: a message. */
static struct event_id add_send(uint32_t object, uint32_t rkey)
{
	struct event_id id = add_post(VERB_post_send, object, 1);

	wrs[nevents - 1][0] =
		(struct wr){ .opcode = rkey ? IBV_WR_RDMA_WRITE : IBV_WR_SEND, .rkey = rkey };
	return id;
}

static void add_wc(uint32_t object, struct event_id request, uint32_t index,
		   enum ibv_wc_status status, enum ibv_wc_opcode opcode)
{
	struct trace_event *event = add_event(TRACE_POLL);

	wcs[nevents - 1] = (struct wc){ .qp = object,
					.status = (int32_t)status,
					.opcode = (int32_t)opcode,
					.request = request,
					.request_index = index,
					.src_qp = 44 };
	polls[nevents - 1] = (struct poll){ .nwc = 1, .wc = &wcs[nevents - 1] };
	event->poll = &polls[nevents - 1];
}

static void learn_all(void)
{
	assert_int_equal(pair_learn(&pair), 0);
}

static const struct event_id none;

TEST(a_queue_pair_is_a_life_on_its_port)
{
	const struct pair_life *life;

	(void)state;
	create_qp(QP, "IBV_QPT_RC");
	create_qp(UD, "IBV_QPT_UD");
	create_qp(QP, "IBV_QPT_RC"); /* damage: the object was created before */
	learn_all();
	assert_int_equal(pair.mine.nlives, 2);
	life = pair.mine.lives;
	assert_int_equal(life->object, QP);
	assert_int_equal(life->process, 7);
	assert_int_equal(life->number, 17);
	assert_int_equal(life->type, IBV_QPT_RC);
	assert_false(life->shared);
	assert_false(life->connected);
	assert_int_equal(life[1].type, IBV_QPT_UD);
	assert_int_equal(pair.own[0].queue, QP);
	assert_int_equal(pair.now[QP], 1);
	assert_int_equal(pair.now[UD], 2);
	assert_int_equal(pair.now[OTHER], 0);
	assert_int_equal(pair.mine.nports, 1);
	assert_int_equal(pair.mine.ports[0].here.lid, 101);
	assert_int_equal(pair.mine.ports[0].nknown, 2);
	assert_int_equal(pair.mine.ports[0].known[1].lid, 6);
}

TEST(an_extended_create_is_one_too)
{
	(void)state;
	add_call(VERB_create_qp_ex, QP, "{\"qp_init_attr_ex\":{\"qp_type\":\"IBV_QPT_UC\"}}");
	learn_all();
	assert_int_equal(pair.mine.nlives, 1);
	assert_int_equal(pair.mine.lives[0].type, IBV_QPT_UC);
}

TEST(calls_that_do_not_count_are_passed_over)
{
	(void)state;
	for (int i = 0; i < 5; i++) {
		create_qp(QP, "IBV_QPT_RC");
		events[i].inner = i == 0;
		calls[i].ours = i == 1;
		calls[i].depth = i == 2;
		calls[i].failed = i == 3;
		calls[i].end = i == 4 ? -1 : calls[i].end;
	}
	create_qp(NOBJECTS, "IBV_QPT_RC");
	create_qp(0, "IBV_QPT_RC");
	modify_qp(QP, "\"port_num\":2");
	learn_all();
	assert_int_equal(pair.mine.nlives, 0);
	create_qp(QP, "IBV_QPT_RC");
	calls[nevents - 1].end = 0;
}

TEST(a_shared_queue_is_that_of_its_receives)
{
	(void)state;
	create_qp(OTHER, "IBV_QPT_RC");
	learn_all();
	assert_true(pair.mine.lives[0].shared);
	assert_int_equal(pair.own[0].queue, SRQ);
}

TEST(a_connection_has_its_address_and_sequence_numbers)
{
	const struct pair_life *life;

	(void)state;
	create_qp(QP, "IBV_QPT_RC");
	modify_qp(QP, "\"port_num\":2");
	modify_qp(QP, "\"dest_qp_num\":33,\"rq_psn\":71,\"ah_attr\":{\"dlid\":9}");
	modify_qp(QP, "\"sq_psn\":72");
	learn_all();
	life = pair.mine.lives;
	assert_true(life->connected);
	assert_int_equal(life->dest, 33);
	assert_int_equal(life->av.dlid, 9);
	assert_true(life->has_rq_psn);
	assert_true(life->has_sq_psn);
	assert_int_equal(life->rq_psn, 71);
	assert_int_equal(life->sq_psn, 72);
	assert_int_equal(pair.own[0].time, 30);
	assert_int_equal(pair.own[0].stream, 1);
	assert_int_equal(pair.mine.nstreams, 1);
	assert_int_equal(pair.mine.streams[0].life, 0);
	assert_int_equal(pair.mine.streams[0].source, 0);
	assert_true(pair.needs[0].direct);
	assert_int_equal(pair.needs[0].queue, QP);
	assert_int_equal(pair.mine.nports, 2);
	assert_int_equal(pair.mine.ports[life->port].here.lid, 102);
	assert_int_equal(pair.mine.ports[life->port].nknown, 0);
}

TEST(an_unknown_sequence_number_is_none)
{
	(void)state;
	create_qp(QP, "IBV_QPT_RC");
	connect_qp(QP);
	learn_all();
	assert_false(pair.mine.lives[0].has_rq_psn);
	assert_false(pair.mine.lives[0].has_sq_psn);
}

TEST(a_peer_of_this_trace_is_not_on_the_other_host)
{
	(void)state;
	inside = OTHER;
	create_qp(QP, "IBV_QPT_RC");
	connect_qp(QP);
	learn_all();
	assert_false(pair.mine.lives[0].connected);
	assert_int_equal(pair.own[0].stream, 0);
	assert_int_equal(pair.mine.nstreams, 0);
}

TEST(one_that_a_queue_pair_of_this_trace_claims_is_not_either)
{
	(void)state;
	claimed = true;
	create_qp(QP, "IBV_QPT_RC");
	connect_qp(QP);
	learn_all();
	assert_false(pair.mine.lives[0].connected);
}

TEST(a_reset_begins_the_next_life)
{
	(void)state;
	create_qp(OTHER, "IBV_QPT_UC");
	connect_qp(OTHER);
	modify_qp(OTHER, "\"qp_state\":\"IBV_QPS_RESET\"");
	modify_qp(OTHER, "\"qp_state\":\"IBV_QPS_INIT\"");
	connect_qp(OTHER);
	learn_all();
	assert_int_equal(pair.mine.nlives, 2);
	assert_int_equal(pair.own[0].next, 2);
	assert_int_equal(pair.own[1].next, 0);
	assert_int_equal(pair.own[1].queue, SRQ);
	assert_int_equal(pair.mine.lives[1].type, IBV_QPT_UC);
	assert_int_equal(pair.first[OTHER], 1);
	assert_int_equal(pair.now[OTHER], 1); /* at the begin of the replay */
	assert_int_equal(pair.own[0].time, 20);
	assert_int_equal(pair.own[1].time, 50);
	assert_int_equal(pair.mine.nstreams, 2);
	assert_int_equal(pair.own[1].stream, 2);
}

TEST(an_address_handle_has_its_address)
{
	uint64_t at;

	(void)state;
	add_call(VERB_create_ah, AH, "{\"attr\":{\"dlid\":12}}");
	learn_all();
	assert_true(map_get(&pair.avs, AH, &at));
	assert_int_equal(pair.av[at - 1].dlid, 12);
}

/* QP is connected; its requests name keys 0x11 and so on. */
static void begin_requests(struct event_id *ids, uint32_t n)
{
	create_qp(QP, "IBV_QPT_RC");
	connect_qp(QP);
	for (uint32_t i = 0; i < n; i++)
		ids[i] = add_send(QP, 0x11 + i);
}

TEST(a_completed_request_completes_those_before_it)
{
	struct event_id ids[3];

	(void)state;
	begin_requests(ids, 3);
	add_wc(QP, ids[1], 0, IBV_WC_SUCCESS, IBV_WC_RDMA_WRITE);
	learn_all();
	assert_int_equal(pair.mine.lives[0].finished, 2);
	assert_int_equal(pair.mine.nuses, 2);
	assert_int_equal(pair.mine.uses[0].rkey, 0x11);
	assert_int_equal(pair.mine.uses[0].last, 1);
	assert_int_equal(pair.mine.uses[1].rkey, 0x12);
	assert_int_equal(pair.mine.uses[1].life, 0);
	assert_int_equal(pair.mine.uses[1].last, 2);
	assert_int_equal(pair.failed.used, 0);
}

TEST(the_last_use_of_a_key_counts)
{
	struct event_id ids[1], last;

	(void)state;
	begin_requests(ids, 1);
	add_wc(QP, ids[0], 0, IBV_WC_SUCCESS, IBV_WC_RDMA_WRITE);
	add_send(QP, 0);
	last = add_send(QP, 0x11);
	add_wc(QP, last, 0, IBV_WC_SUCCESS, IBV_WC_RDMA_WRITE);
	learn_all();
	assert_int_equal(pair.mine.nuses, 1);
	assert_int_equal(pair.mine.uses[0].last, 3);
}

TEST(requests_of_a_list_are_named_by_their_index)
{
	struct event_id id;

	(void)state;
	create_qp(QP, "IBV_QPT_RC");
	connect_qp(QP);
	id = add_post(VERB_post_send, QP, 3);
	for (uint32_t i = 0; i < 3; i++)
		wrs[nevents - 1][i] = (struct wr){ .opcode = IBV_WR_RDMA_READ, .rkey = i + 1 };
	add_wc(QP, id, 1, IBV_WC_SUCCESS, IBV_WC_RDMA_READ);
	learn_all();
	assert_int_equal(pair.mine.lives[0].finished, 2);
	assert_int_equal(pair.mine.nuses, 2);
}

TEST(a_failure_is_noted_and_ends_what_succeeds)
{
	struct event_id ids[4];
	uint64_t status = 0;

	(void)state;
	begin_requests(ids, 4);
	add_wc(QP, ids[1], 0, IBV_WC_REM_ACCESS_ERR, 0);
	add_wc(QP, ids[2], 0, IBV_WC_WR_FLUSH_ERR, 0);
	add_wc(QP, ids[3], 0, IBV_WC_SUCCESS, IBV_WC_RDMA_WRITE); /* damage */
	learn_all();
	assert_int_equal(pair.mine.lives[0].finished, 2); /* the other end refused the second */
	assert_int_equal(pair.mine.nuses, 1);
	assert_true(map_get(&pair.failed, event_part_key(ids[1], 0), &status));
	assert_int_equal(status, IBV_WC_REM_ACCESS_ERR);
	assert_true(map_get(&pair.failed, event_part_key(ids[2], 0), &status));
	assert_int_equal(status, IBV_WC_WR_FLUSH_ERR);
	assert_false(map_get(&pair.failed, event_part_key(ids[0], 0), &status));
	assert_false(map_get(&pair.failed, event_part_key(ids[3], 0), &status));
}

TEST(a_request_without_an_answer_needs_nobody)
{
	static const enum ibv_wc_status own[] = { IBV_WC_RETRY_EXC_ERR, IBV_WC_LOC_PROT_ERR };

	for (size_t i = 0; i < 2; i++) {
		struct event_id ids[2];

		end_learning(NULL);
		begin_learning(NULL);
		begin_requests(ids, 2);
		add_wc(QP, ids[1], 0, own[i], 0);
		learn_all();
		assert_int_equal(pair.mine.lives[0].finished, 1);
	}
}

TEST(what_was_flushed_first_has_not_succeeded)
{
	struct event_id ids[2];

	(void)state;
	begin_requests(ids, 2);
	add_wc(QP, ids[1], 0, IBV_WC_WR_FLUSH_ERR, 0);
	learn_all();
	assert_int_equal(pair.mine.lives[0].finished, 0);
	assert_int_equal(pair.mine.nuses, 0);
}

TEST(a_completion_of_an_unknown_request_tells_nothing)
{
	struct event_id ids[1];

	(void)state;
	begin_requests(ids, 1);
	add_wc(QP, none, 0, IBV_WC_SUCCESS, IBV_WC_RDMA_WRITE);
	add_wc(QP, none, 0, IBV_WC_RETRY_EXC_ERR, 0);
	add_wc(QP, (struct event_id){ 9, 9 }, 0, IBV_WC_RETRY_EXC_ERR, 0);
	add_wc(OTHER, ids[0], 0, IBV_WC_SUCCESS, IBV_WC_RDMA_WRITE);
	add_wc(QP, ids[0], 0, IBV_WC_SUCCESS, IBV_WC_RDMA_WRITE);
	events[nevents - 1].inner = true;
	learn_all();
	assert_int_equal(pair.mine.lives[0].finished, 0);
	assert_int_equal(pair.failed.used, 0);
}

TEST(a_bound_window_is_a_request)
{
	struct event_id last;

	(void)state;
	create_qp(QP, "IBV_QPT_RC");
	connect_qp(QP);
	add_call(VERB_bind_mw, MW, "{\"qp\":16}");
	add_wc(QP, events[nevents - 1].id, 0, IBV_WC_SUCCESS, IBV_WC_BIND_MW);
	last = add_send(QP, 3);
	add_wc(QP, last, 0, IBV_WC_SUCCESS, IBV_WC_RDMA_WRITE);
	learn_all();
	assert_int_equal(pair.mine.lives[0].finished, 2);
}

TEST(binds_of_a_key_are_counted)
{
	uint64_t n = 0;

	create_qp(QP, "IBV_QPT_RC");
	connect_qp(QP);
	for (int i = 0; i < 2; i++) {
		add_send(QP, 0);
		wrs[nevents - 1][0] = (struct wr){ .opcode = IBV_WR_BIND_MW, .bind_rkey = 0x301 };
	}
	learn_all();
	assert_true(map_get(&pair.binds, process_key(7, 0x301), &n));
	assert_int_equal(n, 2);
}

TEST(many_requests_keep_their_numbers)
{
	struct event_id ids[20];

	(void)state;
	create_qp(QP, "IBV_QPT_RC");
	connect_qp(QP);
	for (uint32_t i = 0; i < 20; i++) {
		ids[i] = add_send(QP, 100 + i / 2);
		if (i % 3 == 2)
			add_wc(QP, ids[i - 1], 0, IBV_WC_SUCCESS, IBV_WC_RDMA_WRITE);
	}
	learn_all();
	assert_int_equal(pair.mine.lives[0].finished, 17);
	assert_int_equal(pair.mine.nuses, 9);
	for (uint32_t i = 0; i < 8; i++)
		assert_int_equal(pair.mine.uses[i].last, 2 * i + 2);
}

TEST(a_message_of_a_connection_takes_the_next_receive)
{
	(void)state;
	create_qp(QP, "IBV_QPT_RC");
	add_wc(QP, none, 0, IBV_WC_SUCCESS, IBV_WC_RECV); /* before it is connected */
	connect_qp(QP);
	add_wc(QP, none, 0, IBV_WC_SUCCESS, IBV_WC_RECV);
	add_wc(QP, none, 0, IBV_WC_SUCCESS, IBV_WC_RECV_RDMA_WITH_IMM);
	add_wc(QP, none, 0, IBV_WC_RETRY_EXC_ERR, IBV_WC_RECV);
	learn_all();
	assert_int_equal(pair.mine.nstreams, 1);
	assert_int_equal(pair.mine.streams[0].received, 2);
	assert_int_equal(pair.needs[0].n, 0);
}

TEST(messages_of_a_shared_queue_name_their_receives)
{
	struct event_id first, second;

	(void)state;
	create_qp(OTHER, "IBV_QPT_RC");
	connect_qp(OTHER);
	first = add_post(VERB_post_srq_recv, SRQ, 2);
	second = add_post(VERB_post_srq_recv, SRQ, 1);
	add_wc(OTHER, second, 0, IBV_WC_SUCCESS, IBV_WC_RECV);
	add_wc(OTHER, first, 1, IBV_WC_SUCCESS, IBV_WC_RECV);
	add_wc(OTHER, none, 0, IBV_WC_SUCCESS, IBV_WC_RECV);
	add_wc(OTHER, first, 1, IBV_WC_SUCCESS, IBV_WC_RECV); /* damage: it was taken */
	learn_all();
	assert_false(pair.needs[0].direct);
	assert_int_equal(pair.needs[0].queue, SRQ);
	assert_int_equal(pair.needs[0].n, 4);
	assert_int_equal(pair.needs[0].posted[0], 3);
	assert_int_equal(pair.needs[0].posted[1], 2);
	assert_int_equal(pair.needs[0].posted[2], 0);
	assert_int_equal(pair.needs[0].posted[3], 0);
	assert_int_equal(pair.mine.streams[0].received, 4);
}

TEST(datagrams_are_streams_by_their_sender)
{
	struct event_id ids[2];

	(void)state;
	create_qp(UD, "IBV_QPT_UD");
	for (int i = 0; i < 2; i++)
		ids[i] = add_post(VERB_post_recv, UD, 1);
	posts[nevents - 1].ret = 0;
	add_wc(UD, ids[0], 0, IBV_WC_SUCCESS, IBV_WC_RECV);
	add_wc(UD, ids[1], 0, IBV_WC_SUCCESS, IBV_WC_RECV);
	wcs[nevents - 1].src_qp = 45;
	learn_all();
	assert_int_equal(pair.mine.nstreams, 2);
	assert_int_equal(pair.mine.streams[0].source, 44);
	assert_int_equal(pair.mine.streams[1].source, 45);
	assert_int_equal(pair.needs[1].posted[0], 2);
	assert_false(pair.needs[1].direct);
}

TEST(a_reset_forgets_the_receives)
{
	struct event_id id;

	(void)state;
	create_qp(UD, "IBV_QPT_UD");
	add_post(VERB_post_recv, UD, 2);
	modify_qp(UD, "\"qp_state\":\"IBV_QPS_RESET\"");
	id = add_post(VERB_post_recv, UD, 1);
	add_wc(UD, id, 0, IBV_WC_SUCCESS, IBV_WC_RECV);
	learn_all();
	assert_int_equal(pair.mine.streams[0].life, 1);
	assert_int_equal(pair.needs[0].posted[0], 1);
}

TEST(posts_that_do_not_count_are_passed_over)
{
	struct event_id ids[1];

	(void)state;
	add_send(QP, 1); /* before it is there */
	begin_requests(ids, 1);
	posts[nevents - 1].ret = ENOMEM;
	add_send(0, 5);
	add_send(NOBJECTS, 5);
	add_wc(QP, ids[0], 0, IBV_WC_SUCCESS, IBV_WC_RDMA_WRITE);
	learn_all();
	assert_int_equal(pair.mine.lives[0].finished, 0);
}
