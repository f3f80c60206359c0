/*
 * verbatim trim: a part of a trace, as a trace
 *
 * Not here: which part (slice.c).
 */
#include <stdio.h>

#include "cli/cli.h"
#include "cli/format.h"
#include "cli/trace/slice.h"

struct settings {
	const char *path;
	struct slice slice;
	int64_t deadline;
};

/* clang-format off */
const struct option_row cli_trim_options[] = {
	{ "output", 'o', "FILE", "the trace to make", TEXT_AT(struct settings, path) },
	SLICE_OPTIONS(struct settings),
	CLI_DEADLINE(struct settings),
	{ 0 },
};
/* clang-format on */

static void tell_size(const struct settings *set, const struct excerpt_size *size)
{
	char events[FORMAT_TEXT], of[FORMAT_TEXT], objects[FORMAT_TEXT], of_objects[FORMAT_TEXT];

	printf("%s: %s of %s events, %s of %s objects\n", set->path,
	       format_count(size->events, events), format_count(size->of, of),
	       format_count(size->objects, objects), format_count(size->of_objects, of_objects));
}

static int check_use(const struct settings *set, const struct arguments *arguments)
{
	if (!set->path)
		return cli_misuse("trim", "where to is not given: -o FILE");
	if (arguments->n && cli_is_same_file(arguments->at[0], set->path))
		return cli_misuse("trim", "'%s' cannot become itself", set->path);
	return slice_check("trim", &set->slice);
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
	if (!status)
		tell_size(&set, &size);
	trace_close(trace);
	return status;
}
