#include <signal.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

#include "cli/record/retention.h"
#include "tests/core/store/make_events.h"
#include "tests/test.h"

static const char *name_of(const char *path, unsigned int number)
{
	static char text[PATH_MAX];

	assert_true(retention_name(path, number, text));
	return text;
}

TEST(number_comes_before_the_ending)
{
	assert_string_equal(name_of("trace.db", 1), "trace.1.db");
	assert_string_equal(name_of("/a.b/trace", 12), "/a.b/trace.12");
	assert_string_equal(name_of("a/.hidden", 3), "a/.hidden.3");
	assert_string_equal(name_of("a.b.db", 3), "a.b.3.db");
}

TEST(long_name_is_refused)
{
	char path[PATH_MAX], text[PATH_MAX];

	memset(path, 'a', sizeof(path) - 1);
	path[sizeof(path) - 1] = '\0';
	assert_false(retention_name(path, 1, text));
}

/* A flight recorder, and a thread of a program that it records. */

enum { FIRST_PID = 100, COPIES = 8 };

static char dir[] = "/tmp/retention_test-XXXXXX", path[64];
static struct session session;
static struct device_counters no_counters;
static struct retention retention;
static struct maker thread;
static struct make_world world;

static int begin_flight(void **state)
{
	struct writer_info info = {
		.clock = &make_clock, .command = "app", .device = "", .cuts = true
	};

	(void)state;
	strcpy(strrchr(dir, '-'), "-XXXXXX");
	assert_non_null(mkdtemp(dir));
	snprintf(path, sizeof(path), "%s/t.db", dir);
	assert_int_equal(session_create(&session, dir, RING_MIN, ON_FULL_DROP), 0);
	retention = (struct retention){
		.path = path,
		.flight = 1 << 20,
		.quiet = true,
		.session = &session,
		.counters = &no_counters,
	};
	assert_int_equal(writer_create(path, &info, &retention.writer), 0);
	make_thread(&thread, retention.writer, 0, FIRST_PID, FIRST_PID);
	make_process(&thread, 1, 0, 0, 0);
	make_world(&thread, &world, 17);
	return 0;
}

static int end_flight(void **state)
{
	char copy[PATH_MAX];

	(void)state;
	make_end(&thread);
	session_remove(&session);
	assert_int_equal(writer_finish(retention.writer), 0);
	unlink(path);
	for (unsigned int i = 1; i <= COPIES; i++) {
		assert_true(retention_name(path, i, copy));
		unlink(copy);
	}
	return rmdir(dir);
}

FIXTURE(begin_flight, end_flight);

static void complete_as(int status)
{
	struct event_wc wc = make_wc(1, status, IBV_WC_SEND, 17);

	make_poll(&thread, &world.cq, 0, &wc, 1);
}

static void get_async_event(enum ibv_event_type type)
{
	struct ibv_async_event event = { .event_type = type, .element = { .port_num = 1 } };

	make_verb(&thread, VERB_get_async_event,
		  MAKE_ARGS(MAKE_PTR(&world.context), MAKE_PTR(&event)), 0, 0);
}

static void end_process(int pid, int status)
{
	struct maker m;

	make_thread(&m, retention.writer, (uint32_t)(pid - FIRST_PID), pid, pid);
	make_process(&m, 1, 0, 0, 0);
	make_end(&m);
	assert_int_equal(writer_end_process(retention.writer, pid, (int64_t)make_now, status), 0);
}

static void expect_copies(unsigned int n)
{
	for (int again = 0; again < 2; again++) {
		assert_int_equal(retention_update(&retention), 0);
		assert_int_equal(retention.number, n);
	}
	retention_finish(&retention);
}

/* The reason in the last copy. */
static void expect_reason(const char *why)
{
	char copy[PATH_MAX];
	sqlite3_stmt *stmt;
	sqlite3 *db;

	assert_true(retention_name(path, retention.number, copy));
	assert_int_equal(sqlite3_open_v2(copy, &db, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_prepare_v2(db, "SELECT value FROM meta WHERE key = 'snapshot'", -1,
					    &stmt, NULL),
			 SQLITE_OK);
	assert_int_equal(sqlite3_step(stmt), SQLITE_ROW);
	assert_string_equal((const char *)sqlite3_column_text(stmt, 0), why);
	sqlite3_finalize(stmt);
	sqlite3_close(db);
}

TEST(no_copy_is_made_without_a_reason)
{
	complete_as(IBV_WC_SUCCESS);
	complete_as(IBV_WC_WR_FLUSH_ERR);
	get_async_event(IBV_EVENT_PORT_ACTIVE);
	end_process(FIRST_PID + 1, 0);
	expect_copies(0);
}

TEST(the_first_error_alone_makes_a_copy)
{
	complete_as(IBV_WC_RETRY_EXC_ERR);
	expect_copies(1);
	expect_reason("the first completion with an error");
	for (int i = 0; i < 3; i++) {
		complete_as(IBV_WC_REM_ACCESS_ERR);
		expect_copies(1);
	}
}

TEST(the_first_fatal_event_alone_makes_a_copy)
{
	get_async_event(IBV_EVENT_PORT_ERR);
	expect_copies(1);
	expect_reason("the first fatal asynchronous event");
	get_async_event(IBV_EVENT_DEVICE_FATAL);
	expect_copies(1);
	complete_as(IBV_WC_RETRY_EXC_ERR);
	expect_copies(2);
	get_async_event(IBV_EVENT_PORT_ERR);
	complete_as(IBV_WC_RETRY_EXC_ERR);
	expect_copies(2);
}

TEST(each_crash_makes_a_copy)
{
	for (unsigned int i = 1; i <= 3; i++) {
		end_process(FIRST_PID + (int)i, SIGSEGV);
		expect_copies(i);
		expect_reason("a process was killed by a signal");
	}
}

/* By a signal, or by `verbatim snapshot`: its reply has the name. */
TEST(each_request_makes_a_copy)
{
	char copy[PATH_MAX];

	retention.asked = true;
	expect_copies(1);
	expect_reason("requested by a signal");
	session.page->copies_asked = 1;
	expect_copies(2);
	expect_reason("asked for");
	assert_true(retention_name(path, 2, copy));
	assert_string_equal(session.page->copy, copy);
	assert_int_equal(session.page->copies_made, 1);
}

static void take_name(unsigned int number)
{
	char name[PATH_MAX];
	FILE *file;

	assert_true(retention_name(path, number, name));
	file = fopen(name, "wx");
	assert_non_null(file);
	fclose(file);
}

TEST(a_name_that_is_taken_is_passed_over)
{
	take_name(1);
	take_name(2);
	retention.asked = true;
	expect_copies(3);
	expect_reason("requested by a signal");
}

/* The program does not wait for that; the request is answered afterwards. */
TEST(another_process_completes_a_copy)
{
	session.page->copies_asked = 1;
	assert_int_equal(retention_update(&retention), 0);
	complete_as(IBV_WC_SUCCESS);
	session.page->copies_asked = 2;
	retention_finish(&retention);
	assert_int_equal(session.page->copies_made, 1);
	expect_copies(2);
	assert_int_equal(session.page->copies_made, 2);
}

TEST(a_copy_that_fails_is_answered_and_tried_under_its_number)
{
	const char *was = retention.path;

	retention.path = "/nowhere/t.db";
	session.page->copies_asked = 1;
	expect_copies(0);
	assert_string_equal(session.page->copy, "");
	assert_int_equal(session.page->copies_made, 1);
	retention.path = was;
	session.page->copies_asked = 2;
	expect_copies(1);
	assert_int_equal(session.page->copies_made, 2);
}
