/*
 * One run of a program under test, watched
 *
 * Its output goes through pipes: it is checked for terminal controls, and discarded. A run with
 * output continues; one that was silent for the limit, and busy all the time, hangs; so does one
 * that is idle for six times as long. A run with output for twice the limit is ended, and passes.
 */
#include "tests/fuzz/trial.h"

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

const char *const verdict_names[VERDICTS] = {
	"fine", "status", "crash", "report", "hang", "memory", "raw", "touch",
};

struct watch {
	struct trial *trial;
	pid_t pid;
	int pipes[2];       /* of its stdout and stderr */
	double begin, word; /* when it began, when it last printed something */
	int more[2];        /* bytes of a character of UTF-8 that are still to come */
	bool raw, cut;
};

static double read_clock(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

static void become_command(const struct trial *t, const int out[2], const int err[2])
{
	setpgid(0, 0);
	if (chdir(t->dir) || dup2(out[1], 1) < 0 || dup2(err[1], 2) < 0)
		_exit(125);
	close(0);
	open("/dev/null", O_RDONLY);
	for (char *const *e = t->env; e && *e; e += 2)
		setenv(e[0], e[1], 1);
	execv(t->argv[0], t->argv);
	_exit(125);
}

static int start_command(struct watch *w)
{
	int out[2], err[2];

	if (pipe2(out, O_CLOEXEC) || pipe2(err, O_CLOEXEC))
		return -1;
	w->pid = fork();
	if (!w->pid)
		become_command(w->trial, out, err);
	close(out[1]);
	close(err[1]);
	w->pipes[0] = out[0];
	w->pipes[1] = err[0];
	w->begin = w->word = read_clock();
	return w->pid < 0 ? -1 : 0;
}

/* Controls except tab and newline, C1 in UTF-8, or invalid UTF-8. */
static void look_at_output(struct watch *w, int which, const uint8_t *bytes, ssize_t n)
{
	static uint8_t before[2];

	for (ssize_t i = 0; i < n; i++) {
		uint8_t c = bytes[i];
		int *more = &w->more[which];

		if (*more) {
			if ((c & 0xc0) != 0x80 || (before[which] == 0xc2 && c < 0xa0))
				w->raw = true;
			--*more;
		} else if (c >= 0x80) {
			*more = c >= 0xf0 ? 3 : c >= 0xe0 ? 2 : 1;
			w->raw = w->raw || c < 0xc2 || c > 0xf4;
		} else if ((c < 0x20 && c != '\n' && c != '\t') || c == 0x7f) {
			w->raw = true;
		}
		before[which] = c;
	}
}

static void keep_end(char *said, const char *bytes, size_t n)
{
	size_t have = strlen(said), room = TRIAL_SAID - 1;

	if (n > room) {
		bytes += n - room;
		n = room;
	}
	if (have + n > room) {
		memmove(said, said + have + n - room, room - n);
		have = room - n;
	}
	memcpy(said + have, bytes, n);
	said[have + n] = '\0';
	for (char *c = said + have; c < said + have + n; c++)
		if (!*c)
			*c = '?';
}

/* False at the end of its output. */
static bool listen_to(struct watch *w, int which)
{
	uint8_t bytes[65536];
	ssize_t n = read(w->pipes[which], bytes, sizeof(bytes));

	if (n <= 0) {
		close(w->pipes[which]);
		w->pipes[which] = -1;
		return false;
	}
	w->word = read_clock();
	look_at_output(w, which, bytes, n);
	if (which)
		keep_end(w->trial->said, (char *)bytes, (size_t)n);
	return true;
}

static long read_resident(pid_t pid)
{
	char path[64], text[64] = "";
	long pages = 0;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/statm", pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0) {
		if (read(fd, text, sizeof(text) - 1) > 0)
			sscanf(text, "%*d %ld", &pages);
		close(fd);
	}
	return pages * 4;
}

