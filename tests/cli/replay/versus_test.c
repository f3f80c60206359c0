/*
 * What versus runs on which device, and how it ends: versus_test.txt
 *
 * This program takes the place of `replay`: it prints its arguments, leaves a recording of
 * tests/conformance as that of the replay, and ends as the name of the device says. The comparison
 * is a real one.
 */
#define TEST_MAIN
#include <limits.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

#define RUN_ANEW
#include "tests/cli/run.h"

#define TRACES_ENV "VERSUS_TEST_TRACES"

/* The name of the folder of the replays' traces differs in each run. */
static void hide_folder(char *text)
{
	for (char *at = text; (at = strstr(at, " --record /"));) {
		char *path = at + strlen(" --record "), *end = strchr(path, ' '), *name = end;

		while (name[-1] != '/')
			name--;
		memmove(path, name, strlen(name) + 1);
		at = path;
	}
}

static int begin_versus(void **state)
{
	char *traces = realpath("tests/conformance/soft", NULL);

	if (!traces || run_begin(state))
		return -1;
	setenv(TRACES_ENV, traces, 1);
	free(traces);
	run_mask = hide_folder;
	return 0;
}

GROUP(begin_versus, run_end);

TEST(runs_are_those_of_the_transcript)
{
	run_transcript(__FILE__);
}

/* The last character of the trace's name before ".db" is the number of the round. */
static int end_like_child(const char *device, const char *path)
{
	bool odd = (path[strlen(path) - 4] - '0') & 1;

	setrlimit(RLIMIT_CORE, &(struct rlimit){ 0 });
	if (!strcmp(device, "differs"))
		return 1;
	if (!strcmp(device, "sometimes"))
		return odd;
	if (!strcmp(device, "broken"))
		return 4;
	if (!strcmp(device, "killed"))
		raise(SIGKILL);
	if (!strcmp(device, "ends") && !odd) {
		kill(getppid(), SIGTERM);
		for (;;)
			pause();
	}
	return 0;
}

static int replay_nothing(char *const *argv)
{
	const char *path = NULL, *device = NULL;
	char from[PATH_MAX];

	for (char *const *word = argv; *word; word++) {
		fprintf(stderr, "%s ", *word);
		if (!strcmp(*word, "--record"))
			path = word[1];
		if (!strcmp(*word, "--device"))
			device = word[1];
	}
	fprintf(stderr, "deadline %s, format %s\n", getenv("VERBATIM_DEADLINE") ?: "none",
		getenv("VERBATIM_FORMAT") ?: "none");
	snprintf(from, sizeof(from), "%s/%s", getenv(TRACES_ENV),
		 !strcmp(device, "other") ? "write.db" : "read.db");
	printf("not seen\n");
	fflush(NULL);
	if (symlink(from, path))
		perror(path);
	return end_like_child(device, path);
}

int main(int argc, char **argv)
{
	const struct command *command =
		getenv(TRACES_ENV) && argc > 1 ? command_find(argv[1]) : NULL;
	int status;

	if (!command)
		return test_run(argv);
	if (!strcmp(argv[1], "replay"))
		return replay_nothing(argv + 1);
	setenv("VERBATIM_DEADLINE", "60s", 0);
	setenv("VERBATIM_FORMAT", "text", 0);
	status = command->run(argc - 1, argv + 1);
	fflush(stdout);
	return status;
}
