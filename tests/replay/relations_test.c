/* replay/schedule/relations.c: relations of queue pairs and completion queues, from calls. */
#include "replay/schedule/relations.h"

#include <glob.h>

#include "core/store/finish/connections.h"
#include "core/store/open.h"
#include "tests/core/store/make_events.h"
#include "tests/test.h"

enum { MOST_OBJECTS = 32 };

static char path[256];
static struct writer *writer;
static struct make_world world;
static struct maker m;
static struct trace *trace;
static struct relations relations;

static int begin_story(void **state)
{
	(void)state;
	make_now = 1000;
	snprintf(path, sizeof(path), "%s", make_path("relations.db"));
	writer = make_writer(path);
	make_thread(&m, writer, 0, 100, 101);
	make_process(&m, 1, 0, 0, 0);
	make_world(&m, &world, 17);
	return 0;
}

static int end_story(void **state)
{
	(void)state;
	relations_fini(&relations);
	trace_close(trace);
	return unlink(path);
}

FIXTURE(begin_story, end_story);

/* All events of the story so far. */
static void note_all(void)
{
	const struct trace_event *event;
	struct cursor *cursor;

	make_end(&m);
	assert_int_equal(writer_finish(writer), 0);
	assert_int_equal(trace_open(path, &trace), 0);
	assert_int_equal(relations_init(&relations, trace, NULL, MOST_OBJECTS), 0);
	assert_int_equal(cursor_open(trace, NULL, &cursor), 0);
	while (cursor_next(cursor, &event) > 0)
		assert_int_equal(relations_note(&relations, event), 0);
	cursor_close(cursor);
}

/* The @ordinal-th object of @kind, and its number. */
static const struct relation *find_relation(enum object_kind kind, uint32_t ordinal,
					    uint32_t *ret_id)
{
	const struct object *o;

	for (uint32_t id = 1; (o = trace_object(trace, id)); id++)
		if (o->kind == kind && !--ordinal) {
			*ret_id = id;
			return relation_of(&relations, id);
		}
	fail();
	return NULL;
}

static const struct relation *queue_relation(uint32_t *ret_id)
{
	return find_relation(OBJECT_cq, 1, ret_id);
}

static const struct relation *qp_relation(uint32_t ordinal, uint32_t *ret_id)
{
	return find_relation(OBJECT_qp, ordinal, ret_id);
}

static struct ibv_qp second;

/* Another queue pair on the same CQ, with that many requests in each direction. */
static void make_qp(enum ibv_qp_type type, struct ibv_srq *srq, uint32_t send, uint32_t receive)
{
	struct ibv_qp_init_attr init = { .send_cq = &world.cq,
					 .recv_cq = &world.cq,
					 .srq = srq,
					 .qp_type = type,
					 .cap = { .max_send_wr = send, .max_recv_wr = receive } };

	second = world.qp;
	second.qp_num = 18;
	second.qp_type = type;
	second.srq = srq;
	make_verb(&m, VERB_create_qp, MAKE_ARGS(MAKE_PTR(&world.pd), MAKE_PTR(&init)),
		  (int64_t)MAKE_PTR(&second), 0);
}

TEST(queue_pair_has_its_queues)
{
	const struct relation *of;
	uint32_t cq, qp;

	note_all();
	queue_relation(&cq);
	of = qp_relation(1, &qp);
	assert_int_equal(of->send_cq, cq);
	assert_int_equal(of->recv_cq, cq);
	assert_int_equal(of->receives, qp);
	assert_int_equal(of->peer, 0);
	assert_false(of->unreliable || of->stopped);
}

TEST(queue_has_the_room_that_it_was_made_with)
{
	uint32_t cq;

	note_all();
	assert_int_equal(queue_relation(&cq)->room, 256);
	assert_int_equal(queue_relation(&cq)->promised, 128); /* 64 each way */
}

TEST(queue_pairs_add_up_what_they_may_owe)
{
	uint32_t cq;

	make_qp(IBV_QPT_RC, NULL, 5, 7);
	note_all();
	assert_int_equal(queue_relation(&cq)->promised, 140);
}

TEST(queue_of_another_size_is_not_known)
{
	uint32_t cq;

	make_verb(&m, VERB_resize_cq, MAKE_ARGS(MAKE_PTR(&world.cq), 512), 0, 0);
	note_all();
	assert_int_equal(queue_relation(&cq)->room, 0);
}

