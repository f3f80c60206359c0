/*
 * Work in a child process, on input that may crash a library
 *
 * 	parent                      child
 * 	reads the child's output    limits, @work, _exit()
 * 	prints our lines of it      (assertions of libraries may print anything)
 *
 * Untrusted input makes libraries divide by zero, abort, allocate all memory, or never end. In a
 * child each of these is only an exit status.
 *
 * The limit is processor time, so that a busy machine ends no child.
 */
#include "cli/import/confined.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/printable.h"

#define OURS "verbatim: "

enum { LINE = 8192 };

static volatile sig_atomic_t went_on;

void confined_note_progress(void)
{
	went_on = 1;
}

static void check_time(int signal)
{
	(void)signal;
	if (!went_on)
		raise(SIGXCPU);
	went_on = 0;
}

static void watch_time(unsigned int seconds)
{
	const struct itimerval every = { { seconds, 0 }, { seconds, 0 } };

	signal(SIGXCPU, SIG_DFL);
	signal(SIGPROF, seconds ? check_time : SIG_IGN);
	setitimer(ITIMER_PROF, &every, NULL);
}

void confined_disable_timer(void)
{
	watch_time(0);
}

static void limit_resource(int resource, uint64_t most)
{
	struct rlimit limit;

	if (getrlimit(resource, &limit) || limit.rlim_cur <= most)
		return;
	limit.rlim_cur = most;
	setrlimit(resource, &limit);
}

/* The parent has handlers for these signals; in the child the signals must end the process. */
static void forget_handlers(void)
{
	static const int fatal[] = { SIGABRT, SIGBUS, SIGFPE, SIGILL, SIGSEGV, SIGSYS, SIGTRAP };

	for (size_t i = 0; i < sizeof(fatal) / sizeof(*fatal); i++)
		signal(fatal[i], SIG_DFL);
}

/* Never returns. */
static void work_in_child(int (*work)(void *arg), void *arg, const struct confined_limits *limits,
			  pid_t parent, int says)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent || dup2(says, STDERR_FILENO) < 0)
		_exit(0);
	forget_handlers();
	limit_resource(RLIMIT_CORE, 0);
/* the sanitizers need more memory */
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
	limit_resource(RLIMIT_DATA, limits->bytes);
#endif
	watch_time(limits->seconds);
	_exit(work(arg));
}

/*
 * Print a line of log.h, which is written at once, so lines do not mix. Names in such lines are
 * printable; lines of libraries that look like ours may not be.
 */
static void report_line(const char *line)
{
	char text[PRINTABLE_GROWS * LINE + 1];
	size_t n;

	if (strncmp(line, OURS, strlen(OURS)))
		return;
	n = printable_lines(text, sizeof(text), line, strlen(line));
	if (write(STDERR_FILENO, text, n) < 0)
		return; /* there is no way to report the failure */
}

static void forward_output(int says)
{
	FILE *file = fdopen(says, "r");
	char line[LINE];
	bool begins = true;

	while (file && fgets(line, sizeof(line), file)) {
		if (begins)
			report_line(line);
		begins = line[strlen(line) - 1] == '\n';
	}
	if (file)
		fclose(file);
	else
		close(says);
}

int confined_run(int (*work)(void *arg), void *arg, const struct confined_limits *limits,
		 int *ret_signal)
{
	pid_t parent = getpid(), child;
	int says[2], status;

	*ret_signal = 0;
	if (pipe2(says, O_CLOEXEC))
		return -errno;
	child = fork();
	if (!child)
		work_in_child(work, arg, limits, parent, says[1]);
	close(says[1]);
	if (child < 0) {
		close(says[0]);
		return -EAGAIN;
	}
	forward_output(says[0]);
	while (waitpid(child, &status, 0) < 0)
		if (errno != EINTR)
			return -errno;
	if (WIFEXITED(status))
		return WEXITSTATUS(status);
	*ret_signal = WTERMSIG(status);
	return -ECHILD;
}

void *confined_share(uint64_t bytes)
{
	void *at = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	return at == MAP_FAILED ? NULL : at;
}
