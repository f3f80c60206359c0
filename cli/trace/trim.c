/*
 * verbatim trim: a part of a trace, as a trace
 *
 *	--from ... --until    a time (core/store/excerpt/excerpt_from.c)
 *	--only                objects (core/store/excerpt/excerpt_only.c)
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/cli.h"
#include "cli/format.h"
#include "cli/quantity.h"
#include "cli/trace/select.h"
#include "core/base/text.h"
#include "core/store/excerpt/excerpt.h"
#include "core/store/excerpt/excerpt_from.h"
#include "core/store/excerpt/excerpt_only.h"
#include "core/wire/log.h"

enum { ONLY_MAX = 64 };

struct settings {
	const char *path;
	struct select_event from, until;
	uint32_t last;
	struct only_list {
		size_t n;
		const char *at[ONLY_MAX];
	} only;
	int64_t deadline;
};

static int add_only(const char *text, void *field, char complaint[OPTIONS_COMPLAINT])
{
	struct only_list *only = field;

	if (only->n == ONLY_MAX) {
		snprintf(complaint, OPTIONS_COMPLAINT, "--only may be given %d times", ONLY_MAX);
		return -EINVAL;
	}
	if (!strchr(text, '=')) {
		snprintf(complaint, OPTIONS_COMPLAINT,
			 "--only is process=P or object=NAME, as in qp=qp1/2, not '%.60s'", text);
		return -EINVAL;
	}
	only->at[only->n++] = text;
	return 0;
}

const struct option_row cli_trim_options[] = {
	{ "output", 'o', "FILE", "the trace to make", TEXT_AT(struct settings, path) },
	{ "from", 0, "EVENT",
	  "from this event, T:N, on, with what brings all that lives then into its state",
	  PARSED_AT(struct settings, from, select_read_event) },
	{ "until", 0, "EVENT", "all up to this event, T:N; what lives then is not destroyed",
	  PARSED_AT(struct settings, until, select_read_event) },
	{ "last", 0, "N", "only the last N events, as by --from", NUMBER_AT(struct settings, last),
	  .least = 1 },
	{ "only", 0, "WHAT",
	  "only this process (process=2) or object (qp=qp1/2), with what it needs; may be repeated",
	  PARSED_AT(struct settings, only, add_only) },
	CLI_DEADLINE(struct settings),
	{ 0 },
};

/* What is chosen: either may be NULL. */
struct choice_of_parts {
	struct excerpt_from *from;
	struct excerpt_only *only;
};

static bool has_item(void *arg, const struct excerpt_item *item)
{
	const struct choice_of_parts *parts = arg;

	return (!parts->only || excerpt_only_has(parts->only, item)) &&
	       (!parts->from || excerpt_from_has(parts->from, item));
}

/* Times */

static int find_place(struct trace *trace, const char *option, struct event_id id, bool begin,
		      struct excerpt_place *ret_place)
{
	int found = excerpt_find(trace, id, begin, ret_place);

	if (found < 0)
		return cli_status(found);
	return found ? CLI_FINE
		     : cli_misuse("trim",
				  "the trace has no event %u:%" PRIu64 " (--%s); 'verbatim dump' "
				  "shows those that it has",
				  id.thread, id.n, option);
}

/* Does it count for --last? Lines of a dump do. */
static bool is_counted(const struct trace_event *event)
{
	return event->kind == TRACE_POST || event->kind == TRACE_POLL ||
	       event->kind == TRACE_NOTIFY ||
	       (event->kind == TRACE_CALL && !event->call->ours && !event->inner);
}

/* The event behind which @skip others are; counts them if @skip is UINT64_MAX. */
static int count_events(struct trace *trace, uint64_t skip, struct event_id *ret_id,
			uint64_t *ret_n)
{
	const struct trace_event *event;
	struct cursor *cursor;
	int err = cursor_open(trace, &(struct trace_filter){ .unmatched = true }, &cursor);

	*ret_n = 0;
	if (err)
		return err;
	while ((err = cursor_next(cursor, &event)) > 0)
		if (is_counted(event) && (*ret_n)++ == skip) {
			*ret_id = event->id;
			break;
		}
	cursor_close(cursor);
	return err < 0 ? err : 0;
}

static int find_last(struct trace *trace, uint32_t last, struct event_id *ret_id)
{
	uint64_t n, at;
	int err = count_events(trace, UINT64_MAX, ret_id, &n);

	if (!err && n > last)
		err = count_events(trace, n - last, ret_id, &at);
	return cli_status(err);
}

static int find_from(const struct settings *set, struct trace *trace, struct excerpt *excerpt,
		     struct choice_of_parts *parts)
{
	struct event_id id = set->from.id;
	struct excerpt_place place;
	int status = set->last ? find_last(trace, set->last, &id) : CLI_FINE;

	if (status || !id.thread)
		return status;
	status = find_place(trace, set->last ? "last" : "from", id, true, &place);
	if (status)
		return status;
	if (!excerpt_reaches(excerpt, place.id, place.time))
		return cli_misuse("trim", "--from %u:%" PRIu64 " is behind --until", id.thread,
				  id.n);
	excerpt->cut = place.time;
	return cli_status(excerpt_from_new(trace, place, &parts->from));
}

/* Objects */

static int add_process(const char *name, struct trace *trace, struct excerpt_only *only)
{
	uint64_t process;

	if (!quantity_number(name, UINT32_MAX, &process) ||
	    !trace_process(trace, (uint32_t)process))
		return cli_misuse("trim", "the trace has no process '%.60s'", name);
	excerpt_only_process(only, (uint32_t)process);
	return CLI_FINE;
}

