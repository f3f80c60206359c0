/*
 * What the subcommands share: how they begin, report and end
 *
 * Not here: --deadline (deadline.c), progress (working.c).
 */
#include "cli/cli.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/common.h"
#include "cli/config.h"
#include "cli/format.h"
#include "cli/help.h"
#include "cli/pager.h"
#include "cli/screen.h"
#include "cli/suggest.h"
#include "core/store/open.h"
#include "core/store/read/joint.h"
#include "core/store/read/lookup.h"
#include "core/wire/clock.h"
#include "core/wire/log.h"

#define MAGIC "SQLite format 3"

enum { JUDGED_NS = 100000000 };

/* For --verbose: the defaults that the environment has. */
static void note_variables(const char *command, const struct option_row *row)
{
	for (; row->name; row++) {
		char variable[OPTIONS_VARIABLE];
		const char *value = options_from_environment(row, variable);

		if (value && *value)
			log_detail("%s: default of --%s: %s (%s)", command, row->name, value,
				   variable);
	}
}

/* Read the configuration, which is never closed: settings point into it. */
static const struct config *read_config(const struct command *command)
{
	static struct config *config;
	char complaint[CONFIG_COMPLAINT];
	int err = config_open(command, complaint, &config);

	if (!err)
		return config;
	log_note("%s; see verbatim(1)", complaint);
	exit(err == -EINVAL ? CLI_USAGE : CLI_ENVIRONMENT);
}

void cli_parse(int argc, char **argv, void *settings, struct arguments *ret_arguments)
{
	const struct command *command = command_find(argv[0]);
	char complaint[OPTIONS_COMPLAINT];
	const struct option_set sets[OPTIONS_SETS] = { { command->options, settings },
						       { common_options, &common } };
	const struct config *config = read_config(command);
	int status = options_read(argc, argv, sets, config_defaults(config),
				  command_runs_program(command), ret_arguments, complaint);

	if (status < 0)
		exit(cli_misuse(argv[0], "%s", complaint));
	if (status > 0) {
		help_print(command);
		exit(CLI_FINE);
	}
	log_set_level((enum log_level)common.verbosity);
	if (config)
		log_detail("%s: defaults of options: %s", command->name, config_path(config));
	note_variables(command->name, command->options);
	note_variables(command->name, common_options);
	screen_use_colour((enum screen_colour)common.colour);
	if (command_is_paged(command) && !common.no_pager)
		pager_offer();
}

