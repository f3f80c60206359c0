/*
 * Events that end the recorder's long sleep. If it does not end, the test hangs.
 */
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <sys/wait.h>

#include "cli/record/idle.h"
#include "core/wire/event.h"
#include "core/wire/ring.h"
#include "tests/test.h"

static char trace[64];
static struct session session;
static struct writer *writer;
static struct collector *collector;
static struct idle sleeper;

static int start_idle(void **state)
{
	struct writer_info info = { .command = "test", .device = "" };
	sigset_t signals;

	(void)state;
	sigemptyset(&signals);
	sigaddset(&signals, SIGUSR1);
	sigaddset(&signals, SIGCHLD);
	snprintf(trace, sizeof(trace), "/tmp/verbatim-idle-test-%d.db", (int)getpid());
	if (session_create(&session, NULL, RING_MIN, ON_FULL_WAIT))
		return -1;
	info.clock = &session.page->clock;
	if (writer_create(trace, &info, &writer) || collector_new(&session, writer, &collector))
		return -1;
	idle_start(&sleeper, &session, &signals);
	sleeper.pause = 1000000000;
	return 0;
}

static int stop_idle(void **state)
{
	int err;

	(void)state;
	collector_free(collector);
	session_remove(&session);
	err = writer_finish(writer);
	unlink(trace);
	return err;
}

static sigset_t sleep_long(void)
{
	sigset_t signals;

	idle_wait(&sleeper, collector, 0, IDLE_FOREVER, &signals);
	assert_int_equal(atomic_load(&session.page->asleep), 0);
	return signals;
}

FIXTURE(start_idle, stop_idle);

TEST(signal_before_the_sleep_ends_it)
{
	sigset_t signals;

	raise(SIGUSR1);
	signals = sleep_long();
	assert_true(sigismember(&signals, SIGUSR1));
	assert_false(sigismember(&signals, SIGCHLD));
}

TEST(end_of_a_child_ends_it)
{
	pid_t pid = fork();
	sigset_t signals;

	if (!pid) {
		while (!atomic_load(&session.page->asleep))
			sched_yield();
		_exit(0);
	}
	signals = sleep_long();
	assert_true(sigismember(&signals, SIGCHLD));
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

TEST(new_ring_keeps_it_from_sleeping)
{
	sigset_t signals;

	session_new_ring(&session);
	signals = sleep_long();
	assert_false(sigismember(&signals, SIGUSR1));
}

TEST(event_keeps_it_from_sleeping)
{
	char path[SESSION_PATH + 16];
	struct event_notify *event;
	struct ring ring;

	session_ring_path(&session, session_new_ring(&session), path);
	assert_int_equal(ring_create(&ring, path, RING_MIN, 0, 0), 0);
	ring.head->ticks = clock_ticks(session.page->clock.kind);
	assert_int_equal(collector_drain(collector), 0);
	assert_true(ring_has_room(&ring, sizeof(*event)));
	event = ring_next(&ring);
	memset(event, 0, sizeof(*event));
	event->head.type = EVENT_NOTIFY;
	ring_commit(&ring, &event->head, sizeof(*event) / 8);
	sleep_long();
	assert_true(collector_drain(collector) > 0);
	ring_close(&ring);
}

TEST(signal_before_a_short_sleep_is_taken)
{
	sigset_t signals;

	raise(SIGUSR1);
	idle_wait(&sleeper, collector, 100, IDLE_FOREVER, &signals);
	assert_int_equal(sleeper.pause, 0);
	assert_true(sigismember(&signals, SIGUSR1));
}

TEST(what_came_makes_the_next_sleep_short)
{
	sigset_t signals;

	idle_wait(&sleeper, collector, 1, IDLE_FOREVER, &signals);
	assert_true(sleeper.pause <= 2000000);
	idle_wait(&sleeper, collector, 100, IDLE_FOREVER, &signals);
	assert_int_equal(sleeper.pause, 0);
}
