#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include "core/wire/session.h"
#include "tests/parent.h"
#include "tests/test.h"

static void *outlive_leader(void *unused)
{
	pause();
	return unused;
}

static char process_state(pid_t pid)
{
	char path[32], state = '?';
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	file = fopen(path, "re");
	assert_non_null(file);
	assert_int_equal(fscanf(file, "%*d (%*[^)]) %c", &state), 1);
	fclose(file);
	return state;
}

/* A process whose first thread has ended while another lives. */
static pid_t start_leaderless(void)
{
	pid_t pid = fork();

	if (!pid) {
		pthread_t other;

		pthread_create(&other, NULL, outlive_leader, NULL);
		syscall(SYS_exit, 0); /* ends this thread only */
	}
	while (process_state(pid) != 'Z')
		sched_yield();
	return pid;
}

TEST(process_without_its_leader_is_alive)
{
	pid_t pid = start_leaderless();

	assert_true(session_process_alive(pid, 0));
	assert_true(session_process_alive(pid, session_process_start(pid)));
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	assert_false(session_process_alive(pid, 0));
}

TEST(zombie_is_not_alive)
{
	siginfo_t info;
	pid_t pid = fork();

	if (!pid)
		_exit(0);
	waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT);
	assert_false(session_process_alive(pid, 0));
	waitpid(pid, NULL, 0);
}

TEST(pid_with_another_start_is_not_alive)
{
	assert_true(session_process_alive(getpid(), session_process_start(getpid())));
	assert_false(session_process_alive(getpid(), session_process_start(getpid()) + 1));
}

GROUP(make_parent, remove_parent);

TEST(session_is_made_where_there_is_none)
{
	struct session first = { 0 }, second = { 0 };
	char dir[64];

	snprintf(dir, sizeof(dir), "%s/d", parent);
	assert_int_equal(session_join(&first, dir), -ENOENT);
	assert_int_equal(session_join_or_make(&first, dir), 0);
	assert_int_equal(session_join_or_make(&second, dir), 0);
	assert_int_equal(session_new_ring(&first), 0);
	assert_int_equal(session_count_rings(&second), 1);
	assert_int_equal(first.page->on_full, ON_FULL_GROW);
	session_leave(&second);
	session_remove(&first);
	assert_int_equal(access(dir, F_OK), -1);
}

TEST(payload_is_that_of_the_variable)
{
	struct session session = { 0 };
	uint64_t keep;
	char dir[64];

	assert_true(payload_parse("64", &keep));
	snprintf(dir, sizeof(dir), "%s/p", parent);
	setenv("VERBATIM_PAYLOAD", "64", 1);
	assert_int_equal(session_join_or_make(&session, dir), 0);
	unsetenv("VERBATIM_PAYLOAD");
	assert_int_equal(session.page->payload.keep, keep);
	session_remove(&session);
}

TEST(page_whose_clock_makes_no_sense_is_refused)
{
	struct session first = { 0 }, second = { 0 };
	char dir[64];

	snprintf(dir, sizeof(dir), "%s/d", parent);
	assert_int_equal(session_join_or_make(&first, dir), 0);
	assert_int_equal(first.clock.mult, first.page->clock.mult);
	assert_int_equal(mprotect(first.page, SESSION_SHARED, PROT_READ | PROT_WRITE), 0);
	first.page->clock.shift = 200;
	assert_int_equal(session_join(&second, dir), -EPROTO);
	assert_null(second.page);
	session_remove(&first);
}

static int die_of_a_store(uint32_t *word)
{
	int status;

	if (!fork()) {
		signal(SIGSEGV, SIG_DFL); /* cmocka's would report it */
		*word = 7;
		_exit(0);
	}
	wait(&status);
	return WIFSIGNALED(status) ? WTERMSIG(status) : 0;
}

TEST(settings_are_read_only_where_a_program_joined)
{
	struct session session, joined;

	assert_int_equal(session_create(&session, parent, 4096, ON_FULL_WAIT), 0);
	assert_int_equal(session_join(&joined, session.dir), 0);
	assert_int_equal(die_of_a_store(&joined.page->on_full), SIGSEGV);
	assert_int_equal(die_of_a_store(&session.page->on_full), 0);
	assert_int_equal(joined.page->on_full, 7);
	session_leave(&joined);
	session_remove(&session);
}

TEST(stray_stores_end_no_session)
{
	static const uint32_t values[] = { 0, 2, 3, 9, UINT32_MAX };
	struct session session;

	assert_int_equal(session_create(&session, parent, 4096, ON_FULL_WAIT), 0);
	for (size_t i = 0; i < sizeof(values) / sizeof(*values); i++) {
		session.page->state = values[i];
		assert_true(session_is_running(&session));
	}
	session.page->state = SESSION_CLOSED;
	assert_false(session_is_running(&session));
	session_remove(&session);
}

