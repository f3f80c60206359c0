/*
 * verbatim job: asks the nodes of a job
 *
 *	check, report, facts	verbatim facts on each node --> NODE.db --> check, report, merge
 *	top, snapshot		the same command on each node, its output under the node's name
 *
 * The nodes are reached by a command: srun into the running job, mpirun, ssh, or any other. A node
 * that does not answer is reported, and the other answers are used.
 *
 * Not here: what a node answers (facts.c), how it is asked (ask.c).
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/job/ask.h"
#include "cli/job/facts.h"
#include "cli/job/nodes.h"
#include "cli/record/launch.h"
#include "core/base/printable.h"
#include "core/base/read_file.h"
#include "core/wire/dir.h"
#include "core/wire/log.h"

struct settings {
	const char *via, *nodes, *job, *path;
	uint32_t at_once;
	int64_t patience;
	uint64_t most;
};

/* clang-format off */
const struct option_row cli_job_options[] = {
	{ "via", 0, "srun|mpirun|prterun|ssh|kubectl|COMMAND",
	  "how to reach a node; %n is its name, %j the job", TEXT_AT(struct settings, via),
	  .otherwise = "srun for a job of Slurm, else ssh" },
	{ "nodes", 0, "LIST", "the nodes: n1,n[3-5]", TEXT_AT(struct settings, nodes),
	  .otherwise = "the nodes of the job, if Slurm runs it" },
	{ "job", 0, "ID", "the job, for %j in the name of the trace", TEXT_AT(struct settings, job),
	  .otherwise = "SLURM_JOB_ID" },
	{ "output", 'o', "FILE", "report: the page to write; facts: the trace with all summaries",
	  TEXT_AT(struct settings, path) },
	{ "at-once", 0, "N", "number of nodes queried at the same time",
	  NUMBER_AT(struct settings, at_once), .least = 1, .most = 4096, .preset = "32" },
	{ "patience", 0, "TIME", "how long to wait for a node", TIME_AT(struct settings, patience),
	  .least = 1, .preset = "20s" },
	{ "most", 0, "SIZE", "maximum size of what a node sends for each process",
	  SIZE_AT(struct settings, most), .least = 1 << 16, .preset = "1M" },
	{ 0 },
};
/* clang-format on */

/* What `job` does, and the command on each node. */
static const struct action {
	const char *name;
	const char *asks[6];
	bool joins; /* the answers are sums */
} actions[] = {
	{ "check", { "facts", "-o", "/dev/stdout" }, true },
	{ "facts", { "facts", "-o", "/dev/stdout" }, true },
	{ "report", { "facts", "-o", "/dev/stdout" }, true },
	{ "top", { "top", "--batch", "--samples", "1" }, false },
	{ "snapshot", { "snapshot" }, false },
};

enum { ACTIONS = sizeof(actions) / sizeof(*actions), WORDS_MAX = 64 };

struct job {
	const struct settings *set;
	const struct action *action;
	struct nodes nodes;
	bool *answered;
	size_t nanswered;
	char dir[PATH_MAX];
	char self[PATH_MAX], pattern[PATH_MAX], most[32];
	struct ask ask;
	char *words[12];
};

static const struct action *find_action(const char *name)
{
	for (int i = 0; i < ACTIONS; i++)
		if (!strcmp(actions[i].name, name))
			return &actions[i];
	return NULL;
}

/* Slurm knows the nodes of a job that runs. */
static void ask_slurm(const char *id, struct nodes *nodes)
{
	char *argv[] = { "squeue", "-h", "-o", "%N", "-j", (char *)(uintptr_t)id, NULL };
	char list[1 << 16] = "";
	int fds[2];
	size_t n;
	FILE *from;
	pid_t pid;

	if (pipe(fds))
		return;
	pid = fork();
	if (!pid) {
		dup2(fds[1], STDOUT_FILENO);
		close(fds[0]);
		close(fds[1]);
		execvp(argv[0], argv);
		_exit(1);
	}
	close(fds[1]);
	from = fdopen(fds[0], "re");
	n = from ? fread(list, 1, sizeof(list) - 1, from) : 0;
	list[n] = '\0';
	if (from)
		fclose(from);
	if (pid > 0)
		waitpid(pid, NULL, 0);
	nodes_add(nodes, list);
}

