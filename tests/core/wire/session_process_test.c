/*
 * Which processes are alive
 */
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/wire/session.h"
#include "tests/test.h"

enum { NOBODY = 0x3ffffff0 }; /* above the highest number of a process */

static void *wait_forever(void *arg)
{
	pause();
	return arg;
}

static void end_at_once(void)
{
	_exit(0);
}

/* The leader ends, and its thread goes on. */
static void leave_thread(void)
{
	pthread_t thread;

	pthread_create(&thread, NULL, wait_forever, NULL);
	pthread_exit(NULL);
}

static void run_on(void)
{
	pause();
}

/* A child that has reached its state; it is not waited for. */
static pid_t make_child(void (*body)(void), bool ends)
{
	siginfo_t info;
	pid_t pid = fork();

	if (!pid) {
		body();
		_exit(0);
	}
	if (ends)
		assert_int_equal(waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT), 0);
	return pid;
}

static void end_child(pid_t pid)
{
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
}

TEST(a_process_is_known_by_its_start)
{
	uint64_t start = session_process_start(getpid());

	assert_true(start > 0);
	assert_true(session_process_alive(getpid(), start));
	assert_true(session_process_alive(getpid(), 0));
	assert_false(session_process_alive(getpid(), start + 1));
	assert_false(session_process_alive(NOBODY, 0));
	assert_int_equal(session_process_start(NOBODY), 0);
	assert_int_equal(session_process_time(NOBODY), 0);
}

TEST(zombies_are_not_alive)
{
	pid_t pid = make_child(end_at_once, true);

	assert_false(session_process_alive(pid, 0));
	assert_false(session_process_alive(pid, session_process_start(pid)));
	end_child(pid);
	assert_false(session_process_alive(pid, 0));
}

/* State of a process: 'Z', once its leader has left. */
static char state_of(pid_t pid)
{
	char path[64], text[512] = "";
	FILE *file;

	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	file = fopen(path, "r");
	assert_non_null(file);
	assert_true(fread(text, 1, sizeof(text) - 1, file) > 0);
	fclose(file);
	return strrchr(text, ')')[2];
}

TEST(threads_without_their_leader_are_alive)
{
	pid_t pid = make_child(leave_thread, false);

	while (state_of(pid) != 'Z')
		sched_yield();
	assert_true(session_process_alive(pid, 0));
	end_child(pid);
}

TEST(time_of_the_processor_is_counted)
{
	uint64_t before = session_process_time(getpid());

	while (session_process_time(getpid()) == before)
		;
	assert_true(session_process_time(getpid()) - before < 100);
}

TEST(a_collector_or_its_standby_is_alive)
{
	static struct session_page page;
	pid_t standby = make_child(run_on, false);

	assert_false(session_has_collector(&page));
	page.standby = (uint32_t)standby;
	assert_false(session_has_collector(&page));
	page.collector = (uint32_t)getpid();
	page.collector_start = session_process_start(getpid());
	assert_true(session_has_collector(&page));
	page.collector_start++;
	assert_true(session_has_collector(&page));
	page.standby = 0;
	assert_false(session_has_collector(&page));
	page.standby = (uint32_t)standby;
	page.collector = NOBODY;
	assert_true(session_has_collector(&page));
	end_child(standby);
	assert_false(session_has_collector(&page));
}

static void add_filters(int n)
{
	struct sock_filter code[] = { BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW) };
	struct sock_fprog program = { 1, code };

	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	while (n--)
		prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program);
}

/* How many filters there are in a child that adds @n; 99: their number is not known. */
static int count_filters(int n)
{
	int status;
	pid_t pid = fork();

	if (!pid) {
		add_filters(n);
		_exit(session_filters() == UINT32_MAX ? 99 : (int)session_filters());
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WEXITSTATUS(status);
}

TEST(filters_of_system_calls_are_counted)
{
	int here = (int)session_filters();

	assert_int_equal(count_filters(0), here);
	if (count_filters(1) == 99)
		return; /* before Linux 5.9 */
	assert_int_equal(count_filters(1), here + 1);
	assert_int_equal(count_filters(3), here + 3);
}
