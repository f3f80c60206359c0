/*
 * verbatim trim: a part of a trace, as a trace
 *
 * Not here: which part (slice.c).
 */
#include <stdio.h>
#include <stdlib.h>

#include "cli/cli.h"
#include "cli/format.h"
#include "cli/part/slice.h"
#include "cli/written.h"
#include "core/store/open.h"
#include "core/store/read/trace.h"

struct settings {
	const char *path;
	bool json;
	struct slice slice;
	int64_t deadline;
};

/* clang-format off */
const struct option_row cli_trim_options[] = {
	{ "output", 'o', "FILE", "the trace to write", TEXT_AT(struct settings, path) },
	WRITTEN_OPTION(struct settings),
	SLICE_OPTIONS(struct settings),
	CLI_DEADLINE(struct settings),
	{ 0 },
};
/* clang-format on */

static int put_size(const struct settings *set, const struct excerpt_size *size)
{
	return written_put(
		"trim", set->path,
		(const struct written_count[]){ WRITTEN_COUNT("events", size->events),
						WRITTEN_COUNT("of_events", size->of),
						WRITTEN_COUNT("objects", size->objects),
						WRITTEN_COUNT("of_objects", size->of_objects),
						{ 0 } });
}

static void print_size(const struct settings *set, const struct excerpt_size *size)
{
	char events[FORMAT_TEXT], of[FORMAT_TEXT], objects[FORMAT_TEXT], of_objects[FORMAT_TEXT];

	printf("%s: %s of %s events, %s of %s objects\n", set->path,
	       format_count(size->events, events), format_count(size->of, of),
	       format_count(size->objects, objects), format_count(size->of_objects, of_objects));
}

/* The events from before the part's beginning (table meta: cut) that the part contains. */
struct carried_events {
	uint64_t calls, data, rest;
};

static int count_before(struct trace *part, struct carried_events *ret_before)
{
	const char *cut = trace_meta(part, "cut");
	int64_t from = cut ? strtoll(cut, NULL, 10) : INT64_MIN;
	const struct trace_event *event;
	struct cursor *cursor;
	int err = cursor_open(part, &(struct trace_filter){ .unmatched = true }, &cursor);

	while (!err && (err = cursor_next(cursor, &event)) > 0 && event->time < from) {
		bool call = event->kind == TRACE_CALL || event->kind == TRACE_RETURN;
		bool data = event->kind == TRACE_POST || event->kind == TRACE_POLL ||
			    event->kind == TRACE_NOTIFY;

		ret_before->calls += call;
		ret_before->data += data;
		ret_before->rest += !call && !data;
		err = 0;
	}
	cursor_close(cursor);
	return err < 0 ? err : 0;
}

static void put_count(uint64_t n, const char *of, bool *any)
{
	char count[FORMAT_TEXT];

	if (!n)
		return;
	printf("%s%s %s", *any ? ", " : "", format_count(n, count), of);
	*any = true;
}

/* Explain why there are more events than were asked for. */
static int report_before(const char *path)
{
	struct carried_events before = { 0 };
	struct trace *part;
	char count[FORMAT_TEXT];
	bool any = false;
	int err = trace_open(path, &part);

	if (err)
		return err;
	err = count_before(part, &before);
	trace_close(part);
	if (err || !(before.calls + before.data + before.rest))
		return err;
	printf("  %s of these are earlier events that set up the live objects: ",
	       format_count(before.calls + before.data + before.rest, count));
	put_count(before.calls, "of control verbs", &any);
	put_count(before.data, "of outstanding posts, of polls and of armed CQs", &any);
	put_count(before.rest, "of processes, forks and marks", &any);
	printf("\n");
	return 0;
}

static int check_use(const struct settings *set, const struct arguments *arguments)
{
	if (!set->path)
		return cli_misuse("trim", "no output given: -o FILE");
	if (arguments->n && cli_is_same_file(arguments->at[0], set->path))
		return cli_misuse("trim", "'%s' is the input trace: choose another name",
				  set->path);
	return slice_check("trim", &set->slice, 1);
}

int cli_trim(int argc, char **argv)
{
	struct settings set = { 0 };
	struct arguments arguments;
	struct excerpt_size size;
	struct trace *trace;
	int status;

	cli_parse(argc, argv, &set, &arguments);
	status = check_use(&set, &arguments);
	if (status)
		return status;
	cli_deadline(set.deadline);
	cli_show_work("trim");
	status = cli_open("trim", &arguments, 1, &trace);
	if (status)
		return status;
	status = slice_write("trim", &set.slice, arguments.at[0], trace, set.path, false, &size);
	if (!status && set.json)
		status = cli_status(put_size(&set, &size));
	else if (!status)
		print_size(&set, &size);
	if (!status && !set.json && (set.slice.last || set.slice.range.from.text))
		status = cli_status(report_before(set.path));
	trace_close(trace);
	return status;
}