static bool is_installed(const char *program)
{
	char found[PATH_MAX];

	return !launch_find(program, found);
}

/* The nodes of --nodes, or those that Slurm knows. */
static int find_nodes(struct job *job)
{
	const struct settings *set = job->set;
	const char *id = set->job ? set->job : getenv("SLURM_JOB_ID");
	int err = set->nodes ? nodes_add(&job->nodes, set->nodes) : 0;

	job->ask.job = id;
	if (err)
		return cli_misuse("job", "--nodes takes names, such as n1,n[3-5], not '%.60s'",
				  set->nodes);
	if (!set->nodes && id && is_installed("squeue"))
		ask_slurm(id, &job->nodes);
	if (!job->nodes.n)
		return cli_misuse("job", "no nodes: give --nodes n1,n[3-5], or --job ID of a job "
					 "that Slurm runs");
	return 0;
}

/* Ways to a node, by their names. */
static const struct {
	const char *name, *via;
} vias[] = {
	{ "srun", "srun --quiet --nodes=1 --ntasks=1 --nodelist=%n" },
	{ "mpirun", "mpirun -n 1 -host %n" },
	{ "prterun", "prterun -n 1 --host %n" },
	{ "ssh", "ssh -o BatchMode=yes %n" },
	{ "kubectl", "kubectl exec %n --" }, /* a node is a pod */
};

static const char *choose_via(const struct job *job)
{
	const char *via = job->set->via;

	if (!via)
		via = job->ask.job && is_installed("srun") ? "srun" : "ssh";
	if (!strcmp(via, "srun") && job->ask.job)
		return "srun --overlap --quiet --jobid=%j --nodes=1 --ntasks=1 --nodelist=%n";
	for (size_t i = 0; i < sizeof(vias) / sizeof(*vias); i++)
		if (!strcmp(via, vias[i].name))
			return vias[i].via;
	return via;
}

/*
 * Make the trace's name absolute, since the command may start in another directory on a node. %j is
 * replaced now, %n on each node.
 */
static int make_pattern(struct job *job, const char *name)
{
	char dir[PATH_MAX] = "";
	size_t used = 0;

	if (*name != '/' && !getcwd(dir, sizeof(dir) - 1))
		return log_err(-errno, "find the directory of %s", name);
	if (*dir)
		strcat(dir, "/");
	used = (size_t)snprintf(job->pattern, PATH_MAX, "%s", dir);
	for (; *name && used + 64 < PATH_MAX; name++) {
		if (name[0] == '%' && name[1] == 'j' && job->ask.job) {
			used += (size_t)snprintf(job->pattern + used, PATH_MAX - used, "%.48s",
						 job->ask.job);
			name++;
		} else {
			job->pattern[used++] = *name;
		}
	}
	job->pattern[used] = '\0';
	return 0;
}

static int prepare_question(struct job *job, const char *trace)
{
	ssize_t n = readlink("/proc/self/exe", job->self, sizeof(job->self) - 1);
	const char *tmp;
	size_t words = 0;
	int err = make_pattern(job, trace);

	if (err || n < 0)
		return err ?: log_err(-errno, "readlink /proc/self/exe");
	tmp = getenv("TMPDIR");
	snprintf(job->dir, sizeof(job->dir), "%.4000s/verbatim-job-XXXXXX",
		 tmp && *tmp ? tmp : "/tmp");
	if (!mkdtemp(job->dir)) {
		err = log_err(-errno, "make the directory %s", job->dir);
		*job->dir = '\0';
		return err;
	}
	job->words[words++] = job->self;
	for (const char *const *word = job->action->asks; *word; word++)
		job->words[words++] = (char *)(uintptr_t)*word;
	if (job->action->joins) {
		snprintf(job->most, sizeof(job->most), "%" PRIu64, job->set->most);
		job->words[words++] = "--most";
		job->words[words++] = job->most;
	}
	job->words[words] = job->pattern;
	job->ask.via = choose_via(job);
	job->ask.words = job->words;
	job->ask.dir = job->dir;
	job->ask.at_once = job->set->at_once;
	job->ask.patience = job->set->patience;
	return 0;
}

