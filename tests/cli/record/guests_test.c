#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "cli/record/guests.h"
#include "core/wire/ring.h"
#include "core/wire/session.h"
#include "tests/parent.h"
#include "tests/test.h"

/* A process that was started with VERBATIM_DIR=@dir; exec has succeeded when this returns. */
static pid_t start_guest(const char *dir)
{
	char entry[300], byte;
	int fds[2];
	pid_t pid;

	snprintf(entry, sizeof(entry), SESSION_ENV "=%s", dir);
	assert_int_equal(pipe2(fds, O_CLOEXEC), 0);
	pid = fork();
	if (!pid) {
		execle("/bin/sleep", "sleep", "60", NULL, (char *[]){ "A=1", entry, NULL });
		_exit(1);
	}
	close(fds[1]);
	assert_int_equal(read(fds[0], &byte, 1), 0); /* closed by exec */
	close(fds[0]);
	return pid;
}

static void end_process(pid_t pid)
{
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

GROUP(make_parent, remove_parent);

TEST(guest_is_found_by_its_environment)
{
	pid_t pid = start_guest("/tmp/guests"), other = start_guest("/tmp/guests2"), found[4];

	assert_int_equal(guests_scan("/tmp/guests", found, 4), 1);
	assert_int_equal(found[0], pid);
	end_process(pid);
	assert_int_equal(guests_scan("/tmp/guests", found, 4), 0);
	end_process(other);
}

/* In execve() it has no environment for a moment. */
TEST(guest_that_replaces_itself_is_found_each_time)
{
	static const char again[] = "exec /bin/sh -c \"$0\" \"$0\"";
	int found = 0;
	pid_t pid = fork();

	if (!pid) {
		execle("/bin/sh", "sh", "-c", again, again, NULL,
		       (char *[]){ SESSION_ENV "=/tmp/guests", NULL });
		_exit(1);
	}
	while (!guests_is_started_in(pid, "/tmp/guests") && session_process_alive(pid, 0))
		sched_yield();
	for (int i = 0; i < 4000; i++)
		found += guests_is_started_in(pid, "/tmp/guests");
	end_process(pid); /* before an assertion can fail */
	assert_int_equal(found, 4000);
}

static bool is_larger(void *arg, pid_t pid)
{
	return pid > *(pid_t *)arg;
}

static void note_pid(void *arg, pid_t pid)
{
	(void)arg, (void)pid;
}

TEST(only_processes_that_may_be_guests_are_looked_at)
{
	pid_t pid = start_guest("/tmp/guests"), before = pid - 1;

	assert_int_equal(guests_visit("/tmp/guests", is_larger, note_pid, &before), 1);
	assert_int_equal(guests_visit("/tmp/guests", is_larger, note_pid, &pid), 0);
	end_process(pid);
}

TEST(pids_grow_until_their_numbers_begin_again)
{
	struct guests_moment now = guests_mark(1), wrapped = now, unknown = { .pid = 1 };

	wrapped.pid = INT32_MAX;
	assert_true(now.forks > 0);
	assert_true(guests_grow_since(&now));
	assert_false(guests_grow_since(&wrapped));
	assert_false(guests_grow_since(&unknown));
	wrapped = (struct guests_moment){ .pid = 1, .forks = guests_mark(1).forks + 1000000 };
	assert_false(guests_grow_since(&wrapped));
}

TEST(own_thread_is_there)
{
	assert_true(guests_has_thread(getpid(), getpid()));
	assert_false(guests_has_thread(getpid(), 1));
}

TEST(process_without_our_ring_is_foreign)
{
	struct session session;
	struct ring ring;
	char path[SESSION_PATH + 16];
	pid_t pid = start_guest("/tmp/guests");

	assert_int_equal(session_create(&session, parent, RING_MIN, ON_FULL_WAIT), 0);
	session_ring_path(&session, 0, path);
	assert_int_equal(ring_create(&ring, path, RING_MIN, 0, 0), 0);
	assert_false(guests_is_foreign(getpid(), &session));
	assert_true(guests_is_foreign(pid, &session));
	assert_true(guests_is_foreign(1, &session));
	ring_close(&ring);
	session_remove(&session);
	end_process(pid);
}

/* A session whose recorder has ended. */
static void leave_session(char dir[SESSION_PATH])
{
	struct session session;

	assert_int_equal(session_create(&session, parent, RING_MIN, ON_FULL_WAIT), 0);
	session.page->collector_start--;
	strcpy(dir, session.dir);
	session_leave(&session);
}

static bool is_present(const char *dir)
{
	struct stat st;

	return !stat(dir, &st);
}

TEST(sweep_removes_what_a_dead_recorder_left)
{
	struct session ours;
	char dir[SESSION_PATH];

	leave_session(dir);
	assert_int_equal(session_create(&ours, parent, RING_MIN, ON_FULL_WAIT), 0);
	guests_remove_leftovers(&ours, true);
	assert_false(is_present(dir));
	assert_true(is_present(ours.dir));
	session_remove(&ours);
}

static void leave_events(struct session *left)
{
	struct ring ring;
	char path[SESSION_PATH + 16];

	assert_int_equal(session_create(left, parent, RING_MIN, ON_FULL_WAIT), 0);
	left->page->collector_start--;
	session_ring_path(left, session_new_ring(left), path);
	assert_int_equal(ring_create(&ring, path, RING_MIN, 0, 0), 0);
	ring.head->pid = INT32_MAX; /* nobody */
	ring.head->tail = 64;
	ring_close(&ring);
	session_leave(left);
}

/* What the sweep says on stderr. */
static void read_sweep(const struct session *ours, char text[2048])
{
	int before = dup(STDERR_FILENO), ends[2];
	ssize_t n;

	assert_int_equal(pipe(ends), 0);
	dup2(ends[1], STDERR_FILENO);
	guests_remove_leftovers(ours, false);
	dup2(before, STDERR_FILENO);
	close(before);
	close(ends[1]);
	n = read(ends[0], text, 2047);
	close(ends[0]);
	text[n > 0 ? n : 0] = '\0';
}

TEST(sweep_reports_all_that_is_left_in_one_line)
{
	struct session ours, left[3];
	char text[2048];

	assert_int_equal(session_create(&ours, parent, RING_MIN, ON_FULL_WAIT), 0);
	leave_events(&left[0]);
	read_sweep(&ours, text);
	assert_non_null(strstr(text, "a recorder died and left events in"));
	assert_non_null(strstr(text, left[0].dir));
	leave_events(&left[1]);
	leave_events(&left[2]);
	read_sweep(&ours, text);
	assert_non_null(strstr(text, "3 recorders died and left events"));
	assert_ptr_equal(strchr(text, '\n'), text + strlen(text) - 1);
	for (int i = 0; i < 3; i++)
		session_remove(&left[i]);
	session_remove(&ours);
}

TEST(sweep_keeps_events_that_nobody_has_read)
{
	struct session ours, left;

	leave_events(&left);
	assert_int_equal(session_create(&ours, parent, RING_MIN, ON_FULL_WAIT), 0);
	guests_remove_leftovers(&ours, true);
	assert_true(is_present(left.dir));
	session_remove(&left);
	session_remove(&ours);
}

TEST(sweep_leaves_a_session_where_somebody_lives)
{
	struct session ours, left;
	char dir[SESSION_PATH];
	pid_t pid;

	leave_session(dir);
	pid = start_guest(dir);
	assert_int_equal(session_create(&ours, parent, RING_MIN, ON_FULL_WAIT), 0);
	guests_remove_leftovers(&ours, true);
	assert_true(is_present(dir));
	end_process(pid);
	assert_int_equal(session_join(&left, dir), 0);
	session_remove(&left);
	session_remove(&ours);
}

TEST(sweep_tells_several_sessions_apart)
{
	enum { LEFT = 5, USED = 2 };
	struct session ours, left;
	char dirs[LEFT][SESSION_PATH];
	pid_t pid;

	for (int i = 0; i < LEFT; i++)
		leave_session(dirs[i]);
	pid = start_guest(dirs[USED]);
	assert_int_equal(session_create(&ours, parent, RING_MIN, ON_FULL_WAIT), 0);
	guests_remove_leftovers(&ours, true);
	for (int i = 0; i < LEFT; i++)
		assert_int_equal(is_present(dirs[i]), i == USED);
	end_process(pid);
	assert_int_equal(session_join(&left, dirs[USED]), 0);
	session_remove(&left);
	session_remove(&ours);
}

TEST(sweep_leaves_a_session_that_is_recorded)
{
	struct session ours, other;

	assert_int_equal(session_create(&other, parent, RING_MIN, ON_FULL_WAIT), 0);
	assert_int_equal(session_create(&ours, parent, RING_MIN, ON_FULL_WAIT), 0);
	guests_remove_leftovers(&ours, true);
	assert_true(is_present(other.dir));
	session_remove(&other);
	session_remove(&ours);
}

/*
 * The recorder is in another PID namespace: its PID in this namespace belongs to no process, or to
 * another. The sweep removed the directory of a recorder that had just begun.
 */
TEST(sweep_leaves_a_session_of_another_pid_namespace)
{
	struct session ours, other;

	assert_int_equal(session_create(&other, parent, RING_MIN, ON_FULL_WAIT), 0);
	other.page->collector_start--;
	assert_int_equal(session_create(&ours, parent, RING_MIN, ON_FULL_WAIT), 0);
	guests_remove_leftovers(&ours, true);
	assert_true(is_present(other.dir));
	assert_true(guests_in_use(&other));
	session_leave(&other);
	guests_remove_leftovers(&ours, true);
	assert_false(is_present(other.dir));
	session_remove(&ours);
}

/* The sweep leaves it alone: opening it would wait for a writer. */
TEST(sweep_does_not_wait_for_a_fifo)
{
	char dir[64], fifo[80];
	struct session ours;

	snprintf(dir, sizeof(dir), "%s/verbatim-%u-AAAAAA", parent, (unsigned int)getuid());
	snprintf(fifo, sizeof(fifo), "%s/session", dir);
	assert_int_equal(mkdir(dir, 0700), 0);
	assert_int_equal(mkfifo(fifo, 0600), 0);
	assert_int_equal(session_create(&ours, parent, RING_MIN, ON_FULL_WAIT), 0);
	alarm(60);
	guests_remove_leftovers(&ours, true);
	alarm(0);
	assert_true(is_present(fifo));
	session_remove(&ours);
	unlink(fifo);
	rmdir(dir);
}

TEST(sweep_follows_no_link)
{
	char dir[SESSION_PATH], link[64], elsewhere[64];
	struct session ours;

	leave_session(dir);
	snprintf(elsewhere, sizeof(elsewhere), "%s/elsewhere", parent);
	snprintf(link, sizeof(link), "%s/verbatim-%u-AAAAAA", parent, (unsigned int)getuid());
	assert_int_equal(rename(dir, elsewhere), 0);
	assert_int_equal(symlink(elsewhere, link), 0);
	assert_int_equal(session_create(&ours, parent, RING_MIN, ON_FULL_WAIT), 0);
	guests_remove_leftovers(&ours, true);
	unlink(link);
	assert_int_equal(rename(elsewhere, dir), 0);
	guests_remove_leftovers(&ours, true); /* the sweep still recognised it as a session */
	assert_false(is_present(dir));
	session_remove(&ours);
}

TEST(sweep_leaves_a_directory_where_others_may_write)
{
	char dir[SESSION_PATH];
	struct session ours;

	leave_session(dir);
	assert_int_equal(chmod(dir, 0777), 0);
	assert_int_equal(session_create(&ours, parent, RING_MIN, ON_FULL_WAIT), 0);
	guests_remove_leftovers(&ours, true);
	assert_true(is_present(dir));
	assert_int_equal(chmod(dir, 0700), 0);
	guests_remove_leftovers(&ours, true);
	assert_false(is_present(dir));
	session_remove(&ours);
}

/* Each ring that the page counts was looked up by its name, which took seconds. */
TEST(sweep_looks_for_the_rings_that_are_there)
{
	const struct rlimit second = { 1, RLIM_INFINITY };
	struct session ours, left;
	pid_t pid;
	int status;

	pid = fork();
	if (!pid) {
		assert_int_equal(session_create(&ours, parent, RING_MIN, ON_FULL_WAIT), 0);
		for (int i = 0; i < 20; i++) {
			assert_int_equal(session_create(&left, parent, RING_MIN, ON_FULL_WAIT), 0);
			left.page->collector_start--;
			left.page->rings = UINT32_MAX;
			session_leave(&left);
		}
		setrlimit(RLIMIT_CPU, &second);
		guests_remove_leftovers(&ours, true);
		session_remove(&ours);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}
