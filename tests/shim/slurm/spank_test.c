/*
 * The plug-in for Slurm, with Slurm's functions and execve() of our own
 */
#include <errno.h>
#include <signal.h>
#include <slurm/spank.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/types.h>
#include <unistd.h>

#include "tests/test.h"

int slurm_spank_init(spank_t spank, int argc, char **argv);
int slurm_spank_task_init(spank_t spank, int argc, char **argv);

static struct spank_option *registered;
static spank_t const handle = (spank_t)0x77;

/* What Slurm answers. */
static struct {
	spank_context_t context;
	spank_err_t registers, option, argv, env;
	const char *value; /* of the option */
	uint32_t nodes;    /* 0: unknown */
	char **words, **environ;
	int nwords;
} slurm;

/* What was executed. */
static struct {
	char path[64];
	char *words[16];
	char *const *environ;
	int calls, errors;
	bool blocked, handled;
} ran;

spank_context_t spank_context(void)
{
	return slurm.context;
}

spank_err_t spank_option_register(spank_t spank, struct spank_option *opt)
{
	assert_ptr_equal(spank, handle);
	registered = opt;
	return slurm.registers;
}

spank_err_t spank_option_getopt(spank_t spank, struct spank_option *opt, char **ret_value)
{
	assert_ptr_equal(spank, handle);
	assert_string_equal(opt->name, "verbatim");
	*ret_value = (char *)slurm.value;
	return slurm.option;
}

spank_err_t spank_get_item(spank_t spank, spank_item_t item, ...)
{
	va_list args;

	assert_ptr_equal(spank, handle);
	va_start(args, item);
	if (item == S_JOB_NNODES && slurm.nodes) {
		*va_arg(args, uint32_t *) = slurm.nodes;
	} else if (item == S_JOB_ARGV && slurm.argv == ESPANK_SUCCESS) {
		*va_arg(args, int *) = slurm.nwords;
		*va_arg(args, char ***) = slurm.words;
	} else if (item == S_JOB_ENV && slurm.env == ESPANK_SUCCESS) {
		*va_arg(args, char ***) = slurm.environ;
	}
	va_end(args);
	return item == S_JOB_ARGV ? slurm.argv : item == S_JOB_ENV ? slurm.env : ESPANK_SUCCESS;
}

void slurm_error(const char *format, ...)
{
	assert_string_equal(format, "verbatim: start %s: %m");
	assert_int_equal(errno, ENOENT);
	ran.errors++;
}

static bool handles_signal(int number)
{
	struct sigaction action;

	sigaction(number, NULL, &action);
	return action.sa_handler != SIG_DFL;
}

/* Instead of that of the C library: note it, and fail. */
int execve(const char *path, char *const words[], char *const env[])
{
	sigset_t mask;
	int n = 0;

	snprintf(ran.path, sizeof(ran.path), "%s", path);
	for (; words[n]; n++)
		ran.words[n] = strdup(words[n]);
	ran.words[n] = NULL;
	ran.environ = env;
	ran.calls++;
	sigprocmask(SIG_SETMASK, NULL, &mask);
	for (int number = 1; number < NSIG; number++)
		ran.blocked |= sigismember(&mask, number) == 1;
	ran.handled = handles_signal(SIGHUP) || handles_signal(SIGTERM) || handles_signal(SIGRTMAX);
	errno = ENOENT;
	return -1;
}

static void forget_run(void)
{
	for (int i = 0; ran.words[i]; i++)
		free(ran.words[i]);
	memset(&ran, 0, sizeof(ran));
}

static int begin_slurm(void **state)
{
	static char *words[] = { (char *)"./app", (char *)"-n", (char *)"5", NULL };
	static char *env[] = { (char *)"A=b", NULL };

	(void)state;
	forget_run();
	memset(&slurm, 0, sizeof(slurm));
	slurm.context = S_CTX_REMOTE;
	slurm.words = words;
	slurm.nwords = 3;
	slurm.environ = env;
	return 0;
}

FIXTURE(begin_slurm, NULL);

static const struct {
	const char *name;
	spank_context_t context;
	spank_err_t registers;
	bool called;
	int ret;
} contexts[] = {
	{ "srun_has_the_option", S_CTX_LOCAL, ESPANK_SUCCESS, true, 0 },
	{ "a_task_has_the_option", S_CTX_REMOTE, ESPANK_SUCCESS, true, 0 },
	{ "srun_refuses_the_option", S_CTX_LOCAL, ESPANK_BAD_ARG, true, -1 },
	{ "a_batch_script_has_no_option", S_CTX_ALLOCATOR, ESPANK_BAD_ARG, false, 0 },
	{ "a_daemon_has_no_option", S_CTX_SLURMD, ESPANK_BAD_ARG, false, 0 },
	{ "a_prolog_has_no_option", S_CTX_JOB_SCRIPT, ESPANK_BAD_ARG, false, 0 },
};

