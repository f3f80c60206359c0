/*
 * verbatim replay: makes the recorded calls again, and compares the results
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
#include "cli/trace/persona.h"
#include "core/store/read/trace.h"
#include "core/wire/log.h"
#include "replay/replay.h"
#include "replay/outcome.h"

enum { PACE_MAX = 1000000000 };

#define FABRIC_ENV "VERBATIM_REPLAY_FABRIC" /* set: we are the child, on the software device */

struct settings {
	struct replay_options replay;
	const char *device;
	const char *report;
	unsigned int json;
	unsigned int persona; /* enum persona */
	int64_t deadline;
};

enum persona { PERSONA_RECORDED, PERSONA_NONE };

/* @field: double; 0 without gaps, 1 as recorded, N times as fast. */
static int parse_pace(const char *text, void *field, char complaint[OPTIONS_COMPLAINT])
{
	double *pace = field;
	char *end;

	(void)complaint;
	if (!strcmp(text, "asap") || !strcmp(text, "recorded")) {
		*pace = *text == 'r';
		return 0;
	}
	*pace = *text == 'x' ? strtod(text + 1, &end) : 0;
	return *pace > 0 && *pace <= PACE_MAX && !*end ? 0 : -EINVAL;
}

/* @field: bool; one thread? */
static int parse_threads(const char *text, void *field, char complaint[OPTIONS_COMPLAINT])
{
	(void)complaint;
	*(bool *)field = !strcmp(text, "serial");
	return *(bool *)field || !strcmp(text, "recorded") ? 0 : -EINVAL;
}

/* clang-format off */
const struct option_row cli_replay_options[] = {
	{ "device", 'd', "soft|NAME", "the software device; or NAME, which plays all recorded ones",
	  TEXT_AT(struct settings, device), .otherwise = "the machine's, or soft if it has none" },
	{ "pace", 'p', "asap|recorded|xN", "how fast: at once, as recorded, N times that",
	  PARSED_AT(struct settings, replay.pace, parse_pace), .preset = "asap" },
	{ "threads", 'T', "recorded|serial", "a thread for each recorded one; or one for all",
	  PARSED_AT(struct settings, replay.serial, parse_threads), .preset = "recorded" },
	{ "report", 'r', "FILE", "write the report there, too, as JSON",
	  TEXT_AT(struct settings, report) },
	CLI_FORMAT(struct settings),
	{ "timeout", 't', "SECONDS", "how long to wait for a completion or an event",
	  TIME_AT(struct settings, replay.timeout), .least = 1, .preset = "10s" },
	{ "faults", 0, "recorded|none",
	  "errors that the traffic does not cause: let them happen as recorded, or not",
	  CHOICE_AT(struct settings, replay.faults),
	  .otherwise = "recorded on the software device" },
	{ "persona", 0, "recorded|none",
	  "the software device has the recorded device's limits, ports and addresses, or its own",
	  CHOICE_AT(struct settings, persona), .preset = "recorded" },
	{ "max-memory", 'm', "SIZE", "most memory for regions and queues of the recording",
	  SIZE_AT(struct settings, replay.max_memory), .preset = "1G" },
	CLI_DEADLINE(struct settings),
	{ 0 },
};
/* clang-format on */

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

/* A signal that ends us is passed to the child; we end after it, when its fabric is removed. */
static int wait_for(pid_t child)
{
	int status;

	signal(SIGPIPE, SIG_IGN); /* if nobody reads our notes: there is still a fabric to remove */
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
	sigset_t early, before; /* signals that come before the child exists are for the child */
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
 * A report quotes the trace, so a new one is readable by its owner only. A file
 * that exists keeps its mode and is written through: it may be a pipe or
 * /dev/stdout.
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

/* Note what the recorder could not see: table `coverage`. */
static void tell_coverage(struct trace *trace, struct outcome *outcome)
{
	static const char sql[] = "SELECT c.what, sum(c.times), coalesce(min(o.name),"
				  " min(c.detail)), min(c.process)"
				  " FROM coverage c LEFT JOIN object o ON o.id = c.object"
				  " WHERE c.what <> 'filtered' GROUP BY c.what";
	const char *filter = trace_meta(trace, "filter");
	sqlite3_stmt *stmt;

	if (filter && *filter)
		outcome_note(outcome,
			     "left out by --filter %s, so not replayed: what depends on it "
			     "may differ",
			     filter);
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

/* A random sample of posts cannot be replayed: the other side of each may be missing. */
static int refuse_sample(struct trace *trace)
{
	if (trace_one_of(trace) == 1)
		return 0;
	log_note("replay: only one of %u posts and polls was recorded (--filter %s): record "
		 "without 1/N what is to be replayed",
		 trace_one_of(trace), trace_meta(trace, "filter"));
	return CLI_TRACE;
}

static int print_reports(const struct outcome *outcome, const struct settings *set)
{
	int status = CLI_FINE;

	if (set->json)
		outcome_json(outcome, stdout);
	else
		outcome_text(outcome, stdout);
	if (set->report)
		status = write_report(outcome, set->report);
	if (status == CLI_FINE && outcome_divergences(outcome))
		status = CLI_FINDINGS;
	return status;
}

static int replay_here(struct trace *trace, const char *path, const struct settings *set)
{
	struct outcome *outcome;
	int status, err = outcome_new(&outcome);

	if (err) {
		log_err(err, "make a report");
		return CLI_ENVIRONMENT;
	}
	outcome_trace(outcome, path, trace);
	tell_loss(trace, outcome);
	tell_coverage(trace, outcome);
	cli_show_progress("replay", trace);
	err = replay_run(trace, &set->replay, outcome);
	status = err ? (int)cli_status(err) : print_reports(outcome, set);
	outcome_free(outcome);
	return status;
}

int cli_replay(int argc, char **argv)
{
	struct settings set = { .replay.tell = cli_progress, .replay.faults = FAULTS_DEFAULT };
	struct arguments arguments;
	struct trace *trace;
	char *again[argc + 2]; /* before the options are put in order */
	bool soft = false;
	int status;

	again[0] = (char *)"verbatim";
	memcpy(again + 1, argv, ((size_t)argc + 1) * sizeof(*argv));
	cli_parse(argc, argv, &set, &arguments);
	set.replay.device = getenv(FABRIC_ENV) ? NULL : set.device;
	cli_deadline(set.deadline);
	status = cli_open("replay", &arguments, 1, &trace);
	if (status)
		return status;
	set.replay.stands_in = getenv(FABRIC_ENV) && persona_is_other(trace);
	set.replay.described = getenv(FABRIC_ENV) && persona_is_taken();
	status = refuse_sample(trace);
	if (!status && !getenv(FABRIC_ENV) && device_choose(set.device, DEVICE_SYSFS, &soft))
		status = CLI_ENVIRONMENT;
	else if (!status && !soft)
		status = replay_here(trace, arguments.at[0], &set);
	if (soft)
		choose_link(trace);
	if (soft && set.persona == PERSONA_RECORDED && persona_take(trace))
		return CLI_ENVIRONMENT;
	trace_close(trace);
	if (!soft)
		return status;
	if (!set.device)
		device_tell_soft();
	return replay_on_soft(again);
}
