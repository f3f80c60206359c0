/*
 * Table `queue`, of calls as a recorder writes them
 */
#include <sqlite3.h>
#include <stdio.h>

#include "core/store/db/schema.h"
#include "core/store/finish/objects.h"
#include "core/store/finish/queue_table.h"
#include "tests/test.h"

enum { CQ = 1, SRQ, QP };

static sqlite3 *db;

static void run_sql(const char *sql)
{
	assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
}

/* A CQ, an SRQ and a queue pair that is destroyed at 90; handles are ten times their numbers. */
static int make_db(void **state)
{
	(void)state;
	if (sqlite3_open(":memory:", &db) || schema_create(db))
		return -1;
	run_sql("INSERT INTO process(id, pid, start) VALUES(1, 10, 0);"
		"INSERT INTO object(id, process, kind, ordinal, name, handle, created_at,"
		" destroyed_at) VALUES(1, 1, 'cq', 1, 'cq1', 10, 0, NULL),"
		" (2, 1, 'srq', 1, 'srq1', 20, 0, NULL), (3, 1, 'qp', 1, 'qp1', 30, 0, 90)");
	return 0;
}

static int free_db(void **state)
{
	(void)state;
	sqlite3_close(db);
	return 0;
}

FIXTURE(make_db, free_db);

/* A call at @time, which is its number in thread 1, too, and that returns one later. */
static void add_call(int time, const char *verb, int object, int failed, const char *args,
		     const char *out)
{
	char sql[1024];

	snprintf(sql, sizeof(sql),
		 "INSERT INTO call(thread, n, process, verb, begin, end, failed, object, args, out)"
		 " VALUES(1, %d, 1, '%s', %d, %d, %d, %d, '%s', '%s')",
		 time, verb, time, time + 1, failed, object, args, out);
	run_sql(sql);
}

#define CAP(send, recv) \
	"\"qp_init_attr\":{\"cap\":{\"max_send_wr\":" send ",\"max_recv_wr\":" recv "}}"

static void make_qp(const char *srq)
{
	char out[256];

	snprintf(out, sizeof(out),
		 "{" CAP("16", "32") ",\"ret\":{\"send_cq\":10,\"recv_cq\":10,\"srq\":%s}}", srq);
	add_call(20, "ibv_create_qp", QP, 0, "{" CAP("10", "20") "}", out);
}

/* "object side cq srq asked/given since-until," of each row; unknown values are - */
static void check_table(const char *expected)
{
	sqlite3_stmt *stmt;

	assert_int_equal(queue_table_build(db), 0);
	assert_int_equal(
		sqlite3_prepare_v2(db,
				   "SELECT group_concat(object || ' ' || side || ' ' ||"
				   " coalesce(cq, '-') || ' ' || coalesce(srq, '-') || ' ' ||"
				   " coalesce(asked, '-') || '/' || coalesce(given, '-') || ' ' ||"
				   " since || '-' || coalesce(until, '')) FROM (SELECT * FROM"
				   " queue ORDER BY object, side, since)",
				   -1, &stmt, NULL),
		SQLITE_OK);
	assert_int_equal(sqlite3_step(stmt), SQLITE_ROW);
	assert_string_equal(sqlite3_column_text(stmt, 0) ?: (const unsigned char *)"", expected);
	sqlite3_finalize(stmt);
}

TEST(a_queue_pair_has_two)
{
	make_qp("0");
	check_table("3 recv 1 - 20/32 21-90,3 send 1 - 10/16 21-90");
}

TEST(receives_may_be_in_an_srq)
{
	make_qp("20");
	check_table("3 recv 1 2 -/- 21-90,3 send 1 - 10/16 21-90");
}

TEST(a_depth_that_changes_is_a_row_of_its_own)
{
	add_call(5, "ibv_create_cq", CQ, 0, "{\"cqe\":10}", "{\"ret\":{\"cqe\":15}}");
	add_call(30, "ibv_resize_cq", CQ, 0, "{\"cqe\":100}", "{}");
	add_call(40, "ibv_resize_cq", CQ, 1, "{\"cqe\":1000}", "{}");
	check_table("1 cq - - 10/15 6-31,1 cq - - 100/- 31-");
}

TEST(an_srq_that_is_armed_is_not_another)
{
	add_call(5, "ibv_create_srq", SRQ, 0, "{\"srq_init_attr\":{\"attr\":{\"max_wr\":10}}}",
		 "{\"srq_init_attr\":{\"attr\":{\"max_wr\":12}}}");
	add_call(30, "ibv_modify_srq", SRQ, 0, "{\"srq_attr\":{\"srq_limit\":3}}", "{}");
	check_table("2 recv - - 10/12 6-");
}

TEST(calls_that_never_returned_make_none)
{
	make_qp("0");
	run_sql("UPDATE call SET end = NULL, failed = NULL");
	check_table("");
}

TEST(queues_are_found_by_time)
{
	const struct source_calls calls = { .db = db };
	struct objects objects = { 0 };
	struct queue_table t = { 0 };

	add_call(5, "ibv_create_cq", CQ, 0, "{\"cqe\":10}", "{\"ret\":{\"cqe\":15}}");
	add_call(30, "ibv_resize_cq", CQ, 0, "{\"cqe\":100}", "{}");
	make_qp("20");
	assert_int_equal(objects_load(db, NULL, &objects), 0);
	assert_int_equal(queue_table_learn(&calls, 1, &objects, &t), 0);
	assert_null(queue_table_at(&t, CQ, QUEUE_CQ, 5));
	assert_int_equal(queue_table_at(&t, CQ, QUEUE_CQ, 6)->given, 15);
	assert_int_equal(queue_table_at(&t, CQ, QUEUE_CQ, 31)->asked, 100);
	assert_int_equal(queue_table_at(&t, QP, QUEUE_RECV, 50)->srq, SRQ);
	assert_int_equal(queue_table_at(&t, QP, QUEUE_SEND, 50)->cq, CQ);
	assert_null(queue_table_at(&t, QP, QUEUE_CQ, 50));
	assert_null(queue_table_at(&t, 99, QUEUE_CQ, 50));
	queue_table_fini(&t);
	objects_fini(&objects);
}

TEST(a_queue_pair_that_is_resized_has_others)
{
	make_qp("0");
	add_call(30, "ibv_modify_qp", QP, 0, "{\"attr\":{\"qp_state\":\"IBV_QPS_RTS\"}}", "{}");
	add_call(40, "ibv_modify_qp", QP, 0,
		 "{\"attr\":{\"cap\":{\"max_send_wr\":64,\"max_recv_wr\":20}}}", "{}");
	check_table("3 recv 1 - 20/32 21-41,3 recv 1 - 20/- 41-90,"
		    "3 send 1 - 10/16 21-41,3 send 1 - 64/- 41-90");
}
