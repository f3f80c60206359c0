/*
 * verbatim versus: one trace on two devices in turn
 *
 *	replay --record A-soft-1.db --device soft \
 *	replay --record B-mlx5-1.db --device mlx5 | rounds, A and B first in turn
 *	...                                       / -> diff A-*.db -- B-*.db
 *
 * Both devices are exposed to the same disturbances of the machine, since each round has both. The
 * traces of the replays are in a private folder, which is removed at the end; `verbatim diff`
 * compares them, with its statistics and its report.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/replay/fabric.h"
#include "core/wire/log.h"

enum { SIDES = 2, ROUNDS_MAX = 1000, WORDS = 16, FILE_NAME = 128, DEVICE_NAME = 64 };

struct settings {
	const char *devices, *pace;
	uint32_t rounds, threshold;
	unsigned int format;
	bool open_loop, allow_partial;
	int64_t deadline;
};

/* clang-format off */
const struct option_row cli_versus_options[] = {
	{ "devices", 0, "NAMES", "the two devices, A,B; soft is the software device",
	  TEXT_AT(struct settings, devices), .otherwise = "none; it is required" },
	{ "rounds", 0, "N", "replays on each device",
	  NUMBER_AT(struct settings, rounds), .least = 1, .most = ROUNDS_MAX, .preset = "5" },
	{ "open-loop", 0, NULL, "send the requests at their recorded times, as replay --open-loop "
				"does",
	  FLAG_AT(struct settings, open_loop) },
	{ "pace", 0, "asap|recorded|xN", "speed of the replays",
	  TEXT_AT(struct settings, pace), .otherwise = "asap; with --open-loop recorded" },
	{ "threshold", 0, "PERCENT", "report a value that is worse by more than PERCENT as a "
				       "regression",
	  NUMBER_AT(struct settings, threshold), .most = 1000000, .preset = "10" },
	{ "format", 'f', "text|json|junit", "output format",
	  CHOICE_AT(struct settings, format), .preset = "text" },
	CLI_JSON(struct settings, format, 1),
	{ "allow-partial", 0, NULL, "accept replays that leave events out",
	  FLAG_AT(struct settings, allow_partial) },
	CLI_DEADLINE(struct settings),
	{ 0 },
};
/* clang-format on */

struct versus {
	const struct settings *set;
	const char *path; /* of the trace */
	char device[SIDES][DEVICE_NAME];
	struct fabric folder;
	uint32_t differing[SIDES]; /* rounds that diverged, or left something out */
};

static volatile sig_atomic_t ended; /* the signal */
static volatile sig_atomic_t child;

static void note_end(int number)
{
	ended = number;
	if (child > 0)
		kill(child, number);
}

static void catch_ends(void)
{
	static const int ends[] = { SIGINT, SIGTERM, SIGHUP };

	for (size_t i = 0; i < sizeof(ends) / sizeof(*ends); i++)
		if (signal(ends[i], note_end) == SIG_IGN)
			signal(ends[i], SIG_IGN);
}

/* Execute a subcommand in @folder, so that @argv can name files without their path. */
static void become_command(const char *folder, const char *const *argv)
{
	int null = !folder ? open("/dev/null", O_WRONLY | O_CLOEXEC) : -1;

	prctl(PR_SET_PDEATHSIG, SIGTERM);
	signal(SIGINT, SIG_DFL);
	signal(SIGTERM, SIG_DFL);
	if (folder ? chdir(folder) : dup2(null, STDOUT_FILENO) < 0)
		_exit(CLI_ENVIRONMENT);
	/* settings of this command must not apply to the commands that it starts */
	unsetenv("VERBATIM_DEADLINE");
	unsetenv("VERBATIM_FORMAT");
	execv("/proc/self/exe", (char *const *)argv);
	_exit(CLI_ENVIRONMENT);
}

/* Run a subcommand in @folder (NULL: here, without its output). Returns its exit status. */
static int run_command(const char *folder, const char *const *argv)
{
	int status = 0;
	pid_t pid;

	fflush(NULL);
	pid = fork();
	if (!pid)
		become_command(folder, argv);
	if (pid < 0) {
		log_err(-errno, "start verbatim %s", argv[1]);
		return CLI_ENVIRONMENT;
	}
	child = pid;
	while (waitpid(pid, &status, 0) < 0 && errno == EINTR)
		;
	child = 0;
	if (WIFEXITED(status))
		return WEXITSTATUS(status);
	if (!ended)
		log_note("versus: verbatim %s was ended by signal %d (%s)", argv[1],
			 WTERMSIG(status), strsignal(WTERMSIG(status)));
	return CLI_ENVIRONMENT;
}

static const char *name_file(const struct versus *v, unsigned int side, uint32_t round,
			     char name[FILE_NAME])
{
	snprintf(name, FILE_NAME, "%c-%s-%u.db", 'A' + side, v->device[side], round + 1);
	return name;
}

