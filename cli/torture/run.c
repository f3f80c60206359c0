/*
 * Runs of the program under test
 *
 * All processes of a run that does not end in time get SIGTERM: the recorder completes the trace,
 * which shows what each of them waited for. Five seconds later the remaining processes are killed.
 */
#include "cli/torture/run.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/base/text.h"
#include "core/faults/file.h"
#include "core/wire/clock.h"
#include "core/wire/log.h"

#define GRACE_NS 5000000000ull
#define GROUP_NS 200000000ull

enum { OWN_ARGUMENTS = 12 };

const char *run_file(const struct run *run, const char *name, char path[RUN_PATH + 16])
{
	snprintf(path, RUN_PATH + 16, "%s/%s", run->folder, name);
	return path;
}

/* @argument with the port for "%p"; NULL if out of memory. */
static char *expand_argument(const char *argument, unsigned int port)
{
	struct text text = { 0 };

	text_add(&text, "", 0);
	for (const char *at = argument; *at; at++)
		if (at[0] == '%' && at[1] == 'p') {
			text_addf(&text, "%u", port);
			at++;
		} else {
			text_char(&text, *at);
		}
	return text.failed ? NULL : text.at ?: strdup("");
}

/* Make the command that records @program. In the child, so nothing is freed. */
static char **make_command(const struct run *run, char *const *program, bool faults)
{
	static char trace[RUN_PATH + 16], rules[RUN_PATH + 16];
	char *const own[] = { "verbatim", "record",   "-q",
			      "--strict", "--device", (char *)(uintptr_t)run->device,
			      "-o",       trace };
	size_t n = 0, nown = sizeof(own) / sizeof(*own);
	char **command;

	while (program[n])
		n++;
	run_file(run, "trace.db", trace);
	command = calloc(n + OWN_ARGUMENTS, sizeof(*command));
	if (!command)
		return NULL;
	memcpy(command, own, sizeof(own));
	if (faults && run->by_recorder) {
		command[nown++] = "--faults";
		command[nown++] = (char *)(uintptr_t)run_file(run, "faults", rules);
	}
	command[nown++] = "--";
	for (size_t i = 0; i < n; i++) {
		command[nown + i] = expand_argument(program[i], run->port);
		if (!command[nown + i])
			return NULL;
	}
	return command;
}

static void redirect_output(const struct run *run, const char *name, int to)
{
	char path[RUN_PATH + 16];
	int fd = open(run_file(run, name, path), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	if (fd < 0 || dup2(fd, to) < 0)
		_exit(126);
}

/*
 * glibc does not overwrite freed memory that is in a thread's cache, so the caches are disabled.
 * Values that the user has set remain.
 */
static int perturb_memory(void)
{
	return setenv("MALLOC_PERTURB_", "165", 0) ||
	       setenv("GLIBC_TUNABLES", "glibc.malloc.tcache_count=0", 0);
}

static void run_child(const struct run *run, char *const *program, bool faults, pid_t parent)
{
	char path[RUN_PATH + 16], **command = make_command(run, program, faults);
	int null = open("/dev/null", O_RDONLY | O_CLOEXEC);

	setpgid(0, 0);
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (!command || null < 0 || getppid() != parent)
		_exit(126);
	unsetenv("VERBATIM_SOFT_FAULTS");
	unsetenv(FAULTS_ENV);
	if ((faults && !run->by_recorder &&
	     setenv("VERBATIM_SOFT_FAULTS", run_file(run, "faults", path), 1)) ||
	    setenv("VERBATIM_SOFT_FABRIC", run->fabric, 1) ||
	    setenv("TMPDIR", run_file(run, "tmp", path), 1) || (run->perturbed && perturb_memory()))
		_exit(126);
	dup2(null, STDIN_FILENO);
	redirect_output(run, "out", STDOUT_FILENO);
	redirect_output(run, "err", STDERR_FILENO);
	execv("/proc/self/exe", command);
	_exit(126);
}

/*
 * Make a fabric that remains when all processes have left: consecutive processes of a script then
 * get different numbers.
 */
static int make_fabric(const struct run *run)
{
	char path[RUN_PATH + 16];
	int fd;

	snprintf(path, sizeof(path), "%s/keep", run->fabric);
	if (mkdir(run->fabric, 0700) && errno != EEXIST)
		return log_err(-errno, "create %s", run->fabric);
	fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0)
		return log_err(-errno, "create %s", path);
	close(fd);
	return 0;
}

static int write_rule(const struct run *run, const char *rule)
{
	char path[RUN_PATH + 16];
	FILE *file = fopen(run_file(run, "faults", path), "we");
	int err = !file || fprintf(file, "%s\n", rule) < 0 ? -errno : 0;

	if (file && fclose(file) && !err)
		err = -errno;
	return err ? log_err(err, "write %s", path) : 0;
}

int run_start(struct run *run, char *const *program, const char *rule, uint64_t ns)
{
	char path[RUN_PATH + 16];
	pid_t parent = getpid();
	int err;

	if ((mkdir(run->folder, 0700) && errno != EEXIST) ||
	    (mkdir(run_file(run, "tmp", path), 0700) && errno != EEXIST))
		return log_err(-errno, "create %s", run->folder);
	err = make_fabric(run);
	if (!err && rule)
		err = write_rule(run, rule);
	if (err)
		return err;
	run->begin = clock_monotonic();
	run->end = run->begin + ns;
	run->late = false;
	fflush(NULL);
	run->pid = fork();
	if (!run->pid)
		run_child(run, program, rule, parent);
	if (run->pid < 0) {
		run->pid = 0;
		return log_err(-errno, "start the program");
	}
	setpgid(run->pid, run->pid);
	return 0;
}

/* The run is late: ask it to end, later force it. */
static void end_if_late(struct run *run)
{
	uint64_t now = clock_monotonic();

	if (now < run->end)
		return;
	kill(-run->pid, run->late ? SIGKILL : SIGTERM);
	run->late = true;
	run->end = now + GRACE_NS;
}

/*
 * Kill processes that a run may have left, and wait for their end: a process forked by its recorder
 * may still have the trace open. A zombie that is never reaped does not.
 */
static void end_group(pid_t group)
{
	uint64_t end = clock_monotonic() + GROUP_NS;

	while (!kill(-group, SIGKILL) && clock_monotonic() < end)
		nanosleep(&(struct timespec){ .tv_nsec = 1000000 }, NULL);
}

int run_poll(struct run *run, struct run_end *ret_end)
{
	int status;
	pid_t ended = waitpid(run->pid, &status, WNOHANG);

	if (ended < 0 && errno != EINTR)
		return log_err(-errno, "wait for the program");
	if (ended <= 0) {
		end_if_late(run);
		return 0;
	}
	*ret_end = (struct run_end){ .late = run->late, .took = clock_monotonic() - run->begin };
	end_group(run->pid);
	run->pid = 0;
	ret_end->status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
	return 1;
}

void run_stop(struct run *run)
{
	if (!run->pid)
		return;
	kill(-run->pid, SIGKILL);
	while (waitpid(run->pid, NULL, 0) < 0 && errno == EINTR)
		;
	run->pid = 0;
}

static int remove_one(const char *path, const struct stat *stat, int type, struct FTW *walk)
{
	(void)stat, (void)type, (void)walk;
	remove(path);
	return 0;
}

void run_remove(const struct run *run)
{
	nftw(run->folder, remove_one, 16, FTW_DEPTH | FTW_PHYS);
	nftw(run->fabric, remove_one, 16, FTW_DEPTH | FTW_PHYS);
}
