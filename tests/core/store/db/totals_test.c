#include "core/store/db/sqlite.h"
#include "core/store/db/totals.h"
#include "tests/test.h"

/* Two threads of one process, with 10 and 5 events; the last is at 90. */
static const char tables[] =
	"CREATE TABLE meta(key, value); CREATE TABLE process(id, end);"
	"CREATE TABLE thread(id, process, events, end); CREATE TABLE carried(thread, n);"
	"CREATE TABLE loss(thread, events, overwritten);"
	"CREATE TABLE coverage(thread, what, times);"
	"INSERT INTO meta VALUES('duration', 90); INSERT INTO process VALUES(1, 100);"
	"INSERT INTO thread VALUES(1, 1, 10, 80), (2, 1, 5, 90);";

static struct totals totals_with(const char *sql)
{
	struct totals totals;
	char *error = NULL;
	sqlite3 *db;

	assert_int_equal(sqlite3_open(":memory:", &db), SQLITE_OK);
	sqlite3_exec(db, tables, NULL, NULL, &error);
	if (!error)
		sqlite3_exec(db, sql, NULL, NULL, &error);
	if (error)
		fail_msg("%s: %s", sql, error);
	totals = totals_read(db);
	sqlite3_close(db);
	return totals;
}

TEST(whole_trace_has_all_events)
{
	struct totals totals = totals_with("");

	assert_int_equal(totals.events, 15);
	assert_int_equal(totals.lost, 0);
	assert_int_equal(totals.overwritten, 0);
	assert_int_equal(totals.processes, 1);
	assert_int_equal(totals.threads, 2);
}

TEST(duration_ends_with_the_last_event_or_process)
{
	assert_int_equal(totals_with("").duration, 100);
	assert_int_equal(totals_with("UPDATE process SET end = 70").duration, 90);
	assert_int_equal(totals_with("UPDATE process SET end = NULL").duration, 90);
	assert_int_equal(totals_with("UPDATE thread SET end = 120 WHERE id = 2").duration, 120);
	assert_int_equal(totals_with("DELETE FROM process; DELETE FROM meta").duration, 0);
}

/* A flight recorder's deleted events are in table `loss`, but not lost. */
TEST(deleted_events_are_overwritten_and_not_lost)
{
	struct totals totals = totals_with("INSERT INTO loss VALUES(1, 7, 4), (0, 6, 5)");

	assert_int_equal(totals.events, 11);
	assert_int_equal(totals.lost, 4);
	assert_int_equal(totals.overwritten, 9);
}

/* The events of the previous trace are deleted in this one: they are subtracted once. */
TEST(rotated_trace_has_only_its_own_events)
{
	struct totals totals = totals_with("INSERT INTO meta VALUES('carried', 50);"
					   "INSERT INTO carried VALUES(1, 8), (2, 5);"
					   "INSERT INTO loss VALUES(1, 6, 6)");

	assert_int_equal(totals.events, 2);
	assert_int_equal(totals.lost, 0);
	assert_int_equal(totals.overwritten, 0);
}

TEST(events_that_came_before_or_were_not_written_are_lost)
{
	struct totals totals = totals_with("INSERT INTO loss VALUES(2, 3, 0);"
					   "INSERT INTO coverage VALUES(2, 'late', 3),"
					   " (0, 'unwritten', 20), (1, 'direct', 1)");

	assert_int_equal(totals.events, 12);
	assert_int_equal(totals.lost, 23);
}

/* A damaged trace may have any numbers. */
TEST(impossible_numbers_are_none)
{
	struct totals totals = totals_with("UPDATE thread SET events = -5;"
					   "INSERT INTO loss VALUES(1, 2, 900)");

	assert_int_equal(totals.events, 0);
	assert_int_equal(totals.lost, 0);
	assert_int_equal(totals_with("DROP TABLE loss").events, 0);
}
