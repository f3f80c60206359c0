/*
 * A slice of a trace, located and written
 */
#include "cli/part/slice.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/dump/objects.h"
#include "cli/quantity.h"
#include "core/base/text.h"
#include "core/store/excerpt/excerpt_from.h"
#include "core/store/excerpt/excerpt_only.h"
#include "core/store/read/trace.h"
#include "core/wire/log.h"

/* "qp1/2" of "qp=qp1/2", or of "qp1/2". */
static const char *strip_kind(const char *text)
{
	const char *equals = strchr(text, '=');

	return equals ? equals + 1 : text;
}

int slice_add_only(const char *text, void *field, char complaint[OPTIONS_COMPLAINT])
{
	struct slice_only *only = field;

	if (only->n == SLICE_ONLY_MAX) {
		snprintf(complaint, OPTIONS_COMPLAINT, "--only may be given at most %d times",
			 SLICE_ONLY_MAX);
		return -EINVAL;
	}
	if (*text == '=' || (*text >= '0' && *text <= '9') || !strip_kind(text)[0]) {
		snprintf(complaint, OPTIONS_COMPLAINT,
			 "--only takes process=P or an object such as qp1/2, not '%.60s'", text);
		return -EINVAL;
	}
	only->at[only->n++] = text;
	return 0;
}

/* The selected parts: either may be NULL. */
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

static int find_place(const char *command, struct trace *trace, const char *option,
		      struct event_id id, bool begin, struct excerpt_place *ret_place)
{
	int found = excerpt_find(trace, id, begin, ret_place);

	if (found < 0)
		return cli_status(found);
	return found ? CLI_FINE
		     : cli_misuse(command,
				  "the trace has no verb, fork or mark %u:%" PRIu64 " (--%s); "
				  "'verbatim dump' lists the events",
				  id.thread, id.n, option);
}

/* Does the event count for --last? Only lines of a dump do. */
static bool is_counted(const struct trace_event *event)
{
	return event->kind == TRACE_POST || event->kind == TRACE_POLL ||
	       event->kind == TRACE_NOTIFY ||
	       (event->kind == TRACE_CALL && !event->call->ours && !event->inner);
}

/* The first event from @from on after @skip others; counts them if @skip is UINT64_MAX. */
static int count_events(struct trace *trace, int64_t from, uint64_t skip, struct event_id *ret_id,
			uint64_t *ret_n)
{
	struct trace_filter filter = { .from = from, .unmatched = true };
	const struct trace_event *event;
	struct cursor *cursor;
	int err = cursor_open(trace, &filter, &cursor);

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
	int err = count_events(trace, INT64_MIN, UINT64_MAX, ret_id, &n);

	if (!err && n > last)
		err = count_events(trace, INT64_MIN, n - last, ret_id, &at);
	return cli_status(err);
}

/* The event that @point names, or the first one from its time on. */
static int find_first(const char *command, const struct point *point, struct trace *trace,
		      struct event_id *ret_id)
{
	uint64_t n;
	int err;

	*ret_id = point->id;
	if (!point->text || point->id.thread)
		return CLI_FINE;
	err = count_events(trace, point->time, 0, ret_id, &n);
	return !err && !ret_id->thread ? cli_misuse(command, "no events from %s on", point->text)
				       : (int)cli_status(err);
}

/* @ret_place: its thread is 0 if the slice begins with the trace. */
static int find_from(const char *command, const struct slice *slice, struct trace *trace,
		     const struct excerpt *excerpt, struct excerpt_place *ret_place)
{
	struct event_id id = { 0 };
	int status = slice->last ? find_last(trace, slice->last, &id)
				 : find_first(command, &slice->range.from, trace, &id);

	if (status || !id.thread)
		return status;
	status = find_place(command, trace, slice->last ? "last" : "from", id, true, ret_place);
	if (!status && !excerpt_includes_time(excerpt, ret_place->id, ret_place->time))
		return cli_misuse(command, "--%s %u:%" PRIu64 " is not before --to %s",
				  slice->last ? "last begins at" : "from", id.thread, id.n,
				  slice->range.to.text);
	return status;
}

static int find_to(const char *command, const struct point *to, struct trace *trace,
		   struct excerpt_place *ret_place)
{
	if (to->id.thread)
		return find_place(command, trace, "to", to->id, false, ret_place);
	if (to->text && to->time < 1)
		return cli_misuse(command, "no events before --to %s", to->text);
	if (to->text)
		*ret_place = (struct excerpt_place){ .time = to->time - 1 };
	return CLI_FINE;
}

/* Objects */

static int add_process(const char *command, const char *name, struct trace *trace,
		       struct excerpt_only *only)
{
	uint64_t process;

	if (!quantity_number(name, UINT32_MAX, &process) ||
	    !trace_process(trace, (uint32_t)process))
		return cli_misuse(command, "the trace has no process '%.60s'", name);
	excerpt_only_process(only, (uint32_t)process);
	return CLI_FINE;
}

/* Is the object of @kind, or is @kind "object"? */
static bool is_kind(const struct object *object, const char *kind)
{
	return !strcmp(kind, "object") || !strcmp(kind, object_names[object->kind]);
}

static int add_objects(const char *command, const char *kind, const char *name, struct trace *trace,
		       struct excerpt_only *only)
{
	const struct object *object;
	bool found = false;

