/*
 * verbatim trim: a part of a trace, as a trace
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/cli.h"
#include "cli/format.h"
#include "cli/trace/select.h"
#include "core/base/text.h"
#include "core/store/excerpt/excerpt.h"
#include "core/wire/log.h"

struct settings {
	const char *path;
	struct select_event until;
	int64_t deadline;
};

const struct option_row cli_trim_options[] = {
	{ "output", 'o', "FILE", "the trace to make", TEXT_AT(struct settings, path) },
	{ "until", 0, "T:N", "all up to this event; what lives then is not destroyed",
	  PARSED_AT(struct settings, until, select_read_event) },
	CLI_DEADLINE(struct settings),
	{ 0 },
};

static int find_place(struct trace *trace, const char *option, struct event_id id,
		      struct excerpt_place *ret_place)
{
	int found = excerpt_find(trace, id, ret_place);

	if (found < 0)
		return cli_status(found);
	return found ? CLI_FINE
		     : cli_misuse("trim",
				  "the trace has no event %u:%" PRIu64 " (--%s); 'verbatim dump' "
				  "shows those that it has",
				  id.thread, id.n, option);
}

static void tell_size(const struct settings *set, const struct excerpt_size *size)
{
	char events[FORMAT_TEXT], of[FORMAT_TEXT], objects[FORMAT_TEXT], of_objects[FORMAT_TEXT];

	printf("%s: %s of %s events, %s of %s objects\n", set->path,
	       format_count(size->events, events), format_count(size->of, of),
	       format_count(size->objects, objects), format_count(size->of_objects, of_objects));
}

/* What the new trace says that it is: "until 1:60 of t.db". */
static int describe_part(const struct settings *set, const char *path, struct text *what)
{
	const char *name = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;

	if (set->until.id.thread)
		text_addf(what, "until %u:%" PRIu64 " ", set->until.id.thread, set->until.id.n);
	text_addf(what, "%sof %s", what->used ? "" : "all ", name);
	return what->failed ? log_err(-ENOMEM, "trim") : 0;
}

static int trim_trace(const struct settings *set, const char *path, struct trace *trace)
{
	struct excerpt excerpt = EXCERPT_ALL;
	struct excerpt_size size;
	struct text what = { 0 };
	int status = CLI_FINE, err;

	if (set->until.id.thread)
		status = find_place(trace, "until", set->until.id, &excerpt.until);
	if (status)
		return status;
	err = describe_part(set, path, &what);
	excerpt.what = what.at;
	if (!err)
		err = excerpt_write(trace, &excerpt, set->path, &size);
	if (!err)
		tell_size(set, &size);
	text_fini(&what);
	return cli_status(err);
}

/* The new trace would replace the old one. */
static int same_file(const char *from, const char *to)
{
	struct stat a, b;

	return !stat(from, &a) && !stat(to, &b) && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

int cli_trim(int argc, char **argv)
{
	struct settings set = { 0 };
	struct arguments arguments;
	struct trace *trace;
	int status;

	cli_parse(argc, argv, &set, &arguments);
	if (!set.path)
		return cli_misuse("trim", "where to is not given: -o FILE");
	if (arguments.n && same_file(arguments.at[0], set.path))
		return cli_misuse("trim", "'%s' cannot become itself", set.path);
	cli_deadline(set.deadline);
	status = cli_open("trim", &arguments, 1, &trace);
	if (status)
		return status;
	status = trim_trace(&set, arguments.at[0], trace);
	trace_close(trace);
	return status;
}