/* Answers */

/* Report the last line that the node's command printed. */
static void report_no_answer(const struct job *job, const char *node)
{
	char path[4096], *text = NULL, *line, *end;
	size_t n;

	ask_format_path(&job->ask, node, "err", path);
	if (read_file(path, &text, &n) || !n) {
		log_note("%s has not answered", node);
		free(text);
		return;
	}
	while (n && text[n - 1] == '\n')
		text[--n] = '\0';
	end = strrchr(text, '\n');
	line = end ? end + 1 : text;
	fprintf(stderr, "verbatim: %s has not answered: ", node);
	print_untrusted(stderr, line);
	fputc('\n', stderr);
	free(text);
}

/* Make NODE.db from NODE.out, in which messages of a launcher may precede the sum. */
static bool unpack_summary(const struct job *job, const char *node)
{
	char path[4096], *text, *head, name[512];
	uint64_t events, of;
	size_t n, bytes;
	int used = 0;
	FILE *to;

	ask_format_path(&job->ask, node, "out", path);
	if (read_file(path, &text, &n))
		return false;
	head = memmem(text, n, FACTS_HEAD, strlen(FACTS_HEAD));
	if (head)
		sscanf(head, FACTS_HEAD "%511s %zu %" SCNu64 " %" SCNu64 "%n", name, &bytes,
		       &events, &of, &used);
	if (!used || head[used] != '\n' || bytes > n - (size_t)(head + used + 1 - text)) {
		free(text);
		return false;
	}
	if (events < of)
		log_note("%s: only the last %" PRIu64 " of %" PRIu64
			 " events were sent (raise --most)",
			 node, events, of);
	ask_format_path(&job->ask, node, "db", path);
	to = fopen(path, "wxe");
	if (to)
		fwrite(head + used + 1, 1, bytes, to);
	free(text);
	return to && !fclose(to);
}

static void unpack_answers(struct job *job)
{
	for (size_t i = 0; i < job->nodes.n; i++) {
		const char *node = job->nodes.names[i];

		if (job->answered[i] && job->action->joins && !unpack_summary(job, node))
			job->answered[i] = false;
		if (job->answered[i])
			job->nanswered++;
		else
			report_no_answer(job, node);
	}
	if (job->nanswered < job->nodes.n)
		log_note("%zu of %zu nodes have answered", job->nanswered, job->nodes.n);
}

/* @words and the names of the sums; NULL if out of memory. Never freed: exec follows. */
static char **name_summaries(const struct job *job, const char *const *words)
{
	size_t n = 0;
	char **argv;

	while (words[n])
		n++;
	argv = calloc(n + job->nodes.n + 1, sizeof(*argv));
	for (size_t i = 0; i < n && argv; i++)
		argv[i] = (char *)(uintptr_t)words[i];
	for (size_t i = 0; i < job->nodes.n && argv; i++)
		if (job->answered[i] && asprintf(&argv[n++], "%s.db", job->nodes.names[i]) < 0)
			return NULL;
	return argv;
}

/* Run a command of ours on the sums; their names are short in their own directory. */
static int run_on_summaries(const struct job *job, const char *const *words)
{
	int status = 0;
	pid_t pid;

	fflush(NULL);
	pid = fork();
	if (!pid) {
		char **argv = name_summaries(job, words);

		if (argv && !chdir(job->dir))
			execv("/proc/self/exe", argv);
		_exit(CLI_ENVIRONMENT);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid)
		return cli_status(log_err(-errno, "run `verbatim %s`", words[1]));
	return launch_status(status);
}

/* @name, as a path that is valid in another directory. */
static const char *make_absolute(const char *name, char path[PATH_MAX])
{
	char dir[PATH_MAX];

	if (*name == '/' || !getcwd(dir, sizeof(dir)))
		return name;
	snprintf(path, PATH_MAX, "%.2000s/%.2000s", dir, name);
	return path;
}

