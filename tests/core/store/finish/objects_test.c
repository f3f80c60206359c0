#include <errno.h>
#include <sqlite3.h>

#include "core/store/open.h"
#include "core/store/finish/complete.h"
#include "tests/core/store/make_events.h"
#include "tests/test.h"

static char path[256];
static struct writer *writer;
static struct maker maker;
static struct make_world world;
static struct trace *trace;

static int begin_trace(void **state)
{
	(void)state;
	make_now = 1000;
	snprintf(path, sizeof(path), "%s", make_path("objects.db"));
	unlink(path);
	writer = make_writer(path);
	make_thread(&maker, writer, 0, 100, 101);
	make_process(&maker, 1, 0, 0, 0);
	make_world(&maker, &world, 17);
	return 0;
}

static void finish_trace(void)
{
	make_end(&maker);
	assert_int_equal(writer_finish(writer), 0);
	assert_int_equal(trace_open(path, &trace), 0);
}

static int remove_trace(void **state)
{
	(void)state;
	trace_close(trace);
	trace = NULL;
	unlink(path);
	return 0;
}

static const struct object *find_named(const char *name, uint32_t process)
{
	for (uint32_t i = 1; trace_object(trace, i); i++) {
		const struct object *o = trace_object(trace, i);

		if (!strcmp(o->name, name) && o->process == process)
			return o;
	}
	return NULL;
}

static unsigned int count_of(enum object_kind kind)
{
	unsigned int n = 0;

	for (uint32_t i = 1; trace_object(trace, i); i++)
		n += trace_object(trace, i)->kind == kind;
	return n;
}

static int64_t query_number(const char *sql)
{
	sqlite3_stmt *stmt;
	int64_t value = -1;

	assert_int_equal(sqlite3_prepare_v2(trace_db(trace), sql, -1, &stmt, NULL), SQLITE_OK);
	if (sqlite3_step(stmt) == SQLITE_ROW)
		value = sqlite3_column_int64(stmt, 0);
	sqlite3_finalize(stmt);
	return value;
}

static uint32_t destroy_qp(int64_t ret)
{
	return make_verb(&maker, VERB_destroy_qp, MAKE_ARGS(MAKE_PTR(&world.qp)), ret, (int)ret);
}

static uint32_t create_qp(uint32_t qp_num)
{
	world.qp.qp_num = qp_num;
	return make_verb(&maker, VERB_create_qp,
			 MAKE_ARGS(MAKE_PTR(&world.pd), MAKE_PTR(&world.init)),
			 (int64_t)MAKE_PTR(&world.qp), 0);
}

FIXTURE(begin_trace, remove_trace);

TEST(each_kind_has_its_numbers_and_parent)
{
	const struct object *device, *context, *pd, *mr, *qp, *cq;

	finish_trace();
	device = find_named("soft0", 1);
	context = find_named("context1", 1);
	pd = find_named("pd1", 1);
	mr = find_named("mr1", 1);
	cq = find_named("cq1", 1);
	qp = find_named("qp1", 1);
	assert_int_equal(context->parent, device->id);
	assert_int_equal(pd->parent, context->id);
	assert_int_equal(mr->parent, pd->id);
	assert_int_equal(cq->parent, context->id);
	assert_int_equal(qp->parent, pd->id);
	assert_int_equal(qp->number, 17);
	assert_int_equal(mr->number, 0x1234);
	assert_int_equal(mr->rkey, 0x55);
	assert_int_equal(qp->created.n, world.qp_n);
	assert_int_equal(qp->destroyed.thread, 0);
	assert_int_equal(qp->destroyed_at, INT64_MAX);
}

static void alter_trace(sqlite3 *db, const char *sql)
{
	assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
}

