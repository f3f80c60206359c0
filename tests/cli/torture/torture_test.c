/*
 * Whole tortures, in which this program takes the recorder's place: torture_test.txt
 *
 * It is started as `record ... -o RUN/trace.db -- PROGRAM`, records nothing, and leaves a trace of
 * tests/conformance there. The runs without a failure end well; what it does in run N is a row of
 * behaviours[].
 */
#define TEST_MAIN
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define RUN_ANEW
#include "tests/cli/run.h"

#define TRACES_ENV "TORTURE_TEST_TRACES"

static const struct behaviour {
	const char *trace, *out, *err;
	int status;
	int signal; /* that ends it */
	bool hangs;
} behaviours[] = {
	{ "refused.db", "sent 17\n", "", 0, 0, false },
	{ "refused.db", "", "it failed\n", 1, 0, false },
	{ "refused.db", "", "", 0, SIGSEGV, false },
	{ NULL, "sent 17\n", "", 0, 0, false },
	{ "rc.db", "sent nothing\n", "", 0, 0, false },
	{ "errors.db", "", "x.c:7: Assertion `n' failed.\n", 0, SIGABRT, false },
	{ "errors.db", "", "==1==ERROR: AddressSanitizer: heap-use-after-free\n", 1, 0, false },
	{ "first_error.db", "", "", 3, 0, false },
};

static const struct behaviour well = { "refused.db", "sent 17\n", "", 0, 0, false },
			      hanging = { "refused.db", "", "", 0, 0, true },
			      hanging_early = { NULL, "", "", 0, 0, true };

/* What the run in the folder of @path does. */
static const struct behaviour *choose_behaviour(const char *path, char *const *words)
{
	const char *end = strrchr(path, '/'), *name = end;
	unsigned int n;

	while (name[-1] != '/')
		name--;
	n = (unsigned int)strtoul(name, NULL, 10);
	if (!n)
		return &well;
	if (words[1] && !strcmp(words[1], "hang"))
		return n % 2 ? &hanging : &hanging_early;
	return &behaviours[n % (sizeof(behaviours) / sizeof(*behaviours))];
}

static void leave_trace(const char *name, const char *path)
{
	char from[PATH_MAX];

	snprintf(from, sizeof(from), "%s/%s", getenv(TRACES_ENV), name);
	if (symlink(from, path))
		perror(path);
}

/* The arguments and the rule of the run, in the order of the runs if there is one at a time. */
static void note_run(char *const *argv, const char *path)
{
	const char *rules = getenv("VERBATIM_SOFT_FAULTS"), *slash = strrchr(path, '/');
	FILE *to = fopen(getenv("TORTURE_TEST_LOG"), "a"), *from = rules ? fopen(rules, "r") : NULL;
	char rule[512] = "";

	if (from && !fgets(rule, sizeof(rule), from))
		rule[0] = '\0';
	rule[strcspn(rule, "\n")] = '\0';
	for (; *argv; argv++) {
		const char *inside = strncmp(*argv, path, (size_t)(slash - path)) ? NULL : *argv;

		fprintf(to, " %s%s", inside ? "RUN" : "", inside ? inside + (slash - path) : *argv);
	}
	fprintf(to, " < %s\n", rule);
	fclose(to);
	if (from)
		fclose(from);
}

static int record_nothing(char *const *argv)
{
	const struct behaviour *behaviour;
	char *const *words = argv;
	const char *path = NULL;

	for (; strcmp(*words, "--") != 0; words++)
		if (!strcmp(*words, "-o"))
			path = words[1];
	note_run(argv, path);
	behaviour = choose_behaviour(path, words + 1);
	if (behaviour->trace)
		leave_trace(behaviour->trace, path);
	fputs(behaviour->out, stdout);
	fputs(behaviour->err, stderr);
	fflush(NULL);
	signal(behaviour->signal ?: SIGTERM, SIG_DFL);
	setrlimit(RLIMIT_CORE, &(struct rlimit){ 0 });
	if (behaviour->signal)
		raise(behaviour->signal);
	while (behaviour->hangs)
		pause();
	return behaviour->status;
}

/* The times that follow each @prefix. */
static void drop_times(char *text, const char *prefix)
{
	for (char *at = text; (at = strstr(at, prefix));) {
		size_t n = strspn(at += strlen(prefix), "0123456789.");

		if (n)
			memmove(at, at + n, strlen(at + n) + 1);
	}
}

static void drop_varying(char *text)
{
	drop_times(text, "\"took_ns\": ");
	drop_times(text, " time=\"");
}

static int compare_lines(const void *a, const void *b)
{
	return strcmp(a, b);
}

/* The runs of the last command; those that were beside each other are sorted. */
static void show_runs(struct text *text, const char *log, bool sorted)
{
	static char lines[64][512];
	FILE *file = fopen(log, "r");
	size_t n = 0;

	while (file && fgets(lines[n], sizeof(lines[n]), file))
		assert_true(++n < 64);
	if (sorted)
		qsort(lines, n, sizeof(lines[0]), compare_lines);
	for (size_t i = 0; i < n; i++)
		text_addf(text, "run:%s", lines[i]);
	if (file)
		fclose(file);
	unlink(log);
}

static int begin_tortures(void **state)
{
	char *traces = realpath("tests/conformance/soft", NULL), log[sizeof(run_folder) + 16];

	(void)state;
	snprintf(run_folder, sizeof(run_folder), "%s-XXXXXX", make_path("run"));
	if (!traces || !mkdtemp(run_folder))
		return -1;
	snprintf(log, sizeof(log), "%s/log", run_folder);
	setenv(TRACES_ENV, traces, 1);
	setenv("TORTURE_TEST_LOG", log, 1);
	free(traces);
	run_mask = drop_varying;
	return 0;
}

GROUP(begin_tortures, run_end);

TEST(tortures_are_those_of_the_transcript)
{
	char *wanted = transcript_read(__FILE__), command[512];
	struct text all = { 0 };

	for (char *at = strstr(wanted, "$ "); at; at = strstr(at, "\n$ ")) {
		at += *at == '\n' ? 3 : 2;
		snprintf(command, sizeof(command), "%.*s", (int)strcspn(at, "\n"), at);
		text_addf(&all, "$ %s\n", command);
		run_command(&all, command);
		show_runs(&all, getenv("TORTURE_TEST_LOG"), !strstr(command, " -j 1 "));
	}
	transcript_check(__FILE__, all.at, wanted);
	text_fini(&all);
	free(wanted);
}

int main(int argc, char **argv)
{
	const struct command *command =
		getenv(TRACES_ENV) && argc > 1 ? command_find(argv[1]) : NULL;
	int status;

	if (!command)
		return test_run(argv);
	if (!strcmp(argv[1], "record"))
		return record_nothing(argv + 1);
	status = command->run(argc - 1, argv + 1);
	fflush(stdout);
	return status;
}
