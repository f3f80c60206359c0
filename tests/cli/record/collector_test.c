#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>
#include <sys/wait.h>

#include <sqlite3.h>

#include "cli/record/collector.h"
#include "core/wire/cut.h"
#include "core/wire/ring.h"
#include "tests/test.h"

static char dir[] = "/tmp/collector_test-XXXXXX", trace[64];
static struct session session;
static struct writer *writer;
static struct collector *collector;

static int make_dir(void **state)
{
	(void)state;
	if (!mkdtemp(dir))
		return -1;
	snprintf(trace, sizeof(trace), "%s/t.db", dir);
	return 0;
}

static int remove_dir(void **state)
{
	(void)state;
	return rmdir(dir);
}

static int start_session(void **state)
{
	struct writer_info info = { .command = "test", .device = "" };

	(void)state;
	if (session_create(&session, dir, RING_MIN, ON_FULL_DROP))
		return -1;
	info.clock = &session.clock;
	return writer_create(trace, &info, &writer) || collector_new(&session, writer, &collector);
}

static int stop_session(void **state)
{
	int err;

	(void)state;
	collector_free(collector);
	session_remove(&session);
	err = writer ? writer_finish(writer) : 0;
	unlink(trace);
	return err;
}

static uint32_t next_number(void)
{
	return session_new_ring(&session);
}

static void make_ring(struct ring *ring, uint32_t index)
{
	char path[SESSION_PATH + 16];

	session_ring_path(&session, index, path);
	assert_int_equal(ring_create(ring, path, RING_MIN, index, 0), 0);
	ring->head->ticks = clock_ticks(session.page->clock.kind);
}

static bool ring_is_there(uint32_t index)
{
	char path[SESSION_PATH + 16];

	session_ring_path(&session, index, path);
	return !access(path, F_OK);
}

static void put_event(struct ring *ring)
{
	struct event_notify *event;

	assert_true(ring_has_room(ring, sizeof(*event)));
	event = ring_next(ring);
	memset(event, 0, sizeof(*event));
	event->head.type = EVENT_NOTIFY;
	event->head.ticks = clock_ticks(session.page->clock.kind);
	event->cq = 0x1000;
	ring_commit(ring, &event->head, sizeof(*event) / 8);
}

static uint64_t count_taken(void)
{
	return writer_progress(writer).events;
}

GROUP(make_dir, remove_dir);
FIXTURE(start_session, stop_session);

TEST(drain_takes_what_is_there)
{
	struct ring ring;

	assert_int_equal(collector_drain(collector), 0);
	make_ring(&ring, next_number());
	for (int i = 0; i < 100; i++)
		put_event(&ring);
	assert_true(collector_drain(collector) > 0);
	assert_int_equal(collector_drain(collector), 0);
	assert_int_equal(count_taken(), 100);
	assert_true(collector_has_live_rings(collector));
	ring_close(&ring);
}

/* The thread that creates the ring was killed between the number and the file, or is slow. */
static void mark_rings(void *arg)
{
	collector_mark_positions(arg);
}

/* A process that takes over reads them again from there. */
TEST(held_events_stay_in_their_ring_until_they_are_committed)
{
	uint32_t index = next_number();
	struct ring ring;

	collector_hold(collector);
	writer_on_commit(writer, mark_rings, collector);
	make_ring(&ring, index);
	put_event(&ring);
	assert_true(collector_drain(collector) > 0);
	assert_int_equal(count_taken(), 1);
	assert_int_equal(atomic_load(&ring.head->head), 0);
	assert_int_equal(writer_flush(writer), 0);
	assert_int_equal(collector_drain(collector), 0);
	assert_int_equal(atomic_load(&ring.head->head), atomic_load(&ring.head->tail));

	ring.head->closed = 1;
	assert_int_equal(collector_update(collector), 0);
	assert_true(ring_is_there(index));
	assert_int_equal(writer_flush(writer), 0);
	assert_int_equal(collector_drain(collector), 0);
	assert_false(ring_is_there(index));
	ring_close(&ring);
}