static int merge_summaries(const struct job *job, const char *to)
{
	const char *const copy[] = { "verbatim", "trim", "-o", to, NULL };
	const char *const merge[] = { "verbatim", "merge", "-q", "-o", to, NULL };

	return run_on_summaries(job, job->nanswered > 1 ? merge : copy);
}

static int write_report(const struct job *job, const char *page)
{
	const char *const report[] = { "verbatim", "report", "-o", page, "job.db", NULL };
	struct job none = *job;
	int status = merge_summaries(job, "job.db");

	none.nodes.n = 0;
	return status ? status : run_on_summaries(&none, report);
}

static int join_answers(const struct job *job, const struct arguments *arguments)
{
	const char *check[WORDS_MAX + 3] = { "verbatim", "check" };
	char path[PATH_MAX];

	if (!strcmp(job->action->name, "report"))
		return write_report(job, make_absolute(job->set->path, path));
	if (!strcmp(job->action->name, "facts"))
		return merge_summaries(job, make_absolute(job->set->path, path));
	for (int i = 2; i < arguments->n && i - 2 < WORDS_MAX; i++)
		check[i] = arguments->at[i];
	return run_on_summaries(job, check);
}

/* An answer may contain any bytes. */
static void print_answer(const char *text, size_t n)
{
	size_t size = n * PRINTABLE_GROWS + 1;
	char *printable = malloc(size);

	if (!printable)
		return;
	n = printable_lines(printable, size, text, n);
	fwrite(printable, 1, n, stdout);
	if (n && printable[n - 1] != '\n')
		putchar('\n');
	free(printable);
}

static int print_answers(const struct job *job)
{
	for (size_t i = 0; i < job->nodes.n; i++) {
		char path[4096], *text;
		size_t n;

		ask_format_path(&job->ask, job->nodes.names[i], "out", path);
		if (!job->answered[i] || read_file(path, &text, &n))
			continue;
		printf("%s:\n", job->nodes.names[i]);
		print_answer(text, n);
		free(text);
	}
	return 0;
}

static int ask_job(struct job *job, const struct arguments *arguments)
{
	int status = find_nodes(job), err;

	if (status)
		return status;
	err = prepare_question(job, arguments->at[1]);
	job->answered = calloc(job->nodes.n, sizeof(*job->answered));
	if (!err && !job->answered)
		err = log_err(-ENOMEM, "ask %zu nodes", job->nodes.n);
	if (!err)
		err = ask_nodes(&job->ask, &job->nodes, job->answered);
	if (err)
		return cli_status(err);
	unpack_answers(job);
	if (!job->nanswered)
		return CLI_ENVIRONMENT;
	return job->action->joins ? join_answers(job, arguments) : print_answers(job);
}

static int check_use(const struct settings *set, const struct arguments *arguments,
		     const struct action *action)
{
	bool writes = action &&
		      (strcmp(action->name, "report") == 0 || strcmp(action->name, "facts") == 0);

	if (!arguments->n || !action)
		return cli_misuse("job", "give one of check, facts, report, top and snapshot");
	if (arguments->n < 2)
		return cli_misuse("job",
				  "no trace given: repeat the name given to record -o, such as "
				  "job%%j.%%n.db");
	if (writes && !set->path)
		return cli_misuse("job", "no output given: -o FILE");
	if (arguments->n > 2 && strcmp(action->name, "check") != 0)
		return cli_refuse_argument("job", arguments->at[2]);
	return 0;
}

int cli_job(int argc, char **argv)
{
	struct settings set = { 0 };
	struct arguments arguments;
	struct job job = { .set = &set };
	int status;

	cli_parse(argc, argv, &set, &arguments);
	job.action = arguments.n ? find_action(arguments.at[0]) : NULL;
	status = check_use(&set, &arguments, job.action);
	if (!status)
		status = ask_job(&job, &arguments);
	if (*job.dir)
		dir_remove(AT_FDCWD, job.dir);
	nodes_fini(&job.nodes);
	free(job.answered);
	return status;
}
