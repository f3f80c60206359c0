#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/wire/session.h"

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
		syscall(SYS_exit, 0); /* of this thread alone */
	}
	while (process_state(pid) != 'Z')
		sched_yield();
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
