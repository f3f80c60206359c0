/*
 * verbatim replay: do again what was recorded, and compare
 *
 * The software device is a library before libibverbs, so for it the command
 * starts itself again with that in its environment, on a fabric of its own:
 *
 *	verbatim replay -> choose device -> child: the same, VERBATIM_REPLAY_FABRIC set
 *	                -> remove the fabric, the child's status
 *
 * Not here: the replay (replay/replay.c), its report (replay/outcome.c).
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/record/device.h"
#include "cli/trace/fabric.h"
#include "cli/options.h"
#include "core/store/read/trace.h"
#include "core/wire/log.h"
#include "core/base/size.h"
#include "replay/replay.h"
#include "replay/outcome.h"

#define FABRIC_ENV "VERBATIM_REPLAY_FABRIC" /* set: we are the child, on the software device */

enum { DEVICE, PACE, REPORT, FORMAT, TIMEOUT, MAX_MEMORY, DEADLINE };

static const struct option_row rows[] = {
	[DEVICE] = { "device", 'd', "soft|NAME", "the software device; or NAME for all" },
	[PACE] = { "pace", 'p', "asap|recorded|xN",
		   "how fast: at once, as recorded, N times that" },
	[REPORT] = { "report", 'r', "FILE", "write the report there, too, as JSON" },
	[FORMAT] = { "format", 'f', "text|json", "of the report; text" },
	[TIMEOUT] = { "timeout", 't', "SECONDS", "to wait for a completion or an event; 10" },
	[MAX_MEMORY] = { "max-memory", 'm', "SIZE",
			 "at most that for regions and queues of the recording; 1G" },
	[DEADLINE] = CLI_DEADLINE,
	{ 0 },
};

static int read_positive(const char *text, double *ret_value)
{
	char *end;
	double value = strtod(text, &end);

	if (end == text || *end || !(value > 0) || value > 1e9)
		return -EINVAL;
	*ret_value = value;
	return 0;
}

static int read_pace(const char *text, double *ret_pace)
{
	*ret_pace = 0;
	if (!text || !strcmp(text, "asap"))
		return 0;
	if (!strcmp(text, "recorded")) {
		*ret_pace = 1;
		return 0;
	}
	return *text == 'x' ? read_positive(text + 1, ret_pace) : -EINVAL;
}

/* Returns 0 or CLI_USAGE. */
static int read_options(const struct options *options, struct replay_options *ret_replay)
{
	const char *timeout = options->value[TIMEOUT], *memory = options->value[MAX_MEMORY];
	double seconds = 10;

	if (read_pace(options->value[PACE], &ret_replay->pace))
		return cli_misuse("replay", "--pace is asap, recorded or xN, not '%s'",
				  options->value[PACE]);
	if (timeout && read_positive(timeout, &seconds))
		return cli_misuse("replay", "--timeout is a number of seconds, not '%s'", timeout);
	ret_replay->timeout = (int64_t)(seconds * 1e9);
	ret_replay->tell = cli_progress;
	ret_replay->max_memory = size_parse(memory ? memory : "1G");
	if (!ret_replay->max_memory)
		return cli_misuse("replay", "--max-memory is a size such as 4G, not '%s'", memory);
	ret_replay->device = getenv(FABRIC_ENV) ? NULL : options->value[DEVICE];
	return 0;
}

static const int ends[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };
enum { ENDS = sizeof(ends) / sizeof(*ends) };

static void become_child(char **argv, const char *fabric, const sigset_t *unblocked)
{
	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (setenv("VERBATIM_SOFT_FABRIC", fabric, 1) || setenv(FABRIC_ENV, fabric, 1))
		_exit(CLI_ENVIRONMENT);
	if (device_environment(NULL, true))
		_exit(CLI_ENVIRONMENT);
	for (size_t i = 0; i < ENDS; i++)
		signal(ends[i], SIG_DFL);
	sigprocmask(SIG_SETMASK, unblocked, NULL);
	execv("/proc/self/exe", argv);
	log_err(-errno, "start ourselves again");
	_exit(CLI_ENVIRONMENT);
}

