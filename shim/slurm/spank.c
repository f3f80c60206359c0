/*
 * A plug-in for Slurm: srun --verbatim=job%j.db ./app
 *
 *	slurmstepd --fork--> task --(here)--> exec verbatim record -o job%j.n3.db -- ./app
 *
 * The plug-in starts the recorder in place of the program of each task; the recorders of a node
 * share a collector (cli/record/node.c). If the step has several nodes, and the name of the trace
 * does not distinguish them, the name of the node is added. Users set other options of the recorder
 * by environment variables (VERBATIM_FLIGHT, ...).
 *
 * In plugstack.conf:	optional /usr/lib/verbatim-slurm/verbatim-slurm.so [verbatim=PATH]
 *
 * Source: spank(7), <slurm/spank.h>.
 */
#include <signal.h>
#include <slurm/spank.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

#pragma GCC visibility push(default)
SPANK_PLUGIN(verbatim, 1)
#pragma GCC visibility pop

/* Not constant: Slurm writes the values of an option, also into its own structures. */
static struct spank_option option = {
	.name = (char *)"verbatim",
	.arginfo = (char *)"FILE",
	.usage = (char *)"record the verbs of each task into FILE (default job%j.db): %j is the "
			 "job, %n the node, %r the rank; see verbatim-record(1)",
	.has_arg = 2,
};

__attribute__((visibility("default"))) int slurm_spank_init(spank_t spank, int argc, char **argv)
{
	(void)argc;
	(void)argv;
	/* a batch script or an allocation is not a task: only its steps are recorded */
	if (spank_context() != S_CTX_LOCAL && spank_context() != S_CTX_REMOTE)
		return 0;
	return spank_option_register(spank, &option) == ESPANK_SUCCESS ? 0 : -1;
}

static const char *find_recorder(int argc, char **argv)
{
	static const char name[] = "verbatim=";

	for (int i = 0; i < argc; i++)
		if (!strncmp(argv[i], name, strlen(name)))
			return argv[i] + strlen(name);
	return "/usr/bin/verbatim";
}

static bool distinguishes_nodes(const char *pattern)
{
	for (const char *at = pattern; (at = strchr(at, '%')) && at[1]; at += 2)
		if (strchr("hnpr", at[1]))
			return true;
	return false;
}

/* If the step has several nodes, "job%j.db" becomes "job%j.n3.db". */
static void name_trace(spank_t spank, const char *pattern, char *name, size_t size)
{
	const char *base = strrchr(pattern, '/') ? strrchr(pattern, '/') + 1 : pattern;
	const char *dot = strrchr(base, '.');
	int stem = (int)(dot && dot > base ? dot - pattern : (long)strlen(pattern));
	uint32_t nodes = 1;

	spank_get_item(spank, S_JOB_NNODES, &nodes);
	if (nodes < 2 || distinguishes_nodes(pattern))
		snprintf(name, size, "%s", pattern);
	else
		snprintf(name, size, "%.*s.%%n%s", stem, pattern, pattern + stem);
}

/* Restore the signals that Slurm handles only until it executes the program. */
static void restore_signals(void)
{
	sigset_t none;

	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	for (int number = 1; number < NSIG; number++)
		signal(number, SIG_DFL);
}

static int exec_recorder(spank_t spank, const char *recorder, const char *pattern)
{
	char name[4096], **argv, **env, **words;
	int argc;

	if (spank_get_item(spank, S_JOB_ARGV, &argc, &argv) != ESPANK_SUCCESS ||
	    spank_get_item(spank, S_JOB_ENV, &env) != ESPANK_SUCCESS)
		return -1;
	words = calloc((size_t)argc + 6, sizeof(*words));
	if (!words)
		return -1;
	name_trace(spank, pattern, name, sizeof(name));
	words[0] = (char *)"verbatim";
	words[1] = (char *)"record";
	words[2] = (char *)"-o";
	words[3] = name;
	words[4] = (char *)"--";
	memcpy(words + 5, argv, (size_t)argc * sizeof(*words));
	restore_signals();
	execve(recorder, words, env);
	slurm_error("verbatim: start %s: %m", recorder);
	return -1;
}

/* Called in the task, as its user and in its directory, just before its program is executed. */
__attribute__((visibility("default"))) int slurm_spank_task_init(spank_t spank, int argc,
								 char **argv)
{
	char *pattern = NULL;

	if (spank_option_getopt(spank, &option, &pattern) != ESPANK_SUCCESS)
		return 0;
	return exec_recorder(spank, find_recorder(argc, argv),
			     pattern && *pattern ? pattern : "job%j.db");
}