/* Untrusted rows: following the parents would never end. */
TEST(impossible_rows_are_einval)
{
	static const char *const alterations[] = {
		"UPDATE object SET parent = id WHERE kind = 'context'",
		("UPDATE object SET parent = (SELECT id FROM object WHERE kind = 'pd')"
		 " WHERE kind = 'context'"),
		"UPDATE object SET name = NULL WHERE kind = 'qp'",
		"UPDATE object SET kind = 'no such' WHERE kind = 'qp'",
		"UPDATE object SET id = (SELECT max(id) + 1 FROM object) WHERE kind = 'qp'",
		"UPDATE object SET id = 0 WHERE kind = 'qp'",
		"UPDATE object SET id = -1 WHERE kind = 'qp'",
		"UPDATE process SET id = (1 << 24) - 1",
		"INSERT INTO thread(id, process) VALUES((1 << 24) - 1, 1)",
		"INSERT INTO process(id) VALUES(1 << 62)",
	};
	sqlite3 *db;

	finish_trace();
	trace_close(trace);
	trace = NULL;
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	for (size_t i = 0; i < sizeof(alterations) / sizeof(*alterations); i++) {
		struct trace *open = NULL;

		alter_trace(db, "CREATE TEMP TABLE o AS SELECT * FROM object;"
				"CREATE TEMP TABLE p AS SELECT * FROM process;"
				"CREATE TEMP TABLE t AS SELECT * FROM thread");
		alter_trace(db, alterations[i]);
		assert_int_equal(trace_open(path, &open), -EINVAL);
		assert_null(open);
		alter_trace(
			db,
			"DELETE FROM object; INSERT INTO object SELECT * FROM o; DROP TABLE o;"
			"DELETE FROM process; INSERT INTO process SELECT * FROM p; DROP TABLE p;"
			"DELETE FROM thread; INSERT INTO thread SELECT * FROM t; DROP TABLE t");
	}
	sqlite3_close(db);
}

TEST(times_can_be_subtracted)
{
	const struct object *qp;
	sqlite3 *db;

	finish_trace();
	trace_close(trace);
	trace = NULL;
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	alter_trace(db, "UPDATE object SET created_at = -9223372036854775808,"
			" destroyed_at = 9223372036854775807");
	sqlite3_close(db);
	assert_int_equal(trace_open(path, &trace), 0);
	qp = find_named("qp1", 1);
	assert_true(qp->destroyed_at - qp->created_at > 0);
}

TEST(address_that_comes_back_is_another_object)
{
	const struct object *first, *second;
	uint32_t gone;

	gone = destroy_qp(0);
	create_qp(18);
	finish_trace();
	first = find_named("qp1", 1);
	second = find_named("qp2", 1);
	assert_int_equal(first->handle, second->handle);
	assert_int_equal(first->number, 17);
	assert_int_equal(first->destroyed.n, gone);
	assert_int_equal(second->number, 18);
	assert_int_equal(second->ordinal, 2);
	assert_ptr_equal(trace_object_at(trace, 1, OBJECT_qp, first->handle, first->created_at),
			 first);
	assert_ptr_equal(trace_object_at(trace, 1, OBJECT_qp, first->handle, first->destroyed_at),
			 first);
	/* between the two: the one that existed */
	assert_ptr_equal(
		trace_object_at(trace, 1, OBJECT_qp, first->handle, second->created_at - 1), first);
	assert_ptr_equal(trace_object_at(trace, 1, OBJECT_qp, first->handle, INT64_MAX), second);
	assert_null(trace_object_at(trace, 1, OBJECT_qp, first->handle, first->created_at - 1));
	assert_null(trace_object_at(trace, 1, OBJECT_cq, first->handle, INT64_MAX));
	assert_null(trace_object_at(trace, 9, OBJECT_qp, first->handle, INT64_MAX));
}

TEST(destroy_that_fails_ends_nothing)
{
	destroy_qp(16);
	finish_trace();
	assert_int_equal(find_named("qp1", 1)->destroyed_at, INT64_MAX);
}

TEST(second_destroy_changes_nothing)
{
	uint32_t gone;

	gone = destroy_qp(0);
	destroy_qp(0);
	finish_trace();
	assert_int_equal(count_of(OBJECT_qp), 1);
	assert_int_equal(find_named("qp1", 1)->destroyed.n, gone);
	assert_int_equal(
		query_number("SELECT count(*) FROM call WHERE verb = 'ibv_destroy_qp' AND object ="
			     " (SELECT id FROM object WHERE name = 'qp1')"),
		2);
}

TEST(creation_that_fails_makes_nothing)
{
	make_verb(&maker, VERB_create_qp, MAKE_ARGS(MAKE_PTR(&world.pd), MAKE_PTR(&world.init)), 0,
		  12);
	finish_trace();
	assert_int_equal(count_of(OBJECT_qp), 1);
}

