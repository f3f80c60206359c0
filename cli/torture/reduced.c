/*
 * Reduced traces of failures that were not handled
 *
 * verbatim reduce removes what a finding does not need from a trace. It replays parts, so it can
 * reproduce findings of check, but no crash or hang of the program, which does not run.
 */
#include "cli/torture/reduced.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "core/wire/clock.h"

enum { PATH = 512 };
#define GRACE_NS 30000000000ull /* additional time, for trying the whole trace once */

bool reduced_find_rule(const char *says, char rule[16])
{
	const char *at = says, *end;

	do {
		size_t n = strspn(at, "ABCDEFGHIJKLMNOPQRSTUVWXYZ");

		end = at + n;
		if (n > 1 && n < 11 && *end == '-' && strspn(end + 1, "0123456789") == 3 &&
		    end[4] == ' ') {
			snprintf(rule, 16, "%.*s", (int)n + 4, at);
			return true;
		}
		at = strstr(at, "; ");
	} while (at && (at += 2));
	return false;
}

static void run_reduce(const char *rule, const char *limit, const char *from, const char *to,
		       int out)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	setpgid(0, 0);
	dup2(out, STDOUT_FILENO);
	dup2(out, STDERR_FILENO);
	execl("/proc/self/exe", "verbatim", "reduce", "--keep", rule, "--deadline", limit, "-o", to,
	      from, NULL);
	_exit(126);
}

/* The status of @child as from waitpid(); -ETIME: it took too long. */
static int await_child(pid_t child, uint64_t end, const volatile sig_atomic_t *stopped)
{
	int status;

	while (!waitpid(child, &status, WNOHANG)) {
		if (clock_monotonic() > end || *stopped) {
			kill(-child, SIGKILL);
			waitpid(child, &status, 0);
			return -ETIME;
		}
		nanosleep(&(struct timespec){ .tv_nsec = 5000000 }, NULL);
	}
	return status;
}

/* "DIR/4.reduced.db: 9 of 31 events, 3 of 4 objects reproduce ...", or the reason why not. */
static void read_line(int out, char *line, size_t size)
{
	char text[2048];
	ssize_t n = pread(out, text, sizeof(text) - 1, 0);
	const char *at = text;

	text[n > 0 ? n : 0] = '\0';
	if (!strncmp(at, "verbatim: ", 10))
		at += 10;
	snprintf(line, size, "%.*s", (int)strcspn(at, "\n"), at);
}

static void reduce_trace(struct results *results, struct result *result, const char *rule,
			 uint64_t ns, const volatile sig_atomic_t *stopped)
{
	char from[PATH], to[PATH + 16], limit[32], line[sizeof(result->reduced)];
	int out = open("/dev/shm", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600), status;
	pid_t child;

	result_trace(results, result, from, sizeof(from));
	snprintf(to, sizeof(to), "%.*s.reduced.db", (int)strlen(from) - 3, from);
	snprintf(limit, sizeof(limit), "%" PRIu64 "ns", ns);
	fflush(NULL);
	child = out < 0 ? -1 : fork();
	if (!child)
		run_reduce(rule, limit, from, to, out);
	status =
		child < 0 ? -errno : await_child(child, clock_monotonic() + ns + GRACE_NS, stopped);
	if (out >= 0)
		read_line(out, line, sizeof(line));
	if (child < 0)
		snprintf(line, sizeof(line), "not reduced: %s", strerror(-status));
	else if (status == -ETIME)
		snprintf(line, sizeof(line), "not reduced: it took too long");
	else if (!status)
		strcpy(result->reduced, line);
	if (!*result->reduced)
		snprintf(result->reduced, sizeof(result->reduced), "%s%.180s",
			 strncmp(line, "not reduced", 11) ? "not reduced: " : "", line);
	if (out >= 0)
		close(out);
}

void reduced_make(struct results *results, uint64_t ns, const volatile sig_atomic_t *stopped)
{
	char rule[16];

	for (size_t i = 0; i < results->n && !*stopped; i++) {
		struct result *result = &results->all[i];

		if (!result_is_bad(result) || result->known || results_is_repeat(results, i))
			continue;
		if (reduced_find_rule(result->judgement.says, rule))
			reduce_trace(results, result, rule, ns, stopped);
		else
			strcpy(result->reduced,
			       "not reduced: no finding of check, and a replay does "
			       "not run the program");
	}
}