static volatile sig_atomic_t running; /* the child */

static void pass_on(int signal)
{
	kill(running, signal);
}

/* What ends us ends the child; we end after it, when its fabric is removed. */
static int wait_for(pid_t child)
{
	int status;

	signal(SIGPIPE, SIG_IGN); /* a note that nobody reads: there is still a fabric to remove */
	while (waitpid(child, &status, 0) < 0)
		if (errno != EINTR)
			return log_err(-errno, "wait for the replay");
	if (WIFEXITED(status))
		return WEXITSTATUS(status);
	log_note("the replay was ended by signal %d (%s)", WTERMSIG(status),
		 strsignal(WTERMSIG(status)));
	return CLI_ENVIRONMENT;
}

/* The same command on the software device and a fabric that nobody else is on. */
static int replay_on_soft(char **again)
{
	struct fabric fabric;
	sigset_t early, before; /* what comes before there is a child is for the child */
	pid_t child;
	int status, err;

	sigemptyset(&early);
	for (size_t i = 0; i < ENDS; i++) {
		signal(ends[i], pass_on);
		sigaddset(&early, ends[i]);
	}
	sigprocmask(SIG_BLOCK, &early, &before);
	err = fabric_make("/dev/shm", &fabric);
	if (err) {
		log_err(err, "make a directory for the software device in /dev/shm");
		return CLI_ENVIRONMENT;
	}
	child = fork();
	if (!child)
		become_child(again, fabric.path, &before);
	running = child;
	if (child > 0)
		sigprocmask(SIG_SETMASK, &before, NULL);
	status = child < 0 ? log_err(-errno, "start ourselves again") : wait_for(child);
	fabric_remove(&fabric);
	return status < 0 ? CLI_ENVIRONMENT : status;
}

/*
 * The software device has one link, an InfiniBand one unless it is told: what
 * was recorded on Ethernet (addresses, raw packets, groups) needs that here.
 */
static void choose_link(struct trace *trace)
{
	static const char sql[] = "SELECT 1 FROM call WHERE verb = 'ibv_query_port' AND NOT failed"
				  " AND json_extract(out, '$.port_attr.link_layer') = 2 LIMIT 1";
	sqlite3_stmt *stmt;

	if (sqlite3_prepare_v2(trace_db(trace), sql, -1, &stmt, NULL))
		return;
	if (sqlite3_step(stmt) == SQLITE_ROW)
		setenv("VERBATIM_SOFT_LINK", "roce", 0);
	sqlite3_finalize(stmt);
}

/*
 * A report quotes the trace, so a new one is for its owner only. What is there
 * already keeps its mode, which somebody chose, and is written through: it may
 * be a pipe or /dev/stdout.
 */
static FILE *open_report(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	FILE *to = fd < 0 ? NULL : fdopen(fd, "w");

	if (!to && fd >= 0)
		close(fd);
	return to;
}

static int write_report(const struct outcome *outcome, const char *path)
{
	FILE *to = open_report(path);

	if (!to) {
		log_err(-errno, "write the report to %s", path);
		return CLI_ENVIRONMENT;
	}
	outcome_json(outcome, to);
	if (fclose(to)) {
		log_err(-errno, "write the report to %s", path);
		return CLI_ENVIRONMENT;
	}
	return CLI_FINE;
}