TEST(number_without_a_ring_holds_nothing_up)
{
	uint32_t late = next_number(), never = next_number();
	struct ring ring, slow;

	make_ring(&ring, next_number());
	put_event(&ring);
	assert_true(collector_drain(collector) > 0);
	make_ring(&slow, late);
	put_event(&slow);
	assert_int_equal(collector_update(collector), 0);
	assert_true(collector_drain(collector) > 0);
	assert_int_equal(count_taken(), 2);
	assert_false(ring_is_there(never));
	assert_int_equal(collector_finish(collector), 0);
	ring_close(&ring);
	ring_close(&slow);
}

TEST(ring_that_comes_after_its_number_is_read_at_once)
{
	uint32_t number = next_number();
	struct ring ring;

	assert_int_equal(collector_drain(collector), 0);
	make_ring(&ring, number);
	put_event(&ring);
	assert_true(collector_drain(collector) > 0);
	assert_int_equal(count_taken(), 1);
	ring_close(&ring);
}

static uint64_t taken_at_once; /* the writer's events at the first look */

static int look_between(void *arg)
{
	(void)arg;
	if (!taken_at_once)
		taken_at_once = count_taken();
	return 0;
}

/* The ring's events are older than those read before: no cut may come between them. */
TEST(ring_that_is_found_late_catches_up_at_once)
{
	uint64_t end = clock_monotonic() + 10000000;
	struct ring ring;

	taken_at_once = 0;
	make_ring(&ring, next_number());
	put_event(&ring);
	while (clock_monotonic() < end)
		;
	put_event(&ring);
	collector_preserve_order(collector, 1, look_between,
				 NULL); /* all events up to now were read */
	assert_true(collector_drain(collector) > 0);
	assert_int_equal(taken_at_once, 2);
	ring_close(&ring);
}

/* In small steps, regardless of the amount. */
TEST(rings_are_read_evenly)
{
	uint64_t end;
	struct ring ring;

	taken_at_once = 0;
	collector_preserve_order(collector, 1, look_between, NULL);
	make_ring(&ring, next_number());
	for (int i = 0; i < 3; i++) {
		put_event(&ring);
		for (end = clock_monotonic() + 20000; clock_monotonic() < end;)
			;
	}
	assert_true(collector_drain(collector) > 0);
	assert_int_equal(taken_at_once, 1);
	assert_int_equal(count_taken(), 3);
	ring_close(&ring);
}

TEST(closed_ring_is_read_to_its_end_and_removed)
{
	struct ring ring;

	make_ring(&ring, next_number());
	put_event(&ring);
	atomic_store(&ring.head->closed, 1);
	collector_drain(collector);
	assert_int_equal(collector_update(collector), 0);
	assert_int_equal(count_taken(), 1);
	assert_false(ring_is_there(0));
	assert_false(collector_has_live_rings(collector));
	ring_close(&ring);
}

TEST(ring_of_a_dead_process_is_read_to_its_end)
{
	struct ring ring;
	pid_t pid;

	next_number();
	pid = fork();
	if (!pid) {
		make_ring(&ring, 0);
		put_event(&ring);
		put_event(&ring);
		_exit(0);
	}
	waitpid(pid, NULL, 0);
	collector_drain(collector);
	assert_int_equal(collector_update(collector), 0);
	assert_int_equal(collector_update(collector), 0);
	assert_int_equal(count_taken(), 2);
	assert_false(collector_has_live_rings(collector));
	assert_int_equal(collector_count_processes(collector), 1);
}

/* A process with two events: it lives on until it is killed. */
static pid_t start_process(void)
{
	struct ring ring;
	int ready[2];
	char byte;
	pid_t pid;

	next_number();
	assert_int_equal(pipe(ready), 0);
	pid = fork();
	if (!pid) {
		make_ring(&ring, 0);
		put_event(&ring);
		put_event(&ring);
		close(ready[1]);
		for (;;)
			pause();
	}
	close(ready[1]);
	assert_int_equal(read(ready[0], &byte, 1), 0); /* the child has closed it, too */
	close(ready[0]);
	return pid;
}

