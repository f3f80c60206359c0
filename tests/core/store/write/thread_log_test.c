/*
 * What a trace has of a thread beside its events: those that are missing, and its waits
 */
#include <errno.h>
#include <unistd.h>

#include "core/store/db/sql.h"
#include "core/store/write/writer_priv.h"
#include "core/wire/log.h"
#include "tests/core/store/make_events.h"
#include "tests/test.h"

static struct writer *writer;
static struct maker maker;
static char path[256];
static sqlite3 *db;

static int begin_thread(void **state)
{
	(void)state;
	make_now = 1000;
	snprintf(path, sizeof(path), "%s", make_path("thread_log.db"));
	unlink(path);
	writer = make_writer(path);
	make_thread(&maker, writer, 0, 100, 101);
	make_process(&maker, 1, 0, 0, 0);
	return 0;
}

static int remove_trace(void **state)
{
	(void)state;
	sqlite3_close(db);
	db = NULL;
	return unlink(path);
}

FIXTURE(begin_thread, remove_trace);

static void finish_trace(void)
{
	make_end(&maker);
	assert_int_equal(writer_finish(writer), 0);
	assert_int_equal(sql_open(path, SQLITE_OPEN_READONLY, &db), 0);
}

/* The only value that @sql finds, as text. */
static void expect_text(const char *sql, const char *text)
{
	sqlite3_stmt *stmt;

	assert_int_equal(sql_prepare(db, sql, &stmt), 0);
	assert_int_equal(sql_step(stmt), 1);
	assert_string_equal((const char *)sqlite3_column_text(stmt, 0), text);
	sqlite3_finalize(stmt);
}

#define COVERAGE                                                                      \
	"SELECT group_concat(what || ' ' || coalesce(times, '-') || ': ' || detail, " \
	"'; ') FROM (SELECT * FROM coverage WHERE thread = 1 ORDER BY what)"

TEST(events_that_nobody_lost_are_counted)
{
	atomic_store(&maker.in.head->in_handlers, 2);
	atomic_store(&maker.in.head->uncounted, 3);
	atomic_store(&maker.in.head->filtered, 4);
	finish_trace();
	expect_text(COVERAGE, "filtered 4: 4 events that the filter left out; "
			      "handlers 2: 2 events of verbs in signal handlers; "
			      "polls 1: 3 empty polls of more than 64 CQs");
	assert_int_equal(sql_int(db, "SELECT count(*) FROM loss", -1), 0);
}

TEST(a_thread_without_a_gap_has_no_row)
{
	finish_trace();
	assert_int_equal(sql_int(db, "SELECT count(*) FROM coverage WHERE thread = 1", -1), 0);
	assert_int_equal(sql_int(db, "SELECT count(*) FROM loss", -1), 0);
}

TEST(events_before_the_first_are_late_and_lost)
{
	struct maker late;

	make_thread(&late, writer, 1, 100, 102);
	assert_int_equal(writer_note_late_thread(writer, late.thread, 5), 0);
	make_end(&late);
	finish_trace();
	expect_text("SELECT what || ' ' || times || ' ' || detail FROM coverage WHERE thread = 2",
		    "late 5 5 events before the first");
	assert_int_equal(sql_int(db, "SELECT events FROM loss WHERE thread = 2", 0), 5);
}

static void drop_events(uint64_t n, uint64_t first, uint64_t last)
{
	atomic_store(&maker.in.head->drop_first, first);
	atomic_store(&maker.in.head->drop_last, last);
	atomic_store(&maker.in.head->dropped, n);
	assert_int_equal(writer_note_lost_thread(writer, maker.thread, maker.out.head), 0);
}

TEST(lost_events_are_one_row_with_their_times)
{
	drop_events(3, 2000, 3000);
	drop_events(3, 2000, 3000);
	drop_events(7, 2000, 5000);
	make_now = 6000;
	finish_trace();
	expect_text("SELECT events || ' ' || first || ' ' || last || ' ' || overwritten FROM loss",
		    "7 2000 5000 0");
}

static void put_wait(uint64_t ticks, uint64_t times, unsigned int why)
{
	struct event_waited *event = make_room(&maker, EVENT_WAITED, 0, sizeof(*event));

	event->ticks = ticks;
	event->times = (uint32_t)times;
	event->why = why;
	make_done(&maker, event, sizeof(*event));
}

TEST(waits_have_their_reason)
{
	put_wait(500, 2, WAITED_ROOM);
	put_wait(700, 1, WAITED_LONGER);
	finish_trace();
	expect_text("SELECT group_concat(why || ' ' || times || ' ' || ns, '; ') FROM waited",
		    "full 2 500; longer 1 700");
}

TEST(impossible_waits_are_damage)
{
	put_wait(500, 0, WAITED_ROOM);
	put_wait(500, 1, WAITED_WHYS);
	put_wait(1ull << 62, 1, WAITED_ROOM);
	log_silence(true);
	finish_trace();
	log_silence(false);
	assert_int_equal(sql_int(db, "SELECT count(*) FROM waited", -1), 0);
}
