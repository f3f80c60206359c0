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
