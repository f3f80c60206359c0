/*
 * Table `connection`, of calls as a recorder writes them
 */
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>

#include "core/store/db/schema.h"
#include "core/store/finish/connections.h"
#include "core/store/finish/objects.h"
#include "tests/test.h"

static sqlite3 *db;

static void run_sql(const char *sql)
{
	assert_int_equal(sqlite3_exec(db, sql, NULL, NULL, NULL), SQLITE_OK);
}

static int make_db(void **state)
{
	(void)state;
	if (sqlite3_open(":memory:", &db) || schema_create(db))
		return -1;
	run_sql("INSERT INTO process(id, pid, start) VALUES(1, 10, 0), (2, 20, 0);"
		"INSERT INTO object(id, process, kind, ordinal, name, handle, created_at) VALUES"
		"(1, 1, 'device', 1, 'one', 1, 0), (2, 2, 'device', 1, 'two', 1, 0)");
	return 0;
}

static int free_db(void **state)
{
	(void)state;
	sqlite3_close(db);
	return 0;
}

FIXTURE(make_db, free_db);

/* Queue pair @id of a process, on the device of the same number. */
static void add_qp(int id, int process, int number, const char *destroyed)
{
	char sql[256];

	snprintf(sql, sizeof(sql),
		 "INSERT INTO object(id, process, kind, ordinal, name, handle, number, parent,"
		 " created_at, destroyed_at) VALUES(%d, %d, 'qp', %d, 'qp%d', %d, %d, %d, 0, %s)",
		 id, process, id, id, id, number, process, destroyed);
	run_sql(sql);
}

/* A call at @time, which is its number in thread 1, too. */
static void add_call(int time, const char *verb, int object, int failed, const char *args,
		     const char *out)
{
	char sql[768];

	snprintf(sql, sizeof(sql),
		 "INSERT INTO call(thread, n, process, verb, begin, end, failed, object, args, out)"
		 " VALUES(1, %d, 1, '%s', %d, %d, %d, %d, '%s', '%s')",
		 time, verb, time, time, failed, object, args, out);
	run_sql(sql);
}

static void connect_psns(int time, int qp, int dest, int lid, int expects, int sends)
{
	char args[256];

	snprintf(args, sizeof(args),
		 "{\"attr\":{\"qp_state\":\"IBV_QPS_RTR\",\"dest_qp_num\":%d,\"rq_psn\":%d,"
		 "\"ah_attr\":{\"is_global\":0,\"dlid\":%d}}}",
		 dest, expects, lid);
	add_call(time, "ibv_modify_qp", qp, 0, args, "{}");
	snprintf(args, sizeof(args), "{\"attr\":{\"qp_state\":\"IBV_QPS_RTS\",\"sq_psn\":%d}}",
		 sends);
	add_call(time + 1, "ibv_modify_qp", qp, 0, args, "{}");
}

static void connect_at(int time, int qp, int dest, int lid)
{
	connect_psns(time, qp, dest, lid, 7, 7);
}

static void tell_lid(int time, int device, int lid)
{
	char out[64];

	snprintf(out, sizeof(out), "{\"port_attr\":{\"lid\":%d,\"lmc\":0}}", lid);
	add_call(time, "ibv_query_port", device, 0, "{\"port_num\":1}", out);
}

/* "qp-peer known since-until," of each row */
static void check_table(const char *expected)
{
	sqlite3_stmt *stmt;

	assert_int_equal(connections_build(db), 0);
	assert_int_equal(sqlite3_prepare_v2(db,
					    "SELECT group_concat(qp || '-' || coalesce(peer, 0) ||"
					    " ' ' || coalesce(known, '') || ' ' || since || '-' ||"
					    " coalesce(until, '')) FROM (SELECT * FROM connection"
					    " ORDER BY qp, since)",
					    -1, &stmt, NULL),
			 SQLITE_OK);
	assert_int_equal(sqlite3_step(stmt), SQLITE_ROW);
	assert_string_equal(sqlite3_column_text(stmt, 0) ?: (const unsigned char *)"", expected);
	sqlite3_finalize(stmt);
}

TEST(both_ends_are_joined)
{
	add_qp(3, 1, 17, "NULL");
	add_qp(4, 1, 18, "NULL");
	connect_at(10, 3, 18, 4);
	connect_at(20, 4, 17, 4);
	check_table("3-4 both 10-,4-3 both 20-");
}

TEST(a_connection_ends_with_the_next_a_reset_or_the_destruction)
{
	add_qp(3, 1, 17, "90");
	connect_at(10, 3, 18, 4);
	connect_at(20, 3, 19, 4);
	add_call(30, "ibv_modify_qp", 3, 0, "{\"attr\":{\"qp_state\":\"IBV_QPS_RESET\"}}", "{}");
	connect_at(40, 3, 18, 4);
	check_table("3-0  10-20,3-0  20-30,3-0  40-90");
}

TEST(an_error_does_not_end_it)
{
	add_qp(3, 1, 17, "NULL");
	connect_at(10, 3, 18, 4);
	add_call(30, "ibv_modify_qp", 3, 0, "{\"attr\":{\"qp_state\":\"IBV_QPS_ERR\"}}", "{}");
	check_table("3-0  10-");
}

