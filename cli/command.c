/*
 * The subcommands, and what they share
 *
 * A row of the table, a function, a file, a manual page: a subcommand is all
 * four under one name.
 */
#include "cli/cli.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/format.h"
#include "core/store/open.h"
#include "core/wire/clock.h"
#include "core/wire/log.h"

#define SHOW_NS 10000000000ull

const struct command commands[] = {
	{ "record", cli_record, "Run a program and record every RDMA verb that it calls",
	  "[-o FILE] [--device soft|NAME] [--on-full wait|drop] [--check] [--] PROGRAM [ARG...]" },
	{ "collect", cli_collect, "Make a trace of what was recorded without a recorder",
	  "[-o FILE] [--keep] DIR" },
	{ "snapshot", cli_snapshot, "Write what a flight recorder holds by now", "[PID|DIR]" },
	{ "run", cli_run, "Run a program on the software device, recording nothing",
	  "[--device soft|NAME] [--] PROGRAM [ARG...]" },
	{ "info", cli_info, "Say what is in a trace", "[--format text|json] TRACE" },
	{ "dump", cli_dump, "Print the events of a trace, a line each",
	  "[--thread T] [--process P] [--object NAME] [--verb NAME] [--failed] TRACE [T:N]" },
	{ "stat", cli_stat, "Count and time the verbs, queue pairs and completion queues of a trace",
	  "[--format text|json] TRACE" },
	{ "sql", cli_sql, "Ask a trace a question in SQL", "[--csv|--json] [--header] TRACE QUERY" },
	{ "unpack", cli_unpack, "Turn a trace into one that any SQLite program can read",
	  "-o FILE TRACE" },
	{ "import", cli_import, "Make a trace of what an LTTng session has recorded",
	  "[-o FILE] CTF-DIR" },
	{ "check", cli_check, "Look for mistakes in the use of verbs",
	  "[--format text|json] [--mute ID] TRACE" },
	{ "explain", cli_explain, "Explain a rule of `verbatim check`", "[ID]" },
	{ "replay", cli_replay, "Do again what was recorded, and compare",
	  "[--device NAME] [--pace asap|recorded|xN] [--report FILE] TRACE" },
	{ "doctor", cli_doctor, "Say what stops RDMA or recording on this machine, and what to do",
	  "[--format text|json] [--] [PROGRAM]" },
	{ 0 },
};

const struct command *command_find(const char *name)
{
	for (const struct command *c = commands; c->name; c++)
		if (!strcmp(c->name, name))
			return c;
	return NULL;
}

enum cli_exit cli_status(int err)
{
	switch (-err) {
	case 0:
		return CLI_FINE;
	case EINVAL:
	case EPROTO:
	case EBADMSG:
	case EFBIG: /* it asks for more than it may have */
	case ETIME: /* --deadline */
		return CLI_TRACE;
	default:
		return CLI_ENVIRONMENT;
	}
}

int cli_misuse(const char *command, const char *format, ...)
{
	char text[512];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	log_note("%s: %s; see 'verbatim help %s'", command, text, command);
	return CLI_USAGE;
}

int cli_open(const char *command, int nargs, char **args, struct trace **ret_trace)
{
	if (nargs < 1)
		return cli_misuse(command, "no trace is given");
	if (nargs > 1)
		return cli_misuse(command, "too much is given: '%s'", args[1]);
	signal(SIGPIPE, SIG_DFL); /* `| head` ends us quietly, whatever was inherited */
	return cli_status(trace_open(args[0], ret_trace));
}

int cli_wants_json(const char *command, const char *format)
{
	if (!format || !strcmp(format, "text"))
		return 0;
	if (!strcmp(format, "json"))
		return 1;
	exit(cli_misuse(command, "--format is text or json, not '%s'", format));
}

static struct {
	const char *command;
	_Atomic uint64_t next; /* CLOCK_MONOTONIC, ns */
} progress;

void cli_progress(uint64_t events, int64_t time)
{
	uint64_t now = clock_monotonic(), next = progress.next;
	char count[FORMAT_TEXT], at[FORMAT_TEXT];

	/* a reader of its own thread may be here, too */
	if (now >= next && atomic_compare_exchange_strong(&progress.next, &next, now + SHOW_NS))
		log_note("%s: so far %s events, up to %s of the recording", progress.command,
			 format_count(events, count), format_time(time, at));
}

void cli_show_progress(const char *command, struct trace *trace)
{
	progress.command = command;
	progress.next = clock_monotonic() + SHOW_NS;
	trace_on_progress(trace, cli_progress);
}

void cli_tell_loss(struct trace *trace)
{
	struct trace_loss loss = trace_loss(trace);
	char lost[FORMAT_TEXT];

	if (trace_meta(trace, "filter") && *trace_meta(trace, "filter"))
		log_note("recorded with --filter %s: counts are of what it left",
			 trace_meta(trace, "filter"));
	if (loss.interrupted)
		log_note("the recording was INTERRUPTED: what came after is not in the trace");
	if (loss.damaged)
		log_note("the trace is DAMAGED: %s events could not be read",
			 format_count(loss.damaged, lost));
	if (loss.late)
		log_note("the recording BEGAN LATE: %s events came before it, and what they made is "
			 "not known", format_count(loss.late, lost));
	if (loss.events > loss.overwritten + loss.late + loss.handlers)
		log_note("%s events were LOST: the rings were full",
			 format_count(loss.events - loss.overwritten - loss.late - loss.handlers, lost));
	if (loss.handlers)
		log_note("%s events were LOST: of signal handlers that came while another was "
			 "written", format_count(loss.handlers, lost));
	if (loss.overwritten)
		log_note("%s events of the data plane are not in this trace: older than what it "
			 "kept", format_count(loss.overwritten, lost));
}
