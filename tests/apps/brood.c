/*
 * Forks again and again, until SIGUSR1: children that end at once, and some that live for a while
 * and call verbs then
 *
 * Prints "ready", and at the end "all went well" if each child could register memory, and no
 * verb of the parent failed.
 */
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tests/apps/app.h"

enum { GOOD = 0, ELDERS = 8, PAUSE_US = 2000 };

static volatile sig_atomic_t over;
static char memory[4096];

static void end_work(int signal)
{
	(void)signal;
	over = 1;
}

/* A child opens the device for itself: its parent's objects are not its own. */
static int call_verbs(void)
{
	struct ibv_context *own = open_first_device();
	struct ibv_pd *pd = NEED(ibv_alloc_pd(own));
	struct ibv_mr *mr = NEED(ibv_reg_mr(pd, memory, sizeof(memory), IBV_ACCESS_LOCAL_WRITE));

	MUST(ibv_dereg_mr(mr));
	MUST(ibv_dealloc_pd(pd));
	MUST(ibv_close_device(own));
	return GOOD;
}

/* A child that waits for a byte of the pipe before it calls verbs; its other end in @ret_end. */
static pid_t fork_elder(int *ret_end)
{
	int ends[2];
	char unused;
	pid_t pid;

	MUST(pipe(ends));
	pid = fork();
	if (!pid) {
		close(ends[1]);
		while (read(ends[0], &unused, 1) < 0 && errno == EINTR)
			;
		_exit(call_verbs());
	}
	close(ends[0]);
	*ret_end = ends[1];
	return pid;
}

static void wake_elder(int end)
{
	MUST(write(end, "", 1) != 1);
	MUST(close(end));
}

static bool ended_well(pid_t pid)
{
	int status;

	while (waitpid(pid, &status, 0) < 0)
		if (errno != EINTR)
			return false;
	return WIFEXITED(status) && WEXITSTATUS(status) == GOOD;
}

int main(void)
{
	pid_t elders[ELDERS] = { 0 }, pid;
	int ends[ELDERS];
	bool good = true;

	signal(SIGUSR1, end_work);
	puts("ready");
	fflush(stdout);
	for (unsigned int i = 0; !over; i++) {
		unsigned int elder = i % ELDERS;

		good &= call_verbs() == GOOD;
		pid = fork();
		if (!pid)
			_exit(call_verbs());
		good &= ended_well(pid);
		if (elders[elder]) {
			wake_elder(ends[elder]);
			good &= ended_well(elders[elder]);
		}
		elders[elder] = fork_elder(&ends[elder]);
		usleep(PAUSE_US);
	}
	for (int i = 0; i < ELDERS; i++)
		if (elders[i]) {
			wake_elder(ends[i]);
			good &= ended_well(elders[i]);
		}
	if (good)
		puts("all went well");
	return !good;
}