enum cli_exit cli_status(int err)
{
	switch (-err) {
	case 0:
		return CLI_FINE;
	case EINVAL:
	case EPROTO:
	case EBADMSG:
	case EFBIG: /* its size exceeds a limit of --deadline or ulimit */
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

bool cli_is_trace(const char *path)
{
	size_t n = strlen(path);
	char head[sizeof(MAGIC)] = "";
	FILE *file;

	if (n > 3 && !strcmp(path + n - 3, ".db") && !strchr(path, ' '))
		return true;
	file = fopen(path, "rbe");
	if (!file)
		return false;
	n = fread(head, 1, sizeof(head), file);
	fclose(file);
	return n == sizeof(head) && !memcmp(head, MAGIC, sizeof(head));
}

bool cli_is_same_file(const char *from, const char *to)
{
	struct stat a, b;

	return !stat(from, &a) && !stat(to, &b) && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

int cli_refuse_second(const char *command, const char *path)
{
	return cli_misuse(
		command,
		"only one trace can be given: '%s' is another; check, dump and query accept "
		"several",
		path);
}

int cli_refuse_argument(const char *command, const char *argument)
{
	struct suggestion near = { .word = argument, .prefix = "--" };

	for (const struct option_row *row = command_find(command)->options; row->name; row++)
		suggest_name(&near, row->name);
	return cli_misuse(command, "unexpected argument '%s'%s", argument, suggest_text(&near));
}

static void note_trace(const char *path, struct trace *trace)
{
	const char *version = trace_meta(trace, "version");
	char events[FORMAT_TEXT];

	log_detail("%s: %s events, recorded by verbatim %s", path,
		   format_count(trace_events(trace), events), version ? version : "?");
}

int cli_find_file(const char *path)
{
	struct suggestion near = { .word = NULL };

	if (*path && access(path, F_OK) && errno == ENOENT)
		suggest_file(&near, path);
	return *near.name ? log_why(-ENOENT, "open %s: %s%s", path, strerror(ENOENT),
				    suggest_text(&near))
			  : 0;
}

int cli_open_trace(const char *path, struct trace **ret_trace)
{
	int err = cli_find_file(path);

	if (err)
		return err;
	err = trace_open(path, ret_trace);
	if (!err)
		note_trace(path, *ret_trace);
	return err;
}

static int name_ranks(struct trace *trace)
{
	int err = trace_name_ranks(trace);

	if (err)
		trace_close(trace);
	return err;
}

int cli_open(const char *command, const struct arguments *arguments, int most,
	     struct trace **ret_trace)
{
	if (arguments->n < 1)
		return cli_misuse(command, "no trace given");
	if (arguments->n > most && cli_is_trace(arguments->at[most]))
		return cli_refuse_second(command, arguments->at[most]);
	if (arguments->n > most)
		return cli_refuse_argument(command, arguments->at[most]);
	signal(SIGPIPE,
	       SIG_DFL); /* so that `| head` ends us quietly, even if we inherited it ignored */
	return cli_status(cli_open_trace(arguments->at[0], ret_trace) ?: name_ranks(*ret_trace));
}

void cli_report_loss(struct trace *trace)
{
	struct trace_loss loss = trace_loss(trace);
	char lost[FORMAT_TEXT], time[FORMAT_TEXT];

	if (trace_meta(trace, "filter") && *trace_meta(trace, "filter"))
		log_note("recorded with --filter %s: counts cover only the events that passed it",
			 trace_meta(trace, "filter"));
	if (loss.interrupted)
		log_note("the recording was INTERRUPTED: later events are not in the trace");
	if (loss.unwritten)
		log_note("%s events were LOST: the recorder could not write them",
			 format_count(loss.unwritten, lost));
	if (loss.damaged)
		log_note("the trace is DAMAGED: %s events could not be read",
			 format_count(loss.damaged, lost));
	if (loss.late)
		log_note("the recording BEGAN LATE: %s earlier events are missing, and the objects "
			 "that they created are unknown",
			 format_count(loss.late, lost));
	if (loss.events > loss.overwritten + loss.late + loss.handlers)
		log_note("%s events were LOST: the rings were full",
			 format_count(loss.events - loss.overwritten - loss.late - loss.handlers,
				      lost));
	if (loss.handlers)
		log_note("%s events were LOST: in signal handlers that interrupted the recording "
			 "of another event",
			 format_count(loss.handlers, lost));
	if (loss.overwritten && trace_is_closed(trace))
		log_note("%s events are not in this trace: it begins at %s, with the live objects "
			 "and outstanding requests of that time",
			 format_count(loss.overwritten, lost), format_time(trace_cut(trace), time));
	else if (loss.overwritten)
		log_note("%s events are not in this trace: a flight recording stores only the "
			 "newest",
			 format_count(loss.overwritten, lost));
}

/*
 * The shortest time limit of a fact or a rule is 250 ms (a hung call): waits for the recorder may
 * be a good part of that time. Other limits are shares of the run.
 */
static bool may_change_verdict(struct trace *trace, const struct lookup_waited *waited)
{
	return waited->longest >= JUDGED_NS || waited->ns >= trace_totals(trace).duration / 10;
}

/* Report the waits of one trace. If several are read as one, each has its own table. */
static void report_waits(struct trace *trace, const char *name, bool verdict)
{
	const char *recorded = trace_meta(trace, "waits");
	char ns[FORMAT_TEXT], times[FORMAT_TEXT], longest[FORMAT_TEXT];
	struct lookup_waited waited;

	if (!recorded || strcmp(recorded, "yes") != 0)
		return;
	if (lookup_waited(trace, &waited) < 0 || !waited.times ||
	    (verdict && !may_change_verdict(trace, &waited)))
		return;
	log_info("%s%sthe recorder made the program wait %s, in %s wait%s, the longest %s: "
		 "durations that include such a wait are overstated by it (table waited)",
		 name ? name : "", name ? ": " : "", format_time(waited.ns, ns),
		 format_count(waited.times, times), waited.times == 1 ? "" : "s",
		 format_time(waited.longest, longest));
}

void cli_report_waits(struct trace *trace, bool verdict)
{
	size_t n = trace_nparts(trace);

	if (n < 2)
		report_waits(trace, NULL, verdict);
	for (size_t i = 0; i < n && n > 1; i++)
		report_waits(trace_part(trace, i), trace_part_name(trace, i), verdict);
}
