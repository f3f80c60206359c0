/*
 * verbatim export: converts a trace for other programs that draw it
 *
 * A format is a function that appends to a text, which is written when it is complete; formats of
 * events write while they read.
 *
 * Not here: the formats (dot.c, folded.c, perfetto.c, traffic.c; cli/lake/ for those with all of a
 * trace); rows of any table (verbatim sql), metrics (verbatim stat).
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "analyzer/profile/pass.h"
#include "analyzer/report/report.h"
#include "cli/cli.h"
#include "cli/export/dot.h"
#include "cli/export/folded.h"
#include "cli/export/perfetto.h"
#include "cli/export/traffic.h"
#include "cli/lake/goal.h"
#include "cli/lake/lake.h"
#include "cli/lake/messages.h"
#include "cli/lake/otf2.h"
#include "cli/output.h"
#include "cli/written.h"
#include "cli/dump/point.h"
#include "cli/query/view.h"
#include "cli/part/part.h"
#include "core/base/text.h"
#include "core/wire/log.h"

enum format { DOT, FOLDED, PCAPNG, PERFETTO, PARQUET, CLICKHOUSE, OTF2, GOAL };

struct settings {
	unsigned int format, value;
	const char *path;
	struct point at;
	bool alive, json;
	int64_t deadline;
	struct part part;
};

/* clang-format off */
const struct option_row cli_export_options[] = {
	{ "format", 'f', "dot|folded|pcapng|perfetto|parquet|clickhouse|otf2|goal",
	  "what to export", CHOICE_AT(struct settings, format), .preset = "dot" },
	{ "output", 'o', "FILE",
	  "the file to write, or the folder to create: parquet, clickhouse, otf2, goal",
	  TEXT_AT(struct settings, path), .otherwise = OPTIONS_STDOUT },
	{ "at", 0, "TIME|EVENT", "dot: the state at this time or after this event: 12.5ms, 1.2s, "
				 "3:1042",
	  PARSED_AT(struct settings, at, point_read), .otherwise = "the whole trace" },
	{ "alive", 0, NULL, "dot: only objects alive at that time",
	  FLAG_AT(struct settings, alive) },
	{ "value", 0, "requests|time|calls|bytes", "folded: the value of a stack",
	  CHOICE_AT(struct settings, value), .preset = "requests" },
	WRITTEN_OPTION(struct settings),
	PART_OPTIONS(struct settings),
	CLI_DEADLINE(struct settings),
	{ 0 },
};
/* clang-format on */

static struct instant find_instant(const struct point *at)
{
	return (struct instant){ .id = at->id,
				 .time = at->text && !at->id.thread ? at->time : INT64_MAX,
				 .given = at->text };
}

static int make_dot(struct text *out, struct trace *trace, const struct settings *set)
{
	struct dot_choice choice = { .process = set->part.process, .alive = set->alive };
	struct instant at = find_instant(&set->at);
	struct view view;
	int status = CLI_FINE, err;

	if (choice.process && !trace_process(trace, choice.process))
		status = cli_misuse("export", "the trace has no process %u", choice.process);
	if (status)
		return status;
	err = view_open(trace, at, at.given, NULL, &view);
	if (err == -ENOENT)
		return cli_misuse("export",
				  "the trace has no event %s (--at); 'verbatim dump' lists the "
				  "events",
				  set->at.text);
	if (err)
		return cli_status(err);
	err = dot_write(out, &view, &choice);
	view_close(&view);
	return cli_status(err);
}

static int make_folded(struct text *out, struct trace *trace, const struct settings *set)
{
	struct profile_select select;
	enum folded_value value = set->value;
	int status = part_find("export", &set->part, trace, &select), err;

	if (status)
		return status;
	err = folded_trace(trace, &select, &value, 1, out);
	if (!err && !out->used)
		log_note("export: all stacks have the value 0; select another with --value");
	return cli_status(err);
}