TEST(creation_inside_a_creation_is_the_outer_ones)
{
	struct ibv_qp inner = { .context = &world.context, .pd = &world.pd, .qp_num = 99 };
	const uint64_t args[] = { MAKE_PTR(&world.context), 0 };
	const uint64_t inner_args[] = { MAKE_PTR(&world.pd), MAKE_PTR(&world.init) };
	const struct object *qp;
	uint32_t outer, in;

	outer = make_call(&maker, VERB_create_qp_ex, 0, 0, args);
	in = make_call(&maker, VERB_create_qp, 1, 0, inner_args);
	make_return(&maker, in, VERB_create_qp, inner_args, (int64_t)MAKE_PTR(&inner), 0);
	make_return(&maker, outer, VERB_create_qp_ex, args, (int64_t)MAKE_PTR(&inner), 0);
	finish_trace();
	assert_int_equal(count_of(OBJECT_qp), 2);
	qp = find_named("qp2", 1);
	assert_int_equal(qp->created.n, outer);
	assert_int_equal(qp->number, 99);
	assert_int_equal(query_number("SELECT count(*) FROM call WHERE object ="
				      " (SELECT id FROM object WHERE name = 'qp2')"),
			 2);
}

TEST(destroy_inside_a_destroy_is_the_outer_ones)
{
	const uint64_t args[] = { MAKE_PTR(&world.qp) };
	uint32_t outer, inner;

	outer = make_call(&maker, VERB_destroy_qp, 0, 0, args);
	inner = make_call(&maker, VERB_destroy_qp, 1, 0, args);
	make_return(&maker, inner, VERB_destroy_qp, args, 0, 0);
	make_return(&maker, outer, VERB_destroy_qp, args, 0, 0);
	finish_trace();
	assert_int_equal(find_named("qp1", 1)->destroyed.n, outer);
}

TEST(device_of_two_lists_is_one)
{
	struct ibv_device *list[] = { &world.device, NULL };
	int n = 1;

	make_verb(&maker, VERB_get_device_list, MAKE_ARGS(MAKE_PTR(&n)), (int64_t)MAKE_PTR(list),
		  0);
	finish_trace();
	assert_int_equal(count_of(OBJECT_device), 1);
	assert_int_equal(query_number("SELECT count(*) FROM device WHERE name = 'soft0'"), 1);
}

TEST(device_opened_twice_is_two_contexts)
{
	struct ibv_context other = { .device = &world.device };

	make_verb(&maker, VERB_open_device, MAKE_ARGS(MAKE_PTR(&world.device)),
		  (int64_t)MAKE_PTR(&other), 0);
	make_verb(&maker, VERB_close_device, MAKE_ARGS(MAKE_PTR(&other)), 0, 0);
	finish_trace();
	assert_int_equal(count_of(OBJECT_context), 2);
	assert_int_equal(find_named("context1", 1)->destroyed_at, INT64_MAX);
	assert_int_not_equal(find_named("context2", 1)->destroyed_at, INT64_MAX);
}

TEST(what_was_never_made_was_there_before)
{
	const struct object *srq;

	make_verb(&maker, VERB_destroy_srq, MAKE_ARGS(0xabc000), 0, 0);
	make_verb(&maker, VERB_destroy_cq, MAKE_ARGS(0xdef000), 16, 16);
	finish_trace();
	srq = find_named("srq1", 1);
	assert_int_equal(srq->created.thread, 0);
	assert_int_equal(srq->handle, 0xabc000);
	assert_int_not_equal(srq->destroyed.thread, 0);
	assert_int_equal(count_of(OBJECT_cq), 2);
	assert_int_equal(query_number("SELECT count(*) FROM ref WHERE object IS NULL"), 0);
}

