/*
 * Questions to the nodes of a job: job_test.txt
 *
 * This program answers, too: a node runs it anew with the words that it was asked with. Words of
 * the traces: the recordings of tests/conformance are at "at/".
 */
#define TEST_MAIN
#include <limits.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define RUN_ANEW
#include "tests/cli/run.h"

#define JOB_ENV "JOB_TEST"

static char self[PATH_MAX];

/* Each @name in @text becomes @shown, which is not longer. */
static void hide_name(char *text, const char *name, const char *shown)
{
	size_t n = strlen(name), m = strlen(shown);

	for (char *at = text; n && (at = strstr(at, name)); at += m) {
		memcpy(at, shown, m);
		memmove(at + m, at + n, strlen(at + n) + 1);
	}
}

static void hide_names(char *text)
{
	hide_name(text, self, "VERBATIM");
	hide_name(text, run_folder, "HERE");
}

static void put_script(const char *name, const char *text)
{
	char path[sizeof(run_folder) + 32];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", run_folder, name);
	file = fopen(path, "w");
	assert_non_null(file);
	fputs(text, file);
	assert_int_equal(fclose(file), 0);
	assert_int_equal(chmod(path, 0755), 0);
}

static void put_scripts(void)
{
	put_script("on", "#!/bin/sh\nexport SLURMD_NODENAME=$1 SLURM_PROCID=0 SLURM_JOB_ID=7\n"
			 "shift\nexec \"$@\"\n");
	put_script("ssh", "#!/bin/sh\necho ssh \"$@\"\n");
	put_script("srun", "#!/bin/sh\necho srun \"$@\"\n");
	put_script("squeue", "#!/bin/sh\n[ \"$5\" = 7 ] && echo \"n[8-9],x\"\n");
	put_script("mpirun", "#!/bin/sh\necho mpirun \"$@\" >&2\nexit 3\n");
	put_script("kubectl", "#!/bin/sh\nwhile read -r line; do echo $line; done\necho kubectl "
			      "\"$@\"\n");
	put_script("prterun", "#!/bin/sh\nkill -9 $$\n");
	put_script("silent", "#!/bin/sh\n[ $1 != n1 ] || sleep 60\nexit 1\n");
	put_script("garbage", "#!/bin/sh\nprintf 'verbatim facts 1 n 99999 3 4\\nshort'\n");
	put_script("noisy", "#!/bin/sh\nprintf 'motd\\n'; exec \"$@\"\n");
	put_script("raw", "#!/bin/sh\nprintf 'a\\033[1mb\\n\\n'; printf 'x\\n\\033y\\n\\n' >&2; "
			  "[ $1 != n2 ]\n");
}

static int begin_job(void **state)
{
	char *traces = realpath("tests/conformance/soft", NULL), path[sizeof(run_folder) + 16];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	char search[PATH_MAX];
	int err;

	(void)state;
	if (!traces || n < 0 || run_begin(state))
		return -1;
	self[n] = '\0';
	snprintf(path, sizeof(path), "%s/at", run_folder);
	err = symlink(traces, path);
	free(traces);
	put_scripts();
	snprintf(search, sizeof(search), "%s:/usr/bin:/bin", run_folder);
	setenv("PATH", search, 1);
	setenv(JOB_ENV, "1", 1);
	unsetenv("SLURM_JOB_ID");
	run_mask = hide_names;
	return err;
}

GROUP(begin_job, run_end);

TEST(answers_are_those_of_the_transcript)
{
	run_transcript(__FILE__);
}

int main(int argc, char **argv)
{
	const struct command *command = getenv(JOB_ENV) && argc > 1 ? command_find(argv[1]) : NULL;
	int status;

	if (!command)
		return test_run(argv);
	status = command->run(argc - 1, argv + 1);
	fflush(stdout);
	return status;
}