static int replay_once(struct versus *v, unsigned int side, uint32_t round)
{
	const struct settings *set = v->set;
	const char *argv[WORDS] = { "verbatim", "replay", "-q", "--device", v->device[side] };
	char name[FILE_NAME], path[FABRIC_PATH + FILE_NAME];
	int n = 5, status;

	snprintf(path, sizeof(path), "%s/%s", v->folder.path, name_file(v, side, round, name));
	argv[n++] = "--record";
	argv[n++] = path;
	if (set->open_loop)
		argv[n++] = "--open-loop";
	if (set->pace) {
		argv[n++] = "--pace";
		argv[n++] = set->pace;
	}
	if (set->allow_partial)
		argv[n++] = "--allow-partial";
	argv[n++] = "--";
	argv[n++] = v->path;
	status = run_command(NULL, argv);
	if (status == CLI_FINDINGS) {
		v->differing[side]++;
		return CLI_FINE;
	}
	if (status && !ended)
		log_note("versus: round %u on %s ended with status %d", round + 1, v->device[side],
			 status);
	return status;
}

/* Each device is the first in every other round. */
static int replay_rounds(struct versus *v)
{
	int status = CLI_FINE;

	for (uint32_t round = 0; round < v->set->rounds; round++)
		for (unsigned int i = 0; !status && !ended && i < SIDES; i++)
			status = replay_once(v, (i + round) % SIDES, round);
	return status;
}

static int compare_rounds(struct versus *v)
{
	static const char *const formats[] = { "text", "json", "junit" };
	uint32_t rounds = v->set->rounds;
	const char **argv = calloc(WORDS + SIDES * (size_t)rounds, sizeof(*argv));
	char(*names)[FILE_NAME] = calloc(SIDES * (size_t)rounds, sizeof(*names)), percent[16];
	int n = 0, status = CLI_ENVIRONMENT;

	if (argv && names) {
		snprintf(percent, sizeof(percent), "%u", v->set->threshold);
		argv[n++] = "verbatim";
		argv[n++] = "diff";
		argv[n++] = "--format";
		argv[n++] = formats[v->set->format];
		argv[n++] = "--threshold";
		argv[n++] = percent;
		for (uint32_t i = 0; i < SIDES * rounds; i++) {
			if (i == rounds)
				argv[n++] = "--";
			argv[n++] = name_file(v, i / rounds, i % rounds, names[i]);
		}
		status = run_command(v->folder.path, argv);
	} else {
		log_err(-ENOMEM, "compare the replays");
	}
	free(argv);
	free(names);
	return status;
}

static void report_sides(const struct versus *v)
{
	for (unsigned int i = 0; i < SIDES; i++)
		if (v->differing[i])
			log_note("versus: on %s, %u of %u replays differ from the recording or "
				 "left events out: verbatim replay --device %s shows how",
				 v->device[i], v->differing[i], v->set->rounds, v->device[i]);
}

/* "A,B" */
static bool split_devices(const char *text, char device[SIDES][DEVICE_NAME])
{
	const char *comma = text ? strchr(text, ',') : NULL;
	size_t n = comma ? (size_t)(comma - text) : 0;

	if (!n || n >= DEVICE_NAME || !comma[1] || strlen(comma + 1) >= DEVICE_NAME ||
	    strchr(comma + 1, ',') || strchr(text, '/'))
		return false;
	snprintf(device[0], DEVICE_NAME, "%.*s", (int)n, text);
	snprintf(device[1], DEVICE_NAME, "%s", comma + 1);
	return true;
}

static int run_versus(struct versus *v)
{
	int err = fabric_make(getenv("TMPDIR") ?: "/tmp", &v->folder), status;

	if (err) {
		log_err(err, "make a folder for the traces of the replays");
		return CLI_ENVIRONMENT;
	}
	catch_ends();
	status = replay_rounds(v);
	if (!status && !ended)
		status = compare_rounds(v);
	fabric_remove(&v->folder);
	if (ended) {
		signal(ended, SIG_DFL);
		raise(ended);
	}
	if (status <= CLI_FINDINGS)
		report_sides(v);
	return !status && v->differing[0] + v->differing[1] ? CLI_FINDINGS : status;
}

int cli_versus(int argc, char **argv)
{
	struct settings set = { 0 };
	struct versus v = { .set = &set };
	struct arguments arguments;

	cli_parse(argc, argv, &set, &arguments);
	if (arguments.n != 1)
		return arguments.n ? cli_refuse_argument("versus", arguments.at[1])
				   : cli_misuse("versus", "no trace given");
	if (!split_devices(set.devices, v.device))
		return cli_misuse("versus", "--devices takes two names: --devices mlx5_0,mlx5_1");
	if (cli_find_file(arguments.at[0]))
		return CLI_ENVIRONMENT;
	cli_deadline(set.deadline);
	v.path = arguments.at[0];
	return run_versus(&v);
}