TEST(child_finds_what_its_parent_made)
{
	struct maker child;
	const struct object *qp;
	uint64_t forked;

	make_fork(&maker, 1);
	forked = make_now++;
	make_thread(&child, writer, 1, 200, 200);
	make_process(&child, 100, 100, 1, forked);
	make_verb(&child, VERB_query_ece, MAKE_ARGS(MAKE_PTR(&world.qp), 0), 0, 0);
	make_verb(&child, VERB_destroy_qp, MAKE_ARGS(MAKE_PTR(&world.qp)), 0, 0);
	make_end(&child);
	create_qp(20); /* in the parent, after the fork, at the same address */
	finish_trace();
	qp = find_named("qp1", 1);
	assert_int_equal(trace_process(trace, 2)->parent, 1);
	assert_int_equal(trace_process(trace, 2)->fork.thread, 1);
	assert_ptr_equal(trace_object_at(trace, 2, OBJECT_qp, qp->handle, INT64_MAX), qp);
	assert_int_equal(query_number("SELECT object FROM call WHERE verb = 'ibv_query_ece'"),
			 qp->id);
	/* the parent's is still there */
	assert_int_equal(qp->destroyed_at, INT64_MAX);
	assert_int_equal(query_number("SELECT child FROM fork"), 2);
}

TEST(program_after_exec_is_another_process)
{
	struct maker after;

	make_thread(&after, writer, 1, 100, 101);
	make_process(&after, 1, 0, 0, 0);
	make_verb(&after, VERB_fork_init, MAKE_ARGS(0), 0, 0);
	make_end(&after);
	finish_trace();
	assert_non_null(trace_process(trace, 2));
	assert_int_equal(trace_thread(trace, 2)->process, 2);
	assert_int_equal(trace_process(trace, 2)->pid, 100);
	assert_int_equal(trace_process(trace, 2)->parent, 0);
	assert_true(trace_process(trace, 1)->end >= 0);
	assert_int_equal(query_number("SELECT process FROM call WHERE verb = 'ibv_fork_init'"), 2);
}

/* The new image's first event is read after an event of its second thread. */
TEST(mark_of_a_new_image_is_its_own)
{
	struct maker after, second;
	size_t bytes = sizeof(struct event_mark) + 8;
	struct event_mark *mark;

	make_thread(&after, writer, 1, 100, 101);
	make_thread(&second, writer, 2, 100, 102);
	mark = make_room(&second, EVENT_MARK, 0, bytes);
	mark->bytes = 4;
	memcpy(mark + 1, "here", 4);
	make_done(&second, mark, bytes);
	make_process(&after, 1, 0, 0, 0);
	make_end(&second);
	make_end(&after);
	finish_trace();
	assert_int_equal(trace_thread(trace, 3)->process, 2);
	assert_int_equal(query_number("SELECT process FROM mark WHERE text = 'here'"), 2);
}

TEST(references_name_their_path)
{
	struct ibv_cq *got = &world.cq;
	void *context = NULL;

	make_verb(&maker, VERB_get_cq_event, MAKE_ARGS(0x9000, MAKE_PTR(&got), MAKE_PTR(&context)),
		  0, 0);
	finish_trace();
	assert_int_equal(
		query_number("SELECT count(*) FROM ref r JOIN object o ON o.id = r.object WHERE"
			     " r.path = 'qp_init_attr.send_cq' AND o.name = 'cq1'"),
		1);
	assert_int_equal(
		query_number("SELECT count(*) FROM ref r JOIN object o ON o.id = r.object WHERE"
			     " r.path = 'out.cq' AND o.name = 'cq1'"),
		1);
}

TEST(asynchronous_event_knows_its_object)
{
	struct ibv_async_event event = { .element.qp = &world.qp,
					 .event_type = IBV_EVENT_QP_FATAL };
	struct ibv_async_event port = { .element.port_num = 1, .event_type = IBV_EVENT_PORT_ERR };
	const uint64_t get[] = { MAKE_PTR(&world.context), MAKE_PTR(&event) };
	const uint64_t get_port[] = { MAKE_PTR(&world.context), MAKE_PTR(&port) };

	make_verb(&maker, VERB_get_async_event, get, 0, 0);
	make_verb(&maker, VERB_ack_async_event, MAKE_ARGS(MAKE_PTR(&event)), 0, 0);
	make_verb(&maker, VERB_get_async_event, get_port, 0, 0);
	finish_trace();
	assert_int_equal(
		query_number("SELECT count(*) FROM event e JOIN object o ON o.id = e.object WHERE"
			     " e.type = 'IBV_EVENT_QP_FATAL' AND o.name = 'qp1'"),
		1);
	assert_int_equal(query_number("SELECT port FROM event WHERE type = 'IBV_EVENT_PORT_ERR'"),
			 1);
	assert_int_equal(query_number("SELECT object FROM call WHERE verb = 'ibv_ack_async_event'"),
			 find_named("qp1", 1)->id);
}