static void kill_process(pid_t pid)
{
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

/* How many processes ended, as the trace has it. */
static int finish_and_count_ends(void)
{
	sqlite3_stmt *stmt;
	sqlite3 *db;
	int ends;

	assert_int_equal(collector_finish(collector), 0);
	assert_int_equal(writer_finish(writer), 0);
	writer = NULL;
	assert_int_equal(sqlite3_open(trace, &db), SQLITE_OK);
	assert_int_equal(sqlite3_prepare_v2(db, "SELECT count(end) FROM process", -1, &stmt, NULL),
			 SQLITE_OK);
	assert_int_equal(sqlite3_step(stmt), SQLITE_ROW);
	ends = sqlite3_column_int(stmt, 0);
	sqlite3_finalize(stmt);
	sqlite3_close(db);
	return ends;
}

TEST(end_of_a_process_is_noted)
{
	pid_t pid = start_process();

	collector_drain(collector);
	assert_int_equal(collector_update(collector), 0);
	kill_process(pid);
	assert_int_equal(finish_and_count_ends(), 1);
}

/* What it did until its end was not recorded. */
TEST(end_after_the_recording_is_not_noted)
{
	pid_t pid = start_process();

	collector_drain(collector);
	assert_int_equal(collector_update(collector), 0);
	collector_detach(collector);
	kill_process(pid);
	assert_int_equal(finish_and_count_ends(), 0);
}

TEST(damaged_event_is_stepped_over_and_all_goes_on)
{
	struct ring bad, good;

	make_ring(&bad, next_number());
	make_ring(&good, next_number());
	put_event(&bad);
	put_event(&bad);
	((struct event_head *)(bad.data + sizeof(struct event_notify)))->words = 0;
	put_event(&good);
	assert_true(collector_drain(collector) > 0);
	assert_int_equal(collector_drain(collector), 0);
	put_event(&good);
	put_event(&bad);
	assert_true(collector_drain(collector) > 0);
	assert_int_equal(count_taken(), 4);
	assert_int_equal(collector_finish(collector), 0);
	ring_close(&bad);
	ring_close(&good);
}

TEST(loss_is_reported_while_the_ring_lives)
{
	struct ring ring;

	make_ring(&ring, next_number());
	put_event(&ring);
	assert_true(collector_drain(collector) > 0);
	assert_int_equal(collector_write_losses(collector), 0);
	assert_int_equal(writer_progress(writer).lost, 0);
	atomic_store(&ring.head->dropped, 5);
	assert_int_equal(collector_write_losses(collector), 0);
	assert_int_equal(writer_progress(writer).lost, 5);
	assert_int_equal(collector_finish(collector), 0);
	assert_int_equal(writer_progress(writer).lost, 5);
	ring_close(&ring);
}

/* The head is the program's memory, too. */
TEST(impossible_tail_is_damage)
{
	struct ring ring;

	make_ring(&ring, next_number());
	atomic_store(&ring.head->tail, UINT64_MAX - 7);
	assert_true(collector_drain(collector) > 0);
	assert_int_equal(collector_drain(collector), 0);
	assert_int_equal(collector_finish(collector), 0);
	ring_close(&ring);
}

/* The program can write to the page, too. */
TEST(page_is_not_asked_for_the_clock)
{
	session.page->clock.mult = 0;
	session.page->clock.shift = 200;
	assert_int_equal(collector_drain(collector), 0);
	assert_in_range(collector_last_event(collector), 1, 1000000000000);
	assert_int_equal(collector_finish(collector), 0);
}

TEST(rings_that_were_never_made_hold_nothing_up)
{
	struct ring ring;

	make_ring(&ring, next_number());
	put_event(&ring);
	atomic_store(&session.page->rings, UINT32_MAX);
	atomic_store(&session.page->ringless, UINT32_MAX);
	assert_true(collector_drain(collector) > 0);
	for (int i = 0; i < 100; i++)
		assert_int_equal(collector_update(collector), 0);
	assert_int_equal(collector_finish(collector), 0);
	assert_int_equal(count_taken(), 1);
	ring_close(&ring);
}

/* The count may be overwritten by another program than the one that owns the ring. */
TEST(ring_is_found_where_the_count_was_overwritten)
{
	struct ring ring;

	make_ring(&ring, next_number());
	assert_int_equal(collector_drain(collector), 0);
	atomic_store(&session.page->rings, 0);
	assert_int_equal(collector_drain(collector), 0);
	ring_close(&ring);
	make_ring(&ring, next_number());
	put_event(&ring);
	assert_int_equal(collector_finish(collector), 0);
	assert_int_equal(count_taken(), 1);
	ring_close(&ring);
}

/* The page counts one ring, or a million; formerly, a file was opened for each. */
TEST(leftover_is_all_that_is_there)
{
	struct ring ring;

	for (uint32_t i = 3; i < SESSION_RINGS; i += 500000) {
		make_ring(&ring, i);
		put_event(&ring);
		ring_close(&ring);
	}
	assert_int_equal(next_number(), 0);
	assert_int_equal(collector_note_leftover(collector), 0);
	assert_true(collector_drain(collector) > 0);
	assert_int_equal(collector_drain(collector), 0);
	assert_int_equal(collector_finish(collector), 0);
	assert_int_equal(count_taken(), 3);
}

static int64_t ask_trace(const char *query)
{
	sqlite3_stmt *stmt;
	sqlite3 *db;
	int64_t n;

	assert_int_equal(sqlite3_open_v2(trace, &db, SQLITE_OPEN_READONLY, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_prepare_v2(db, query, -1, &stmt, NULL), SQLITE_OK);
	assert_int_equal(sqlite3_step(stmt), SQLITE_ROW);
	n = sqlite3_column_int64(stmt, 0);
	sqlite3_finalize(stmt);
	sqlite3_close(db);
	return n;
}

/* No damaged event is left then: the tail alone shows that there was more. */
TEST(ring_cut_between_two_events_is_damage)
{
	char path[SESSION_PATH + 16];
	struct ring ring;

	session_ring_path(&session, 0, path);
	assert_int_equal(ring_create_growing(&ring, AT_FDCWD, path, RING_MIN, 0, 0), 0);
	ring.head->ticks = clock_ticks(session.page->clock.kind);
	put_event(&ring);
	put_event(&ring);
	ring_close(&ring);
	assert_int_equal(truncate(path, RING_PAGE + sizeof(struct event_notify)), 0);
	assert_int_equal(collector_note_leftover(collector), 0);
	assert_true(collector_drain(collector) >= 0);
	assert_int_equal(collector_drain(collector), 0);
	assert_int_equal(collector_finish(collector), 0);
	assert_int_equal(count_taken(), 1);
	assert_int_equal(writer_finish(writer), 0);
	writer = NULL;
	assert_int_equal(ask_trace("SELECT count(*) FROM coverage WHERE what = 'damaged'"), 1);
}

static bool is_told_of_empty_ring(uint32_t made)
{
	char path[SESSION_PATH + 16];

	session_ring_path(&session, next_number(), path);
	close(open(path, O_CREAT | O_RDWR, 0600));
	atomic_store(&session.page->made, made);
	assert_int_equal(collector_drain(collector), 0);
	assert_int_equal(collector_finish(collector), 0);
	return collector_has_unreadable(collector);
}

TEST(ring_whose_maker_was_killed_is_no_loss)
{
	assert_false(is_told_of_empty_ring(0));
}

TEST(ring_that_was_made_and_then_cut_is_reported)
{
	assert_true(is_told_of_empty_ring(1));
}

TEST(finish_closes_the_session)
{
	assert_int_equal(collector_finish(collector), 0);
	assert_false(session_is_running(&session));
}

/* The file is truncated after it was opened, and before an event was read. */
TEST(ring_that_was_cut_is_damaged)
{
	struct ring ring;
	char path[SESSION_PATH + 16];

	make_ring(&ring, next_number());
	assert_int_equal(collector_drain(collector), 0);
	put_event(&ring);
	session_ring_path(&session, 0, path);
	assert_int_equal(truncate(path, 0), 0);
	cut_catch(); /* cmocka has set its own handler by now */
	assert_int_equal(collector_finish(collector), 0);
	assert_int_equal(writer_finish(writer), 0);
	writer = NULL;
	assert_int_equal(ask_trace("SELECT count(*) FROM coverage WHERE what = 'damaged'"), 1);
	ring_close(&ring);
}
