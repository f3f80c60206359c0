/*
 * One replay of a suite
 *
 * Its output goes to files without a name, so that a killed suite leaves nothing behind; the replay
 * ends with the suite.
 */
#include "cli/replay/suite_run.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/cli.h"
#include "core/base/json_tree.h"
#include "core/base/read_file.h"
#include "core/wire/clock.h"
#include "core/wire/log.h"

enum { WHY_LINES = 5 }; /* lines of the reason that are stored for a replay */

static void run_child(const struct suite_run *run, char *const *again, const sigset_t *mask,
		      pid_t parent)
{
	int report = dup(run->report), null = open("/dev/null", O_RDWR | O_CLOEXEC);
	char to[32];
	size_t n = 0, m;

	while (again[n])
		n++;
	char *argv[n + 9];

	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (report < 0 || null < 0 || getppid() != parent || setenv(SUITE_ENV, "1", 1))
		_exit(CLI_ENVIRONMENT);
	snprintf(to, sizeof(to), "/dev/fd/%d", report);
	memcpy(argv, again, n * sizeof(*argv));
	m = n;
	if (run->device) {
		argv[m++] = (char *)"--device";
		argv[m++] = (char *)run->device;
	}
	argv[m++] = (char *)"--format=text";
	argv[m++] = (char *)"--report";
	argv[m++] = to;
	argv[m++] = (char *)"--";
	argv[m++] = (char *)run->path;
	argv[m] = NULL;
	dup2(null, STDIN_FILENO);
	dup2(null, STDOUT_FILENO);
	dup2(run->messages, STDERR_FILENO);
	sigprocmask(SIG_SETMASK, mask, NULL);
	execv("/proc/self/exe", argv);
	_exit(CLI_ENVIRONMENT);
}

int suite_run_start(struct suite_run *run, char *const *again, const sigset_t *mask)
{
	pid_t parent = getpid();

	run->report = memfd_create("report", MFD_CLOEXEC);
	run->messages = memfd_create("messages", MFD_CLOEXEC);
	if (run->report < 0 || run->messages < 0)
		return log_err(-errno, "make a file for a report");
	fflush(NULL);
	run->began = clock_monotonic();
	run->pid = fork();
	if (!run->pid)
		run_child(run, again, mask, parent);
	if (run->pid < 0) {
		run->pid = 0;
		return log_err(-errno, "start a replay");
	}
	return 0;
}

static int read_fd(int fd, char **ret_text, size_t *ret_n)
{
	char path[32];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	return read_file(path, ret_text, ret_n);
}

static const struct json_node *find_member(const struct json_node *node, const char *name)
{
	return node ? json_find_member(node, name, strlen(name)) : NULL;
}

static int64_t number_of(const struct json_node *node, const char *name)
{
	const struct json_node *member = find_member(node, name);

	return member && member->kind == JSON_INT ? member->number : 0;
}

static const char *text_of(const struct json_node *node, const char *name)
{
	const struct json_node *member = find_member(node, name);

	return member && member->kind == JSON_TEXT ? member->text : "?";
}

static void add_divergences(struct suite_run *run, const struct json_node *report)
{
	const struct json_node *d = json_first(find_member(report, "divergence"));

	for (int i = 0; d && i < WHY_LINES; i++, d = json_next(d))
		text_addf(&run->why, "%s %s: %s: recorded %s, replayed %s\n", text_of(d, "event"),
			  text_of(d, "verb"), text_of(d, "field"), text_of(d, "recorded"),
			  text_of(d, "replayed"));
	if (d)
		text_addf(&run->why, "and others\n");
}

static void add_left_out(struct suite_run *run, const struct json_node *report)
{
	const struct json_node *s = json_first(find_member(report, "skipped"));
	const struct json_node *l = json_first(find_member(report, "lacking"));

	for (int i = 0; s && i < WHY_LINES; i++, s = json_next(s))
		text_addf(&run->why, "left out: %" PRId64 " x %s, first at %s: %s\n",
			  number_of(s, "count"), text_of(s, "verb"), text_of(s, "first"),
			  text_of(s, "why"));
	for (; l; l = json_next(l))
		if (l->kind == JSON_TEXT)
			text_addf(&run->why, "%s\n", l->text);
}