TEST(what_is_not_destroyed_lives_beside_what_is)
{
	const struct object *first, *second;

	destroy_qp(0);
	create_qp(18);
	finish_trace();
	first = find_named("qp1", 1);
	second = find_named("qp2", 1);
	assert_true(first->destroyed_at != INT64_MAX);
	assert_int_equal(second->id, first->id + 1);
	assert_int_equal(second->destroyed_at, INT64_MAX);
}

TEST(poll_counters_survive_their_cq)
{
	struct event_wc wc = make_wc(1, 0, IBV_WC_SEND, 17);
	struct event_count *count;

	make_poll(&maker, &world.cq, 10, &wc, 1);
	count = make_room(&maker, EVENT_COUNT, 0, sizeof(*count));
	count->ring = 0;
	count->tid = 101;
	count->cq = MAKE_PTR(&world.cq);
	count->empty = 25;
	make_done(&maker, count, sizeof(*count));
	make_poll(&maker, &world.cq, 3, &wc, 1); /* another CQ at that address */
	atomic_store(&maker.in.head->polls[0].cq, MAKE_PTR(&world.cq));
	atomic_store(&maker.in.head->polls[0].empty, 7);
	finish_trace();
	assert_int_equal(query_number("SELECT empty FROM poll_count WHERE life = 0"), 25);
	assert_int_equal(query_number("SELECT empty FROM poll_count WHERE life = 1"), 7);
	assert_int_equal(query_number("SELECT sum(empty) FROM poll"), 13);
}

/* Written by another version, or lost by a disk. */
TEST(damaged_row_costs_its_call)
{
	sqlite3 *db;

	finish_trace();
	trace_close(trace);
	assert_int_equal(sqlite3_open(path, &db), SQLITE_OK);
	assert_int_equal(sqlite3_exec(db,
				      "UPDATE call SET args = '{\"a\":', out = '{\"b\":'"
				      " WHERE verb IN ('ibv_get_device_list', 'ibv_reg_mr')",
				      NULL, NULL, NULL),
			 SQLITE_OK);
	assert_int_equal(complete_trace(db, COMPLETE_INTERRUPTED), 0);
	sqlite3_close(db);
	assert_int_equal(trace_open(path, &trace), 0);
	assert_int_equal(count_of(OBJECT_mr), 1);
	assert_int_equal(count_of(OBJECT_qp), 1);
}

TEST(devices_are_known_by_their_attributes)
{
	struct ibv_device_attr_ex attr = { .orig_attr = { .vendor_id = 77, .phys_port_cnt = 1 } };
	struct ibv_port_attr port = { .state = IBV_PORT_ACTIVE, .lid = 9 };
	struct ibv_gid_entry gids[2] = { { .gid_index = 0, .port_num = 1 },
					 { .gid_index = 1, .port_num = 1 } };
	const uint64_t query_gids[] = { MAKE_PTR(&world.context), MAKE_PTR(gids), 16, 0,
					sizeof(gids[0]) };
	const uint64_t query_port[] = { MAKE_PTR(&world.context), 1, MAKE_PTR(&port),
					sizeof(port) };

	gids[1].gid.raw[15] = 0x2a;
	make_verb(&maker, VERB_query_device_ex,
		  MAKE_ARGS(MAKE_PTR(&world.context), 0, MAKE_PTR(&attr), sizeof(attr)), 0, 0);
	make_verb(&maker, VERB_query_port, query_port, 0, 0);
	make_verb(&maker, VERB_query_gid_table, query_gids, 2, 0);
	finish_trace();
	assert_int_equal(query_number("SELECT vendor_id FROM device"), 77);
	assert_int_equal(query_number("SELECT lid FROM port WHERE state = 'IBV_PORT_ACTIVE'"), 9);
	assert_int_equal(query_number("SELECT count(*) FROM gid"), 2);
	assert_int_equal(query_number("SELECT idx FROM gid WHERE gid LIKE '%2a'"), 1);
}