/* "qp1", or "qp1/2" of process 2; of a kind, unless that is "object". */
static bool is_named(const struct object *object, const char *kind, const char *name)
{
	size_t n = strlen(object->name);

	if (strcmp(kind, "object") != 0 && strcmp(kind, object_names[object->kind]) != 0)
		return false;
	if (strncmp(object->name, name, n) != 0)
		return false;
	return !name[n] || (name[n] == '/' && strtoul(name + n + 1, NULL, 10) == object->process);
}

static int add_objects(const char *kind, const char *name, struct trace *trace,
		       struct excerpt_only *only)
{
	const struct object *object;
	bool found = false;

	for (uint32_t id = 1; (object = trace_object(trace, id)); id++)
		if (is_named(object, kind, name)) {
			excerpt_only_object(only, id);
			found = true;
		}
	return found ? CLI_FINE : cli_misuse("trim", "the trace has no %.20s '%.60s'", kind, name);
}

static int find_only(const struct settings *set, struct trace *trace, struct choice_of_parts *parts)
{
	int status;

	if (!set->only.n)
		return CLI_FINE;
	status = cli_status(excerpt_only_new(trace, &parts->only));
	for (size_t i = 0; i < set->only.n && !status; i++) {
		const char *name = strchr(set->only.at[i], '=') + 1;
		char kind[32];

		snprintf(kind, sizeof(kind), "%.*s", (int)(name - set->only.at[i]) - 1,
			 set->only.at[i]);
		status = strcmp(kind, "process") ? add_objects(kind, name, trace, parts->only)
						 : add_process(name, trace, parts->only);
	}
	return status ? status : (int)cli_status(excerpt_only_complete(parts->only));
}

/* The trace */

static void tell_size(const struct settings *set, const struct excerpt_size *size)
{
	char events[FORMAT_TEXT], of[FORMAT_TEXT], objects[FORMAT_TEXT], of_objects[FORMAT_TEXT];

	printf("%s: %s of %s events, %s of %s objects\n", set->path,
	       format_count(size->events, events), format_count(size->of, of),
	       format_count(size->objects, objects), format_count(size->of_objects, of_objects));
}

/* What the new trace says that it is: "from 1:60 until 1:70 of t.db". */
static int describe_part(const struct settings *set, const char *path, struct text *what)
{
	const char *name = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;

	if (set->from.id.thread)
		text_addf(what, "from %u:%" PRIu64 " ", set->from.id.thread, set->from.id.n);
	if (set->until.id.thread)
		text_addf(what, "until %u:%" PRIu64 " ", set->until.id.thread, set->until.id.n);
	if (set->last)
		text_addf(what, "the last %u events ", set->last);
	for (size_t i = 0; i < set->only.n; i++)
		text_addf(what, "only %s ", set->only.at[i]);
	text_addf(what, "%sof %s", what->used ? "" : "all ", name);
	return what->failed ? log_err(-ENOMEM, "trim") : 0;
}

static int write_part(const struct settings *set, const char *path, struct trace *trace,
		      struct excerpt *excerpt)
{
	struct excerpt_size size;
	struct text what = { 0 };
	int err = describe_part(set, path, &what);

	excerpt->what = what.at;
	if (!err)
		err = excerpt_write(trace, excerpt, set->path, &size);
	if (!err)
		tell_size(set, &size);
	text_fini(&what);
	return cli_status(err);
}

static int trim_trace(const struct settings *set, const char *path, struct trace *trace)
{
	struct choice_of_parts parts = { 0 };
	struct excerpt excerpt = EXCERPT_ALL;
	int status = CLI_FINE;

	excerpt.has = has_item;
	excerpt.arg = &parts;
	if (set->until.id.thread)
		status = find_place(trace, "until", set->until.id, false, &excerpt.until);
	if (!status)
		status = find_from(set, trace, &excerpt, &parts);
	if (!status)
		status = find_only(set, trace, &parts);
	if (!status)
		status = write_part(set, path, trace, &excerpt);
	excerpt_from_free(parts.from);
	excerpt_only_free(parts.only);
	return status;
}

/* The new trace would replace the old one. */
static int same_file(const char *from, const char *to)
{
	struct stat a, b;

	return !stat(from, &a) && !stat(to, &b) && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

static int check_use(const struct settings *set, const struct arguments *arguments)
{
	if (!set->path)
		return cli_misuse("trim", "where to is not given: -o FILE");
	if (*set->from.trace || *set->until.trace)
		return cli_misuse("trim", "one trace is given: its events are T:N");
	if (set->from.id.thread && set->last)
		return cli_misuse("trim", "give --from or --last, not both");
	if (arguments->n && same_file(arguments->at[0], set->path))
		return cli_misuse("trim", "'%s' cannot become itself", set->path);
	return CLI_FINE;
}

int cli_trim(int argc, char **argv)
{
	struct settings set = { 0 };
	struct arguments arguments;
	struct trace *trace;
	int status;

	cli_parse(argc, argv, &set, &arguments);
	status = check_use(&set, &arguments);
	if (status)
		return status;
	cli_deadline(set.deadline);
	status = cli_open("trim", &arguments, 1, &trace);
	if (status)
		return status;
	status = trim_trace(&set, arguments.at[0], trace);
	trace_close(trace);
	return status;
}