/* Divergences that a line of --tolerate allows, and that do not count. Returns their number. */
static int64_t add_tolerated(struct suite_run *run, const struct json_node *report)
{
	const struct json_node *t = json_first(find_member(report, "tolerated_by"));
	int64_t n = 0;

	for (; t; t = json_next(t)) {
		int64_t count = number_of(t, "count"), more = number_of(t, "consequences");

		n += count;
		if (count && more)
			text_addf(&run->why,
				  "tolerated by line %" PRId64 ": %" PRId64 " x %s; %" PRId64
				  " consequence%s\n",
				  number_of(t, "line"), count, text_of(t, "reason"), more,
				  more == 1 ? "" : "s");
		else if (count)
			text_addf(&run->why, "tolerated by line %" PRId64 ": %" PRId64 " x %s\n",
				  number_of(t, "line"), count, text_of(t, "reason"));
	}
	return n;
}

static void append_cell(struct suite_run *run, int64_t tolerated)
{
	size_t used = strlen(run->cell);

	if (tolerated)
		snprintf(run->cell + used, sizeof(run->cell) - used, ", %" PRId64 " tolerated",
			 tolerated);
}

/* The last message of a replay that did not begin. */
static void add_message(struct suite_run *run)
{
	static const char ours[] = "verbatim: replay: ";
	char *text = NULL, *save = NULL, *last = NULL;
	size_t n;

	if (read_fd(run->messages, &text, &n))
		return;
	for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save))
		last = line;
	if (last)
		text_addf(&run->why, "%s\n",
			  strncmp(last, ours, strlen(ours)) ? last : last + strlen(ours));
	free(text);
}

static void read_report(struct suite_run *run, const struct json_node *report)
{
	int64_t divergences = number_of(report, "divergences"), tolerated;
	const struct json_node *whole = find_member(report, "whole");

	add_divergences(run, report);
	add_left_out(run, report);
	tolerated = add_tolerated(run, report);
	if (divergences) {
		run->kind = SUITE_DIFFERS;
		snprintf(run->cell, sizeof(run->cell), "%" PRId64 " divergence%s", divergences,
			 divergences == 1 ? "" : "s");
	} else if (run->status > CLI_FINDINGS || run->status < 0) {
		run->kind = SUITE_FAILED;
		snprintf(run->cell, sizeof(run->cell), "not completed");
		if (find_member(report, "partial"))
			text_addf(&run->why, "%s\n", text_of(report, "partial"));
		else
			add_message(run);
	} else if (!whole || whole->kind != JSON_BOOL || !whole->number) {
		run->kind = SUITE_LEFT_OUT;
		snprintf(run->cell, sizeof(run->cell), "in part");
	} else {
		run->kind = SUITE_SAME;
		snprintf(run->cell, sizeof(run->cell), "as recorded");
	}
	append_cell(run, tolerated);
}

/* Judge a replay that did not begin by its messages. */
static void read_messages(struct suite_run *run)
{
	add_message(run);
	run->kind = run->status == CLI_ENVIRONMENT && run->why.at && strstr(run->why.at, " lacks;")
			    ? SUITE_LACKS
			    : SUITE_FAILED;
	snprintf(run->cell, sizeof(run->cell), "%s",
		 run->kind == SUITE_LACKS ? "lacks it" : "not replayed");
}

int suite_run_end(struct suite_run *run, int status)
{
	struct json_node *report;
	char *text = NULL;
	size_t n;
	int err = read_fd(run->report, &text, &n);

	run->pid = 0;
	run->lasted = clock_monotonic() - run->began;
	run->status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
	if (err)
		return log_err(err, "read the report of %s", run->path);
	if (n && !json_parse(text, n, &report)) {
		read_report(run, report);
		free(report);
	} else {
		read_messages(run);
	}
	if (!WIFEXITED(status))
		text_addf(&run->why, "ended by signal %d (%s)\n", WTERMSIG(status),
			  strsignal(WTERMSIG(status)));
	free(text);
	close(run->report);
	close(run->messages);
	return run->why.failed ? log_err(-ENOMEM, "read the report of %s", run->path) : 0;
}

int suite_run_leave(struct suite_run *run)
{
	run->kind = SUITE_FAILED;
	run->status = -1;
	run->lasted = clock_monotonic() - run->began;
	snprintf(run->cell, sizeof(run->cell), "does not terminate");
	text_addf(&run->why, "process %d waits in the kernel and does not react to SIGKILL\n",
		  (int)run->pid);
	run->pid = 0;
	close(run->report);
	close(run->messages);
	return run->why.failed ? log_err(-ENOMEM, "note that the replay of %s hangs", run->path)
			       : 0;
}

void suite_run_fini(struct suite_run *run)
{
	text_fini(&run->why);
}