static void init_registers_the_option(void **state)
{
	const typeof(contexts[0]) *row = *state;

	begin_slurm(NULL);
	registered = NULL;
	slurm.context = row->context;
	slurm.registers = row->registers;
	assert_int_equal(slurm_spank_init(handle, 0, NULL), row->ret);
	assert_int_equal(registered != NULL, row->called);
	if (!registered)
		return;
	assert_string_equal(registered->name, "verbatim");
	assert_string_equal(registered->arginfo, "FILE");
	assert_int_equal(registered->has_arg, 2);
	assert_int_equal(registered->val, 0);
	assert_null(registered->cb);
}

TEST_ROWS(contexts, init_registers_the_option);

static const struct {
	const char *name, *pattern;
	uint32_t nodes;
	const char *trace;
} patterns[] = {
	{ "no_value_is_the_job", NULL, 1, "job%j.db" },
	{ "an_empty_value_is_the_job", "", 1, "job%j.db" },
	{ "an_empty_value_on_two_nodes", "", 2, "job%j.%n.db" },
	{ "one_node_needs_no_name", "x.db", 1, "x.db" },
	{ "an_unknown_number_of_nodes_is_one", "x.db", 0, "x.db" },
	{ "two_nodes_need_names", "x.db", 2, "x.%n.db" },
	{ "no_suffix", "x", 2, "x.%n" },
	{ "a_hidden_file", "d/.x", 2, "d/.x.%n" },
	{ "a_hidden_file_with_a_suffix", "/d.e/.x.db", 2, "/d.e/.x.%n.db" },
	{ "a_dot_of_a_folder", "d.e/x", 3, "d.e/x.%n" },
	{ "the_last_dot", "d/a.b.db", 3, "d/a.b.%n.db" },
	{ "a_node", "x%n.db", 2, "x%n.db" },
	{ "a_host", "x%h.db", 2, "x%h.db" },
	{ "a_process", "%p", 2, "%p" },
	{ "a_rank", "%j%r.db", 2, "%j%r.db" },
	{ "a_job", "%j.db", 2, "%j.%n.db" },
	{ "a_percent_sign", "%%n.db", 2, "%%n.%n.db" },
	{ "a_percent_sign_at_the_end", "n%", 2, "n%.%n" },
};

static void trace_is_named(void **state)
{
	const typeof(patterns[0]) *row = *state;

	begin_slurm(NULL);
	slurm.value = row->pattern;
	slurm.nodes = row->nodes;
	assert_int_equal(slurm_spank_task_init(handle, 0, NULL), -1);
	assert_string_equal(ran.words[3], row->trace);
}

TEST_ROWS(patterns, trace_is_named);

TEST(a_task_becomes_the_recorder_of_its_program)
{
	static const char *const wanted[] = { "verbatim", "record", "-o", "t.db",
					      "--",       "./app",  "-n", "5" };

	slurm.value = "t.db";
	assert_int_equal(slurm_spank_task_init(handle, 0, NULL), -1);
	assert_int_equal(ran.calls, 1);
	assert_int_equal(ran.errors, 1);
	assert_string_equal(ran.path, "/usr/bin/verbatim");
	for (int i = 0; i < 8; i++)
		assert_string_equal(ran.words[i], wanted[i]);
	assert_null(ran.words[8]);
	assert_ptr_equal(ran.environ, slurm.environ);
}

TEST(the_configuration_names_the_recorder)
{
	char *args[] = { (char *)"verbatim", (char *)"x=verbatim=/no", (char *)"verbatim=/opt/v",
			 (char *)"verbatim=/later" };

	assert_int_equal(slurm_spank_task_init(handle, 4, args), -1);
	assert_string_equal(ran.path, "/opt/v");
	forget_run();
	assert_int_equal(slurm_spank_task_init(handle, 2, args), -1);
	assert_string_equal(ran.path, "/usr/bin/verbatim");
}

static void on_signal(int number)
{
	(void)number;
}

TEST(handlers_and_masks_of_slurm_end)
{
	sigset_t all;

	signal(SIGHUP, on_signal);
	signal(SIGTERM, SIG_IGN);
	signal(SIGRTMAX, on_signal);
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	assert_int_equal(slurm_spank_task_init(handle, 0, NULL), -1);
	assert_int_equal(ran.calls, 1);
	assert_false(ran.blocked);
	assert_false(ran.handled);
}

TEST(without_the_option_the_task_goes_on)
{
	slurm.option = ESPANK_ERROR;
	assert_int_equal(slurm_spank_task_init(handle, 0, NULL), 0);
	assert_int_equal(ran.calls, 0);
}

TEST(without_arguments_or_environment_nothing_is_executed)
{
	slurm.argv = ESPANK_ERROR;
	assert_int_equal(slurm_spank_task_init(handle, 0, NULL), -1);
	slurm.argv = ESPANK_SUCCESS;
	slurm.env = ESPANK_ERROR;
	assert_int_equal(slurm_spank_task_init(handle, 0, NULL), -1);
	assert_int_equal(ran.calls, 0);
	assert_int_equal(ran.errors, 0);
}