	for (uint32_t id = 1; (object = trace_object(trace, id)); id++)
		if (is_kind(object, kind) && trace_object_is(trace, object, name)) {
			excerpt_only_object(only, id);
			found = true;
		}
	if (!found && strcmp(kind, "object") != 0)
		return cli_misuse(command, "the trace has no %.20s '%.60s'", kind, name);
	return found ? CLI_FINE : objects_refuse(command, trace, name);
}

static int add_selected_objects(const char *command, const struct slice *slice, struct trace *trace,
				struct choice_of_parts *parts)
{
	int status;

	if (!slice->only.n)
		return CLI_FINE;
	status = cli_status(excerpt_only_new(trace, &parts->only));
	for (size_t i = 0; i < slice->only.n && !status; i++) {
		const char *name = strip_kind(slice->only.at[i]);
		char kind[32] = "object";

		if (name > slice->only.at[i])
			snprintf(kind, sizeof(kind), "%.*s", (int)(name - slice->only.at[i]) - 1,
				 slice->only.at[i]);
		status = strcmp(kind, "process")
				 ? add_objects(command, kind, name, trace, parts->only)
				 : add_process(command, name, trace, parts->only);
	}
	return status ? status : (int)cli_status(excerpt_only_complete(parts->only));
}

bool slice_is_part(const struct slice *slice)
{
	return point_range_given(&slice->range) || slice->last || slice->only.n;
}

int slice_check(const char *command, const struct slice *slice, int n)
{
	if (n > 1 && slice_is_part(slice))
		return cli_misuse(command, "--from, --to, --last and --only take one trace: "
					   "'verbatim merge' makes one of several");
	if (*slice->range.from.trace || *slice->range.to.trace)
		return cli_misuse(command, "with one trace, events are given as T:N");
	if (slice->range.from.text && slice->last)
		return cli_misuse(command, "give --from or --last, not both");
	return CLI_FINE;
}

void slice_describe(const struct slice *slice, struct text *text)
{
	size_t start = text->used;

	if (slice->range.from.text)
		text_addf(text, " from %s", slice->range.from.text);
	if (slice->range.to.text)
		text_addf(text, " until %s", slice->range.to.text);
	if (slice->last)
		text_addf(text, slice->last == 1 ? " the last event" : " the last %u events",
			  slice->last);
	for (size_t i = 0; i < slice->only.n; i++)
		text_addf(text, " only %s", slice->only.at[i]);
	if (text->used > start && !text->failed) { /* the blank before the first */
		memmove(text->at + start, text->at + start + 1, text->used - start);
		text->used--;
	}
}

/* Describe the part in the new trace: "from 1:60 until 1:70 of t.db". */
static int describe_slice(const struct slice *slice, const char *path, struct text *what)
{
	const char *name = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;

	slice_describe(slice, what);
	text_addf(what, "%s of %s", what->used ? "" : "all", name);
	return what->failed ? log_err(-ENOMEM, "describe an excerpt of %s", path) : 0;
}

/* @ret_from: as for find_from(). */
static int find_slice(const char *command, const struct slice *slice, struct trace *trace,
		      struct excerpt *excerpt, struct choice_of_parts *parts,
		      struct excerpt_place *ret_from)
{
	int status = find_to(command, &slice->range.to, trace, &excerpt->until);

	*ret_from = (struct excerpt_place){ 0 };
	if (!status)
		status = find_from(command, slice, trace, excerpt, ret_from);
	return status ? status : add_selected_objects(command, slice, trace, parts);
}

int slice_find(const char *command, const struct slice *slice, struct trace *trace)
{
	struct choice_of_parts parts = { 0 };
	struct excerpt excerpt = EXCERPT_ALL;
	struct excerpt_place from;
	int status = find_slice(command, slice, trace, &excerpt, &parts, &from);

	excerpt_only_free(parts.only);
	return status;
}

/* Extend the slice by the requests that are outstanding at its beginning. */
static int find_outstanding_at(struct trace *trace, struct excerpt_place from,
			       struct excerpt *excerpt, struct choice_of_parts *parts)
{
	if (!from.id.thread)
		return CLI_FINE;
	excerpt->cut = from.time;
	return (int)cli_status(excerpt_from_new(trace, from, &parts->from));
}

int slice_write(const char *command, const struct slice *slice, const char *path,
		struct trace *trace, const char *to, bool scratch, struct excerpt_size *ret_size)
{
	struct choice_of_parts parts = { 0 };
	struct excerpt excerpt = EXCERPT_ALL;
	struct excerpt_place from;
	struct text what = { 0 };
	int status;

	excerpt.has = has_item;
	excerpt.arg = &parts;
	excerpt.scratch = scratch;
	status = find_slice(command, slice, trace, &excerpt, &parts, &from);
	if (!status)
		status = find_outstanding_at(trace, from, &excerpt, &parts);
	if (!status)
		status = cli_status(describe_slice(slice, path, &what));
	excerpt.what = what.at;
	if (!status)
		status = cli_status(excerpt_write(trace, &excerpt, to, ret_size));
	excerpt_from_free(parts.from);
	excerpt_only_free(parts.only);
	text_fini(&what);
	return status;
}