TEST(what_failed_or_cannot_be_read_connects_nothing)
{
	add_qp(3, 1, 17, "NULL");
	add_call(10, "ibv_modify_qp", 3, 1, "{\"attr\":{\"dest_qp_num\":18}}", "{}");
	add_call(11, "ibv_modify_qp", 99, 0, "{\"attr\":{\"dest_qp_num\":18}}", "{}");
	add_call(12, "ibv_modify_qp", 3, 0, "{\"attr\":", "");
	add_call(13, "ibv_modify_qp", 0, 0, "{\"attr\":{\"dest_qp_num\":18}}", "{}");
	check_table("");
}

TEST(a_number_used_again_means_the_one_connected_back)
{
	add_qp(3, 1, 17, "NULL");
	add_qp(4, 1, 18, "15");
	add_qp(5, 1, 18, "NULL");
	connect_at(10, 3, 18, 4);
	connect_at(20, 5, 17, 4);
	check_table("3-5 both 10-,5-3 both 20-");
}

TEST(of_two_devices_the_address_decides)
{
	add_qp(3, 1, 17, "NULL");
	add_qp(4, 1, 18, "NULL");
	add_qp(5, 2, 18, "NULL");
	tell_lid(1, 1, 4);
	tell_lid(2, 2, 5);
	connect_at(10, 3, 18, 5);
	check_table("3-5 address 10-");
}

/* Three hosts with equal numbers and LIDs; the third is connected to itself. */
TEST(of_merged_hosts_the_psn_decides)
{
	run_sql("INSERT INTO merged(id, first_process) VALUES(1, 1), (2, 2), (3, 3);"
		"INSERT INTO process(id, pid, start) VALUES(3, 30, 0);"
		"INSERT INTO object(id, process, kind, ordinal, name, handle, created_at) VALUES"
		"(3, 3, 'device', 1, 'three', 1, 0)");
	for (int i = 1; i <= 3; i++) {
		add_qp(3 + i, i, 17, "NULL");
		tell_lid(i, i, 4);
	}
	connect_psns(10, 4, 17, 4, 7, 9);
	connect_psns(20, 5, 17, 4, 9, 7);
	connect_psns(30, 6, 17, 4, 5, 5);
	check_table("4-5 both 10-,5-4 both 20-,6-6 both 30-");
}

TEST(a_trace_without_table_merged_is_one_host)
{
	run_sql("DROP TABLE merged");
	add_qp(3, 1, 17, "NULL");
	add_qp(4, 2, 18, "NULL");
	connect_at(10, 3, 18, 4);
	check_table("3-4 number 10-");
}

TEST(a_peer_is_known_when_both_ends_are_connected)
{
	struct connections c = { 0 };
	struct objects objects = { 0 };

	add_qp(3, 1, 17, "NULL");
	add_qp(4, 1, 18, "NULL");
	add_qp(5, 1, 19, "NULL");
	connect_at(10, 3, 18, 4);
	connect_at(20, 4, 17, 4);
	connect_at(30, 5, 17, 4); /* 3 was never connected to it */
	assert_int_equal(objects_load(db, NULL, &objects), 0);
	assert_int_equal(connections_learn(&(struct source_calls){ .db = db }, 1, &objects, &c), 0);
	assert_int_equal(connections_peer(&c, 3, 19), 0);
	assert_int_equal(connections_peer(&c, 3, 20), 4);
	assert_int_equal(connections_peer(&c, 4, INT64_MAX), 3);
	assert_int_equal(connections_peer(&c, 5, INT64_MAX), 0);
	assert_int_equal(connections_peer(&c, 6, INT64_MAX), 0);
	connections_fini(&c);
	objects_fini(&objects);
}

TEST(connections_and_handles_are_found)
{
	struct connections c = { 0 };
	struct objects objects = { 0 };

	add_qp(3, 1, 17, "NULL");
	run_sql("INSERT INTO object(id, process, kind, ordinal, name, handle, created_at)"
		" VALUES(4, 1, 'ah', 1, 'ah1', 4, 0)");
	connect_at(10, 3, 18, 4);
	connect_at(20, 3, 19, 4);
	add_call(30, "ibv_create_ah", 4, 0, "{\"attr\":{\"dlid\":6,\"is_global\":0}}", "{}");
	assert_int_equal(objects_load(db, NULL, &objects), 0);
	assert_int_equal(connections_learn(&(struct source_calls){ .db = db }, 1, &objects, &c), 0);
	assert_null(connections_at(&c, 3, 9));
	assert_int_equal(connections_at(&c, 3, 10)->dest, 18);
	assert_int_equal(connections_at(&c, 3, 100)->dest, 19);
	assert_int_equal(connections_first(&c, 3)->dest, 18);
	assert_null(connections_first(&c, 4));
	assert_null(connections_at(&c, 5, 100));
	assert_int_equal(connections_handle(&c, 4)->lid, 6);
	assert_null(connections_handle(&c, 3));
	connections_fini(&c);
	objects_fini(&objects);
}