TEST(ring_gets_a_number_where_the_count_was_overwritten)
{
	static const uint64_t values[] = { 0, 1, 7, UINT32_MAX, UINT64_MAX, 1ull << 40 };
	struct session session;

	assert_int_equal(session_create(&session, parent, 4096, ON_FULL_WAIT), 0);
	assert_int_equal(session_new_ring(&session), 0);
	for (size_t i = 0; i < sizeof(values) / sizeof(*values); i++) {
		session.page->rings = values[i];
		assert_int_equal(session_count_rings(&session), SESSION_RINGS);
		assert_in_range(session_new_ring(&session), SESSION_RINGS / 2, SESSION_RINGS - 1);
	}
	session_remove(&session);
}

TEST(collectors_session_is_not_made_again)
{
	struct session session = { 0 };
	char dir[96];

	snprintf(dir, sizeof(dir), "%s/verbatim-%u-AbCdEf", parent, (unsigned int)getuid());
	assert_int_equal(session_join_or_make(&session, dir), -ENOENT);
	assert_int_equal(access(dir, F_OK), -1);
}

TEST(limit_is_for_all_rings)
{
	struct session session = { 0 };
	char dir[64];

	snprintf(dir, sizeof(dir), "%s/d", parent);
	setenv("VERBATIM_LIMIT", "1M", 1);
	assert_int_equal(session_join_or_make(&session, dir), 0);
	unsetenv("VERBATIM_LIMIT");
	assert_true(session_reserve(&session, 1 << 20));
	assert_false(session_reserve(&session, 1));
	session_unreserve(&session, 1);
	assert_true(session_reserve(&session, 1));
	session_remove(&session);
}

/* The session's name refers to another directory of ours, which remains unchanged. */
TEST(directory_in_its_place_is_left_alone)
{
	char away[SESSION_PATH + 8], file[SESSION_PATH + 16];
	struct session session;

	assert_int_equal(session_create(&session, parent, 1 << 20, ON_FULL_WAIT), 0);
	snprintf(away, sizeof(away), "%s.away", session.dir);
	snprintf(file, sizeof(file), "%s/ring.0", session.dir);
	assert_int_equal(rename(session.dir, away), 0);
	assert_int_equal(session_open_dir(&session), -ENOENT);
	assert_int_equal(mkdir(session.dir, 0700), 0);
	close(open(file, O_CREAT | O_WRONLY, 0600));
	assert_int_equal(session_open_dir(&session), -ESTALE);
	session_remove(&session);
	assert_int_equal(access(file, F_OK), 0);
	unlink(file);
	rmdir(session.dir);
	assert_int_equal(rename(away, session.dir), 0);
	session_remove(&session);
	assert_int_equal(access(session.dir, F_OK), -1);
}

TEST(rings_are_listed_in_order)
{
	static const char *const names[] = { "ring.10",  "ring.9",       "ring.0",
					     "ring.01",  "ring.",        "ring.x",
					     "ring.-1",  "ring.1048576", "ring.4294967297",
					     "session.7" };
	struct session session;
	uint32_t *rings;
	int at;

	assert_int_equal(session_create(&session, parent, 1 << 20, ON_FULL_WAIT), 0);
	at = session_open_dir(&session);
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		close(openat(at, names[i], O_CREAT | O_WRONLY, 0600));
	assert_int_equal(session_list_rings(at, &rings), 3);
	assert_int_equal(rings[0], 0);
	assert_int_equal(rings[1], 9);
	assert_int_equal(rings[2], 10);
	free(rings);
	session_remove(&session);
	assert_int_equal(access(session.dir, F_OK), -1);
	assert_int_equal(session_list_rings(at, &rings), 0);
	close(at);
}

TEST(page_that_others_may_write_is_not_joined)
{
	struct session session, joined;
	char page[SESSION_PATH + 16];

	assert_int_equal(session_create(&session, parent, 1 << 20, ON_FULL_WAIT), 0);
	snprintf(page, sizeof(page), "%s/session", session.dir);
	assert_int_equal(chmod(page, 0602), 0);
	assert_int_equal(session_join(&joined, session.dir), -EACCES);
	session_remove(&session);
}

/* Each of them must end, or the test does not. */
TEST(who_comes_before_the_sleep_is_heard)
{
	struct session session = { 0 };

	assert_int_equal(session_create(&session, parent, 1 << 20, ON_FULL_WAIT), 0);
	session_will_sleep(&session);
	errno = EXDEV;
	session_wake(&session);
	assert_int_equal(errno, EXDEV);
	session_sleep(&session, 0);
	session_remove(&session);
}

TEST(sleeper_is_woken_by_another_process)
{
	struct session session = { 0 };
	pid_t pid;

	assert_int_equal(session_create(&session, parent, 1 << 20, ON_FULL_WAIT), 0);
	pid = fork();
	if (!pid) {
		for (int i = 0; i < 1000; i++) {
			while (!atomic_load(&session.page->asleep))
				sched_yield();
			session_wake(&session);
		}
		_exit(0);
	}
	for (int i = 0; i < 1000; i++) {
		session_will_sleep(&session);
		session_sleep(&session, 0);
	}
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	session_remove(&session);
}