/* Export one or several whole traces, in a format that fills a folder. */
static int export_folder(const struct settings *set, const struct arguments *arguments)
{
	cli_deadline(set->deadline);
	cli_show_work("export");
	switch (set->format) {
	case PARQUET:
		return lake_export(&parquet_format, arguments, set->path);
	case CLICKHOUSE:
		return lake_export(&clickhouse_format, arguments, set->path);
	case OTF2:
		return messages_export(arguments, set->path, otf2_write);
	default:
		return messages_export(arguments, set->path, goal_write);
	}
}

static int find_folder_misuse(const struct settings *set, const struct arguments *arguments)
{
	const struct part *part = &set->part;

	if (set->at.text || set->alive || point_range_given(&part->range) || part->phases.n ||
	    part->process)
		return cli_misuse("export",
				  "this format contains a whole trace: use 'verbatim trim' to "
				  "select a part of it first");
	if (!arguments->n)
		return cli_misuse("export", "no trace given");
	if (!set->path)
		return cli_misuse("export",
				  "this format is written to a new folder: give -o FOLDER");
	return CLI_FINE;
}

static int find_misuse(const struct settings *set)
{
	const struct part *part = &set->part;

	if (set->format == DOT && (point_range_given(&part->range) || part->phases.n))
		return cli_misuse("export", "a graph shows one point in time: give --at, not "
					    "--from, --to or --phase");
	if (set->format != DOT && (set->at.text || set->alive))
		return cli_misuse("export",
				  "%s a time range: give --from and --to, not "
				  "--at or --alive",
				  set->format == FOLDED ? "stacks cover" : "events cover");
	if (set->format >= PCAPNG && part->phases.n)
		return cli_misuse("export", "events cover a time range: give --from and --to, not "
					    "--phase");
	if (set->format >= PCAPNG && !set->path && isatty(STDOUT_FILENO))
		return cli_misuse("export", "binary output to a terminal: give -o FILE, or use a "
					    "pipe");
	return CLI_FINE;
}

/* Write a format as the trace is read. */
static int stream_trace(struct trace *trace, const struct settings *set)
{
	struct profile_select select;
	struct outfile output;
	int status = part_find("export", &set->part, trace, &select), err;

	if (status)
		return status;
	status = cli_status(output_open(set->path, &output));
	if (status)
		return status;
	err = (set->format == PCAPNG ? traffic_write : perfetto_write)(output.file, trace, &select);
	return cli_status(outfile_close(&output, err));
}

static int export_trace(struct trace *trace, const struct settings *set)
{
	struct text out = { 0 };
	int status;

	cli_show_progress("export", trace);
	if (set->format >= PCAPNG)
		return stream_trace(trace, set);
	status = set->format == DOT ? make_dot(&out, trace, set) : make_folded(&out, trace, set);
	if (!status)
		status = cli_status(output_put(set->path, &out));
	text_fini(&out);
	return status;
}

int cli_export(int argc, char **argv)
{
	struct settings set = { 0 };
	struct arguments arguments;
	struct trace *trace;
	int status;

	cli_parse(argc, argv, &set, &arguments);
	status = set.format >= PARQUET ? find_folder_misuse(&set, &arguments) : find_misuse(&set);
	if (status)
		return status;
	if (set.format >= PARQUET)
		return export_folder(&set, &arguments);
	if (set.path && arguments.n && cli_is_same_file(arguments.at[0], set.path))
		return cli_misuse("export", "'%s' is the trace itself: choose another name",
				  set.path);
	status = output_check("export", set.path);
	if (status)
		return status;
	cli_deadline(set.deadline);
	cli_show_work("export");
	status = cli_open("export", &arguments, 1, &trace);
	if (status)
		return status;
	cli_report_loss(trace);
	status = export_trace(trace, &set);
	trace_close(trace);
	if (!status && set.json)
		status = cli_status(written_put("export", set.path, NULL));
	return status;
}