TEST(call_that_failed_changes_nothing)
{
	uint32_t cq;

	make_verb(&m, VERB_resize_cq, MAKE_ARGS(MAKE_PTR(&world.cq), 512), 22, 0);
	note_all();
	assert_int_equal(queue_relation(&cq)->room, 256);
}

static const struct reliability {
	const char *name;
	enum ibv_qp_type type;
	bool unreliable;
} reliabilities[] = {
	{ "reliable_connection", IBV_QPT_RC, false },
	{ "unreliable_connection", IBV_QPT_UC, true },
	{ "datagrams", IBV_QPT_UD, true },
	{ "raw_packets", IBV_QPT_RAW_PACKET, true },
	{ "sender_of_xrc", IBV_QPT_XRC_SEND, false },
};

static void type_decides(void **state)
{
	const struct reliability *row = *state;
	uint32_t id;

	begin_story(NULL);
	make_qp(row->type, NULL, 1, 1);
	note_all();
	assert_int_equal(qp_relation(2, &id)->unreliable, row->unreliable);
	assert_false(qp_relation(1, &id)->unreliable);
	end_story(NULL);
}
TEST_ROWS(reliabilities, type_decides);

static const struct stop {
	const char *name;
	enum ibv_qp_state state;
	bool stops;
} stops[] = {
	{ "reset_stops", IBV_QPS_RESET, true },   { "an_error_stops", IBV_QPS_ERR, true },
	{ "init_does_not", IBV_QPS_INIT, false }, { "rts_does_not", IBV_QPS_RTS, false },
	{ "sqd_does_not", IBV_QPS_SQD, false },
};

static void state_decides(void **state)
{
	const struct stop *row = *state;
	const struct relation *of;
	uint32_t id, last;

	begin_story(NULL);
	make_modify(&m, &world, IBV_QPS_ERR);
	make_modify(&m, &world, IBV_QPS_RESET);
	make_modify(&m, &world, IBV_QPS_INIT);
	make_modify(&m, &world, row->state);
	last = m.in.seq - 1; /* the call before its return */
	note_all();
	of = qp_relation(1, &id);
	assert_int_equal(of->stopped, row->stops);
	assert_int_equal(of->end.n, row->stops ? last : last - 4);
	end_story(NULL);
}
TEST_ROWS(stops, state_decides);

TEST(nothing_is_known_of_an_object_beyond_the_last)
{
	note_all();
	assert_int_equal(relation_of(&relations, MOST_OBJECTS)->room, 0);
	assert_int_equal(relation_of(&relations, UINT32_MAX)->receives, 0);
	assert_int_equal(relations_find_datagram_qp(&relations, NULL, 5), 0);
}

/* In each recording, the connections that replay finds in the events equal table `connection`. */
static void compare_connections(const char *recording)
{
	const struct connections *connections;
	const struct trace_event *event;
	struct cursor *cursor;
	uint32_t nobjects = 1;

	assert_int_equal(trace_open(recording, &trace), 0);
	while (trace_object(trace, nobjects))
		nobjects++;
	assert_int_equal(trace_connections(trace, &connections), 0);
	assert_int_equal(relations_init(&relations, trace, connections, nobjects), 0);
	assert_int_equal(cursor_open(trace, NULL, &cursor), 0);
	while (cursor_next(cursor, &event) > 0) {
		const struct connection *connection = NULL;

		assert_int_equal(relations_note(&relations, event), 0);
		if (event->kind == TRACE_CALL && event->call->verb == VERB_modify_qp)
			connection = connections_at(connections, event->call->object, event->time);
		if (connection)
			assert_int_equal(relation_of(&relations, connection->qp)->peer,
					 connection->peer);
	}
	cursor_close(cursor);
	relations_fini(&relations);
	trace_close(trace);
}

TEST(each_recording_is_joined_as_its_table_says)
{
	glob_t found;

	assert_int_equal(glob("tests/conformance/*/*.db", 0, NULL, &found), 0);
	for (size_t i = 0; i < found.gl_pathc; i++)
		compare_connections(found.gl_pathv[i]);
	globfree(&found);
	relations = (struct relations){ 0 };
	make_end(&m);
	assert_int_equal(writer_finish(writer), 0);
	assert_int_equal(trace_open(path, &trace), 0);
}
