/*
 * verbatim replay: makes the recorded calls again, and compares the results
 *
 * The software device is a library before libibverbs, so for it the command
 * starts itself again with that in its environment, on a fabric of its own:
 *
 *	verbatim replay -> choose device -> child: the same, VERBATIM_REPLAY_FABRIC set
 *	                -> remove the fabric, the child's status
 *
 * Not here: the replay (replay/replay.c), its report (replay/report/outcome.c).
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
#include "cli/format.h"
#include "cli/trace/fabric.h"
#include "cli/trace/persona.h"
#include "cli/trace/replay_junit.h"
#include "cli/trace/replay_watch.h"
#include "core/store/db/deadline.h"
#include "core/store/read/trace.h"
#include "core/wire/log.h"
#include "replay/replay.h"
#include "replay/report/outcome.h"
#include "replay/report/tolerate.h"

enum { PACE_MAX = 1000000000 };

#define FABRIC_ENV "VERBATIM_REPLAY_FABRIC" /* set: we are the child, on the software device */

struct settings {
	struct replay_options replay;
	const char *device;
	const char *report, *tolerate;
	unsigned int format;
	unsigned int persona; /* enum persona */
	int64_t deadline;
	bool fail_fast, allow_partial;
};

enum persona { PERSONA_RECORDED, PERSONA_NONE };
enum format { TEXT, JSON, JUNIT };

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

/* clang-format off */
const struct option_row cli_replay_options[] = {
	{ "device", 'd', "soft|NAME", "the software device; or NAME, which plays all recorded ones",
	  TEXT_AT(struct settings, device), .otherwise = "the machine's, or soft if it has none" },
	{ "pace", 'p', "asap|recorded|xN", "how fast: at once, as recorded, N times that",
	  PARSED_AT(struct settings, replay.pace, parse_pace), .preset = "asap" },
	{ "threads", 'T', "recorded|serial|auto",
	  "a thread for each recorded one; or one for all; or what is faster here",
	  CHOICE_AT(struct settings, replay.threads), .preset = "auto" },
	{ "processes", 0, NULL, "a process for each recorded one, forked where that was forked",
	  FLAG_AT(struct settings, replay.processes) },
	{ "report", 'r', "FILE", "write the report there, too, as JSON",
	  TEXT_AT(struct settings, report) },
	{ "format", 'f', "text|json|junit", "how to print",
	  CHOICE_AT(struct settings, format), .preset = "text" },
	{ "timeout", 't', "SECONDS", "how long to wait for a completion or an event",
	  TIME_AT(struct settings, replay.timeout), .least = 1, .preset = "10s" },
	{ "faults", 0, "recorded|none",
	  "errors that the traffic does not cause: let them happen as recorded, or not",
	  CHOICE_AT(struct settings, replay.faults),
	  .otherwise = "recorded on the software device" },
	{ "cm", 0, "recorded|verbs",
	  "calls of librdmacm: made again, with their events; or only the verbs inside them",
	  CHOICE_AT(struct settings, replay.cm), .preset = "recorded" },
	{ "persona", 0, "recorded|none",
	  "the software device has the recorded device's limits, ports and addresses, or its own",
	  CHOICE_AT(struct settings, persona), .preset = "recorded" },
	{ "max-memory", 'm', "SIZE", "most memory for regions and queues of the recording",
	  SIZE_AT(struct settings, replay.max_memory), .preset = "1G" },
	{ "tolerate", 0, "FILE", "divergences that do not count, a line each",
	  TEXT_AT(struct settings, tolerate) },
	{ "fail-fast", 0, NULL, "end at the first divergence",
	  FLAG_AT(struct settings, fail_fast) },
	{ "skip-unsupported", 0, NULL, "leave out what the device here cannot do",
	  FLAG_AT(struct settings, replay.skip_unsupported) },
	{ "allow-partial", 0, NULL, "status 0 also where something was left out",
	  FLAG_AT(struct settings, allow_partial) },
	CLI_DEADLINE(struct settings),
	{ 0 },
};
/* clang-format on */

static const int ends[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };
enum { ENDS = sizeof(ends) / sizeof(*ends) };

