#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/wire/session.h"

static int report;

static void *outlive_leader(void *leader)
{
	pthread_join(*(pthread_t *)leader, NULL);
	if (write(report, "x", 1) == 1)
		pause();
	return NULL;
}

/* A process whose first thread has ended while another lives. */
static pid_t start_leaderless(void)
{
	int fds[2];
	char byte;
	pid_t pid;

	assert_int_equal(pipe(fds), 0);
	pid = fork();
	if (!pid) {
		static pthread_t leader;
		pthread_t other;

		report = fds[1];
		leader = pthread_self();
		pthread_create(&other, NULL, outlive_leader, &leader);
		pthread_exit(NULL);
	}
	assert_int_equal(read(fds[0], &byte, 1), 1);
	return pid;
}

static void process_without_its_leader_is_alive(void **state)
{
	pid_t pid = start_leaderless();

	(void)state;
	assert_true(session_process_alive(pid, 0));
	assert_true(session_process_alive(pid, session_process_start(pid)));
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	assert_false(session_process_alive(pid, 0));
}

static void zombie_is_not_alive(void **state)
{
	siginfo_t info;
	pid_t pid = fork();

	(void)state;
	if (!pid)
		_exit(0);
	waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT);
	assert_false(session_process_alive(pid, 0));
	waitpid(pid, NULL, 0);
}

static void pid_with_another_start_is_not_alive(void **state)
{
	(void)state;
	assert_true(session_process_alive(getpid(), session_process_start(getpid())));
	assert_false(session_process_alive(getpid(), session_process_start(getpid()) + 1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(process_without_its_leader_is_alive),
		cmocka_unit_test(zombie_is_not_alive),
		cmocka_unit_test(pid_with_another_start_is_not_alive),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