/* Processor time of a process of the group @group; 0 for another. */
static double used_by(const char *name, pid_t group)
{
	char path[300], text[512] = "", *at;
	unsigned long user = 0, system = 0;
	int fd, pgrp = 0;

	snprintf(path, sizeof(path), "/proc/%s/stat", name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return 0;
	if (read(fd, text, sizeof(text) - 1) > 0 && (at = strrchr(text, ')')))
		sscanf(at + 1, " %*c %*d %d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu", &pgrp, &user,
		       &system);
	close(fd);
	return pgrp == group ? (double)(user + system) / (double)sysconf(_SC_CLK_TCK) : 0;
}

static double used_by_group(pid_t group)
{
	DIR *dir = opendir("/proc");
	double seconds = 0;

	for (struct dirent *e; dir && (e = readdir(dir));)
		if (e->d_name[0] >= '1' && e->d_name[0] <= '9')
			seconds += used_by(e->d_name, group);
	if (dir)
		closedir(dir);
	return seconds;
}

/* On a busy machine it gets little processor time, and may take longer. */
static bool is_hanging(const struct watch *w, double silent)
{
	double limit = w->trial->limit;

	return silent > 6 * limit || (silent > limit && used_by_group(w->pid) > limit * 0.9);
}

/* Is it time to end the trial? */
static bool is_enough(struct watch *w)
{
	struct trial *t = w->trial;
	double time = read_clock();

	if (read_resident(w->pid) > TRIAL_MEMORY + TRIAL_MEMORY / 4)
		t->verdict = VERDICT_MEMORY;
	else if (is_hanging(w, time - w->word))
		t->verdict = VERDICT_HANG;
	else if (time - w->begin > 2 * t->limit)
		w->cut = true;
	return t->verdict || w->cut;
}

static void attend_command(struct watch *w)
{
	struct trial *t = w->trial;
	bool killed = false;

	while (w->pipes[0] >= 0 || w->pipes[1] >= 0) {
		struct pollfd fds[] = { { w->pipes[0], POLLIN, 0 }, { w->pipes[1], POLLIN, 0 } };
		int busy = t->meanwhile && !killed && !t->meanwhile(t->arg);

		poll(fds, 2, busy ? 0 : 100);
		for (int i = 0; i < 2; i++)
			if (fds[i].revents)
				listen_to(w, i);
		if (!killed && is_enough(w))
			killed = !kill(-w->pid, SIGKILL);
	}
}

static bool is_report(const char *said)
{
	return strstr(said, "Sanitizer") || strstr(said, "runtime error:");
}

static void judge_end(struct watch *w, int status, const struct rusage *used)
{
	struct trial *t = w->trial;

	t->memory = used->ru_maxrss;
	t->seconds = read_clock() - w->begin;
	t->status = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
	if (strstr(t->said, "rss limit exhausted") || t->memory > TRIAL_MEMORY)
		t->verdict = VERDICT_MEMORY;
	if (t->verdict || w->cut)
		return;
	if (is_report(t->said))
		t->verdict = VERDICT_REPORT;
	else if (t->status >= 128 || strstr(t->said, "the replay was ended by"))
		t->verdict = VERDICT_CRASH;
	else if (t->status > 9 || !strchr(t->statuses, '0' + t->status) ||
		 ((t->status == 3 || t->status == 4) && !strstr(t->said, "verbatim: ")))
		t->verdict = VERDICT_STATUS;
	else if (w->raw)
		t->verdict = VERDICT_RAW;
}

void trial_run(struct trial *trial)
{
	struct watch w = { .trial = trial };
	struct rusage used;
	int status;

	trial->verdict = VERDICT_FINE;
	trial->said[0] = '\0';
	if (start_command(&w)) {
		perror("start a run");
		exit(1);
	}
	attend_command(&w);
	while (wait4(w.pid, &status, 0, &used) < 0)
		;
	kill(-w.pid, SIGKILL); /* its remaining files */
	judge_end(&w, status, &used);
}