/* Table `coverage`: what happened there and is not in the trace. */
static void tell_coverage(struct trace *trace, struct outcome *outcome)
{
	static const char sql[] = "SELECT c.what, sum(c.times), coalesce(min(o.name),"
				  " min(c.detail)), min(c.process)"
				  " FROM coverage c LEFT JOIN object o ON o.id = c.object"
				  " WHERE c.what <> 'filtered' GROUP BY c.what";
	const char *filter = trace_meta(trace, "filter");
	sqlite3_stmt *stmt;

	if (filter && *filter)
		outcome_note(outcome, "left out by --filter %s, so not replayed: what depends on it "
				      "may differ", filter);
	if (sqlite3_prepare_v2(trace_db(trace), sql, -1, &stmt, NULL))
		return;
	while (sqlite3_step(stmt) == SQLITE_ROW) {
		const char *object = (const char *)sqlite3_column_text(stmt, 2);

		outcome_note(outcome,
			     "not in the trace, so not replayed: %s, %d times, first %s of "
			     "process %d",
			     (const char *)sqlite3_column_text(stmt, 0),
			     sqlite3_column_int(stmt, 1), object ? object : "-",
			     sqlite3_column_int(stmt, 3));
	}
	sqlite3_finalize(stmt);
}

static void tell_loss(struct trace *trace, struct outcome *outcome)
{
	struct trace_loss loss = trace_loss(trace);

	if (loss.events)
		outcome_note(outcome, "the recording lost %llu events: what needs them differs",
			     (unsigned long long)loss.events);
	if (loss.interrupted)
		outcome_note(outcome, "the recording was cut short: what came after is not there");
	if (loss.damaged)
		outcome_note(outcome, "a part of the recording could not be read");
}

/* Posts drawn at random cannot be done again: nobody would receive them. */
static int refuse_sample(struct trace *trace)
{
	if (trace_one_of(trace) == 1)
		return 0;
	log_note("replay: only one of %u posts and polls was recorded (--filter %s): record "
		 "without 1/N what is to be replayed", trace_one_of(trace),
		 trace_meta(trace, "filter"));
	return CLI_TRACE;
}

static int print_reports(const struct outcome *outcome, const struct options *options)
{
	int status = CLI_FINE;

	if (cli_wants_json("replay", options->value[FORMAT]))
		outcome_json(outcome, stdout);
	else
		outcome_text(outcome, stdout);
	if (options->value[REPORT])
		status = write_report(outcome, options->value[REPORT]);
	if (status == CLI_FINE && outcome_divergences(outcome))
		status = CLI_FINDINGS;
	return status;
}

static int replay_here(struct trace *trace, const struct options *options,
		       const struct replay_options *replay)
{
	struct outcome *outcome;
	int status, err = outcome_new(&outcome);

	if (err) {
		log_err(err, "make a report");
		return CLI_ENVIRONMENT;
	}
	outcome_trace(outcome, options->args[0]);
	tell_loss(trace, outcome);
	tell_coverage(trace, outcome);
	cli_show_progress("replay", trace);
	err = replay_run(trace, replay, outcome);
	status = err ? (int)cli_status(err) : print_reports(outcome, options);
	outcome_free(outcome);
	return status;
}

int cli_replay(int argc, char **argv)
{
	struct replay_options replay = { 0 };
	struct options options;
	struct trace *trace;
	char *again[argc + 2]; /* before the options are put in order */
	bool soft = false;
	int status;

	again[0] = (char *)"verbatim";
	memcpy(again + 1, argv, ((size_t)argc + 1) * sizeof(*argv));
	options_parse(argc, argv, rows, false, &options);
	cli_wants_json("replay", options.value[FORMAT]);
	status = cli_deadline("replay", options.value[DEADLINE]);
	if (!status)
		status = read_options(&options, &replay);
	if (!status)
		status = cli_open("replay", options.nargs, options.args, &trace);
	if (status)
		return status;
	status = refuse_sample(trace);
	if (!status && !getenv(FABRIC_ENV) &&
	    device_choose(options.value[DEVICE], DEVICE_SYSFS, &soft))
		status = CLI_ENVIRONMENT;
	else if (!status && !soft)
		status = replay_here(trace, &options, &replay);
	if (soft)
		choose_link(trace);
	trace_close(trace);
	if (!soft)
		return status;
	if (!options.value[DEVICE])
		device_tell_soft();
	return replay_on_soft(again);
}
