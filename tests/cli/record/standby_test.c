#include "cli/record/standby.h"

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/test.h"

static struct session_page page;

/* What a recorder does: each byte in the pipe is a commit; it is killed after the @last. */
static void record_until(int fd, char last)
{
	struct standby standby;

	assert_int_equal(standby_init(&standby, &page), 0);
	for (char commit = 1; commit <= last + 1; commit++) {
		standby_renew(&standby);
		if (commit == last && !standby.takeovers)
			kill(getpid(), SIGKILL);
		assert_int_equal(write(fd, &commit, 1), 1);
	}
	standby_dismiss(&standby);
	_exit(standby.takeovers);
}

TEST(another_process_goes_on_where_the_recorder_was_killed)
{
	int fds[2];
	char byte;
	pid_t pid;

	assert_int_equal(pipe(fds), 0);
	pid = fork();
	if (!pid)
		record_until(fds[1], 3);
	close(fds[1]);
	for (char commit = 1; commit <= 4; commit++) {
		assert_int_equal(read(fds[0], &byte, 1), 1);
		assert_int_equal(byte, commit);
	}
	assert_int_equal(read(fds[0], &byte, 1), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	close(fds[0]);
}

static int taken[2];

static void note_signal(int signal)
{
	char byte = (char)signal;

	assert_int_equal(write(taken[1], &byte, 1), 1);
}

/* Does it wait for the end of the recorder? */
static void await_standby(pid_t pid)
{
	char path[64], text[512], *state;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	do {
		FILE *file = fopen(path, "r");

		assert_non_null(file);
		memset(text, 0, sizeof(text));
		assert_true(fread(text, 1, sizeof(text) - 1, file) > 0);
		fclose(file);
		state = strrchr(text, ')');
		assert_int_not_equal(state[2], 'Z');
	} while (!strstr(text, "(standby)") || state[2] != 'S');
}

TEST(a_signal_does_not_make_it_take_over)
{
	struct sigaction take = { .sa_handler = note_signal }, before;
	struct standby standby;
	char byte;

	assert_int_equal(pipe(taken), 0);
	assert_int_equal(sigaction(SIGUSR1, &take, &before), 0);
	assert_int_equal(standby_init(&standby, &page), 0);
	standby_renew(&standby);
	if (standby.takeovers)
		_exit(1); /* it did */
	await_standby(standby.pid);
	kill(standby.pid, SIGUSR1);
	assert_int_equal(read(taken[0], &byte, 1), 1);
	await_standby(standby.pid);
	assert_int_equal(page.standby, standby.pid);
	assert_int_equal(*standby.owner, getpid());
	standby_dismiss(&standby);
	assert_int_equal(sigaction(SIGUSR1, &before, NULL), 0);
}

TEST(nobody_goes_on_after_a_dismissal)
{
	struct standby standby;

	assert_int_equal(standby_init(&standby, &page), 0);
	standby_renew(&standby);
	assert_int_not_equal(page.standby, 0);
	standby_dismiss(&standby);
	assert_int_equal(page.standby, 0);
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
}

TEST(dismiss_accepts_none)
{
	standby_dismiss(&(struct standby){ 0 });
}