static void become_child(char **argv, const char *fabric, const sigset_t *unblocked)
{
	struct sigaction old;

	prctl(PR_SET_PDEATHSIG, SIGTERM);
	if (setenv("VERBATIM_SOFT_FABRIC", fabric, 1) || setenv(FABRIC_ENV, fabric, 1))
		_exit(CLI_ENVIRONMENT);
	if (device_environment(NULL, true))
		_exit(CLI_ENVIRONMENT);
	for (size_t i = 0; i < ENDS; i++)
		if (!sigaction(ends[i], NULL, &old) && old.sa_handler != SIG_IGN)
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

/* End as the child did, if by a signal that ends us, too; else say what happened. */
static int end_as(int status)
{
	int number = WTERMSIG(status);

	if (WIFEXITED(status))
		return WEXITSTATUS(status);
	for (size_t i = 0; i < ENDS; i++)
		if (ends[i] == number) {
			signal(number, SIG_DFL);
			raise(number);
		}
	log_note("the replay was ended by signal %d (%s)", number, strsignal(number));
	return CLI_ENVIRONMENT;
}

/* A signal that ends us is passed to the child. Returns its status as from waitpid(), or -errno. */
static int wait_for(pid_t child)
{
	int status;

	signal(SIGPIPE, SIG_IGN); /* if nobody reads our notes: there is still a fabric to remove */
	while (waitpid(child, &status, 0) < 0)
		if (errno != EINTR)
			return log_err(-errno, "wait for the replay");
	return status;
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
		if (signal(ends[i], pass_on) == SIG_IGN)
			signal(ends[i], SIG_IGN); /* as under nohup */
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
	return status < 0 ? CLI_ENVIRONMENT : end_as(status);
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

/* What the recorder could not see and says nothing of what the program did. */
static bool is_harmless(const char *what)
{
	static const char *const harmless[] = { "sites",   "modules",       "polls",
						"payload", "direct-linked", "imports" };

	for (size_t i = 0; i < sizeof(harmless) / sizeof(*harmless); i++)
		if (!strcmp(what, harmless[i]))
			return true;
	return false;
}

/* A row of table `coverage`, summed up. */
static void tell_unseen(struct outcome *outcome, const char *what, uint64_t times,
			const char *object, int process)
{
	char n[FORMAT_TEXT];

	if (is_harmless(what))
		outcome_note(outcome, "not in the trace: %s, %s time%s, first %s of process %d",
			     what, format_count(times, n), times == 1 ? "" : "s", object, process);
	else
		outcome_gap(outcome,
			    "not in the trace, so not replayed: %s, %s time%s, first %s of "
			    "process %d",
			    what, format_count(times, n), times == 1 ? "" : "s", object, process);
}

static void tell_coverage(struct trace *trace, struct outcome *outcome)
{
	static const char sql[] = "SELECT c.what, sum(c.times), coalesce(min(o.name),"
				  " min(c.detail)), min(c.process)"
				  " FROM coverage c LEFT JOIN object o ON o.id = c.object"
				  " WHERE c.what <> 'filtered' GROUP BY c.what";
	const char *filter = trace_meta(trace, "filter");
	sqlite3_stmt *stmt;

	if (filter && *filter)
		outcome_gap(outcome,
			    "left out by --filter %s, so not replayed: what depends on it "
			    "may differ",
			    filter);
	if (sqlite3_prepare_v2(trace_db(trace), sql, -1, &stmt, NULL))
		return;
	while (sqlite3_step(stmt) == SQLITE_ROW) {
		const char *object = (const char *)sqlite3_column_text(stmt, 2);

		tell_unseen(outcome, (const char *)sqlite3_column_text(stmt, 0),
			    (uint64_t)sqlite3_column_int64(stmt, 1), object ? object : "-",
			    sqlite3_column_int(stmt, 3));
	}
	sqlite3_finalize(stmt);
}

static void tell_loss(struct trace *trace, struct outcome *outcome)
{
	struct trace_loss loss = trace_loss(trace);
	char n[FORMAT_TEXT];

	if (trace_is_closed(trace))
		outcome_note(outcome,
			     "the trace begins at %s; of the time before it has what was "
			     "outstanding then",
			     format_time(trace_cut(trace), n));
	else if (loss.events)
		outcome_gap(outcome, "the recording lost %s event%s, and what needs them differs",
			    format_count(loss.events, n), loss.events == 1 ? "" : "s");
	if (loss.damaged)
		outcome_gap(outcome, "a part of the recording could not be read");
	if (loss.interrupted)
		outcome_note(outcome, "the recording was cut short: what came after is not there");
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

/* One replay, and how its report is to be written. */
struct run {
	const struct settings *set;
	const char *path;
	struct outcome *outcome;
	int err;
};

/* An error or the deadline comes first, then divergences, then what was left out. */
static int status_of(const struct run *run)
{
	if (run->err)
		return (int)cli_status(run->err);
	if (outcome_divergences(run->outcome))
		return CLI_FINDINGS;
	if (outcome_is_whole(run->outcome) || run->set->allow_partial)
		return CLI_FINE;
	return CLI_FINDINGS;
}

static int print_reports(const struct run *run)
{
	int status = status_of(run), written = 0;

	if (run->set->format == JSON)
		outcome_json(run->outcome, stdout);
	else if (run->set->format == JUNIT)
		written = replay_junit(run->outcome, run->path, status, stdout);
	else
		outcome_text(run->outcome, stdout);
	if (!written && run->set->report)
		written = write_report(run->outcome, run->set->report);
	if (written)
		return CLI_ENVIRONMENT;
	if (status == CLI_FINDINGS && !outcome_divergences(run->outcome) &&
	    !outcome_stopped(run->outcome))
		log_note("replay: not all of the recording was replayed, so the exit status is 1; "
			 "--allow-partial makes it 0");
	return status;
}

/* The replay hangs in its device: print what there is, and end. */
static void finish_hung(void *arg, int number)
{
	struct run *run = arg;

	if (!number)
		run->err = -ETIME;
	print_reports(run);
	fflush(stdout);
	if (number) {
		signal(number, SIG_DFL);
		raise(number);
	}
	_exit(CLI_TRACE);
}

static int replay_watched(struct trace *trace, struct run *run)
{
	struct replay_options options = run->set->replay;
	struct replay_watch watch = { .outcome = run->outcome,
				      .deadline = run->set->deadline,
				      .total = trace_events(trace),
				      .finish = finish_hung,
				      .arg = run };
	int number, status;
	bool late;

	if (isatty(STDERR_FILENO))
		options.tell = NULL; /* the watch rewrites a line instead */
	else
		cli_show_progress("replay", trace);
	replay_watch_start(&watch);
	run->err = replay_run(trace, &options, run->outcome);
	number = replay_watch_stop(&late);
	if (run->err && !outcome_total(run->outcome, OUTCOME_SEEN))
		return (int)cli_status(run->err); /* it has not begun */
	if (late && !run->err)
		run->err = -ETIME;
	if (run->err)
		outcome_stop(run->outcome,
			     run->err == -ETIME ? "ended by --deadline" : "ended by an error");
	status = print_reports(run);
	fflush(stdout);
	if (number) {
		signal(number, SIG_DFL);
		raise(number);
	}
	return status;
}

static int replay_here(struct trace *trace, const char *path, const struct settings *set,
		       struct tolerate *tolerate)
{
	struct run run = { .set = set, .path = path };
	int status, err = outcome_new(&run.outcome);

	if (err) {
		log_err(err, "make a report");
		return CLI_ENVIRONMENT;
	}
	outcome_trace(run.outcome, path, trace);
	outcome_tolerate(run.outcome, tolerate);
	if (set->fail_fast)
		outcome_fail_fast(run.outcome);
	tell_loss(trace, run.outcome);
	tell_coverage(trace, run.outcome);
	status = replay_watched(trace, &run);
	outcome_free(run.outcome);
	return status;
}

/* Read --tolerate. Returns 0 or the exit status. */
static int open_tolerate(const char *path, struct tolerate **ret_tolerate)
{
	char complaint[TOLERATE_COMPLAINT];
	int err = path ? tolerate_open(path, complaint, ret_tolerate) : 0;

	if (err == -EINVAL)
		return cli_misuse("replay", "%s", complaint);
	if (err)
		log_note("replay: %s", complaint);
	return err ? CLI_ENVIRONMENT : 0;
}

int cli_replay(int argc, char **argv)
{
	struct settings set = { .replay.tell = cli_progress, .replay.faults = FAULTS_DEFAULT };
	struct arguments arguments;
	struct tolerate *tolerate = NULL;
	struct trace *trace;
	char *again[argc + 2]; /* before the options are put in order */
	bool soft = false;
	int status;

	again[0] = (char *)"verbatim";
	memcpy(again + 1, argv, ((size_t)argc + 1) * sizeof(*argv));
	cli_parse(argc, argv, &set, &arguments);
	set.replay.device = getenv(FABRIC_ENV) ? NULL : set.device;
	status = open_tolerate(set.tolerate, &tolerate);
	if (set.deadline)
		deadline_start((uint64_t)set.deadline);
	if (!status)
		status = cli_open("replay", &arguments, 1, &trace);
	if (status) {
		tolerate_close(tolerate);
		return status;
	}
	set.replay.stands_in = getenv(FABRIC_ENV) && persona_is_other(trace);
	set.replay.described = getenv(FABRIC_ENV) && persona_is_taken();
	status = refuse_sample(trace);
	if (!status && !getenv(FABRIC_ENV) && device_choose(set.device, DEVICE_SYSFS, &soft))
		status = CLI_ENVIRONMENT;
	else if (!status && !soft)
		status = replay_here(trace, arguments.at[0], &set, tolerate);
	if (soft)
		choose_link(trace);
	if (soft && set.persona == PERSONA_RECORDED && persona_take(trace)) {
		status = CLI_ENVIRONMENT;
		soft = false;
	}
	trace_close(trace);
	tolerate_close(tolerate);
	if (!soft)
		return status;
	if (!set.device)
		device_tell_soft();
	return replay_on_soft(again);
}
