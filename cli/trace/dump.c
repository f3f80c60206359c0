/*
 * verbatim dump: the events of a trace, a line each, in time order
 *
 *	seconds  T:N  comm:tid  verb(arguments) = result <duration>
 *
 * Not here: what follows the tag (render.c).
 */
#include <errno.h>
#include <inttypes.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/report/symbols.h"
#include "cli/trace/bytes.h"
#include "cli/trace/flushes.h"
#include "cli/cli.h"
#include "cli/format.h"
#include "cli/quantity.h"
#include "cli/verb_list.h"
#include "cli/trace/names.h"
#include "cli/trace/render.h"
#include "core/base/vec.h"
#include "core/store/read/trace.h"
#include "core/wire/log.h"
#include "core/wire/payload.h"
#include "core/base/printable.h"

enum { FRAMES_MAX = 128, INLINED_MAX = 16 };

struct dump {
	struct render render;
	struct trace *trace;
	struct trace_filter filter;
	int64_t to;             /* -1: to the end */
	struct event_id wanted; /* thread 0: none */
	int64_t deadline;
	const char *object; /* as it was asked for; NULL: any */
	uint32_t *objects;  /* their ids: several processes may have a qp2 */
	size_t nobjects;
	struct verb_list verbs;
	bool failed, frames, all;
	struct flushes flushes;
	uint64_t payload; /* core/wire/payload.h */
	bool found;
};

static int parse_verbs(const char *text, void *field, char complaint[OPTIONS_COMPLAINT])
{
	return verb_list_add(field, text, complaint);
}

static int parse_payload(const char *text, void *field, char complaint[OPTIONS_COMPLAINT])
{
	(void)complaint;
	return payload_parse(text, field) ? 0 : -EINVAL;
}

/* clang-format off */
const struct option_row cli_dump_options[] = {
	{ "thread", 't', "T", "only this thread of the trace",
	  NUMBER_AT(struct dump, filter.thread), .least = 1 },
	{ "process", 'p', "P", "only this process of the trace",
	  NUMBER_AT(struct dump, filter.process), .least = 1 },
	{ "object", 0, "NAME|ID", "only what concerns an object: qp2, or its id",
	  TEXT_AT(struct dump, object) },
	{ "verb", 0, "VERB[,VERB...]", "only these verbs, with or without ibv_",
	  PARSED_AT(struct dump, verbs, parse_verbs) },
	{ "from", 0, "SECONDS", "only from that time on", TIME_AT(struct dump, filter.from) },
	{ "to", 0, "SECONDS", "only before that time", TIME_AT(struct dump, to) },
	{ "failed", 0, NULL, "only what failed or never returned", FLAG_AT(struct dump, failed) },
	{ "all-frames", 0, NULL, "in call stacks also the functions of the recorder",
	  FLAG_AT(struct dump, frames) },
	{ "all", 0, NULL, "flushed completions one by one", FLAG_AT(struct dump, all) },
	{ "payload", 0, "none|hash|N|full", "what to show of payloads",
	  PARSED_AT(struct dump, payload, parse_payload), .preset = "hash" },
	CLI_DEADLINE(struct dump),
	{ 0 },
};
/* clang-format on */

static bool parse_id(const char *text, struct event_id *ret_id)
{
	size_t length = strcspn(text, ":");
	char thread[16];
	uint64_t number;

	snprintf(thread, sizeof(thread), "%.*s", (int)length, text);
	if (!text[length] || length >= sizeof(thread) ||
	    !quantity_number(thread, UINT32_MAX, &number) || !number ||
	    !quantity_number(text + length + 1, UINT64_MAX, &ret_id->n))
		return false;
	ret_id->thread = (uint32_t)number;
	return true;
}

/* Returns 0 or CLI_USAGE. */
static int complete_filter(struct dump *d, const struct arguments *arguments)
{
	if (d->to >= 0) /* the cursor's is still in, and 0 no end */
		d->filter.to = d->to > 1 ? d->to - 1 : -1;
	if (arguments->n > 1 && !parse_id(arguments->at[1], &d->wanted))
		return cli_misuse("dump", "'%s' names no event: give T:N", arguments->at[1]);
	if (d->wanted.thread)
		d->filter = (struct trace_filter){ .thread = d->wanted.thread };
	return 0;
}

static bool is_asked_for(const struct dump *d, const struct object *object)
{
	char id[16];

	snprintf(id, sizeof(id), "%u", object->id);
	return !strcmp(d->object, object->name) || !strcmp(d->object, id);
}

static int find_objects(struct dump *d)
{
	const struct object *object;

	for (uint32_t id = 1; d->object && (object = trace_object(d->trace, id)); id++) {
		uint32_t *place;

		if (!is_asked_for(d, object))
			continue;
		place = vec_push(d->objects, d->nobjects);
		if (!place)
			return cli_status(log_err(-ENOMEM, "look for object '%s'", d->object));
		*place = id;
	}
	return d->object && !d->nobjects
		       ? cli_misuse("dump", "the trace has no object '%s'", d->object)
		       : 0;
}

/* To ask for a thread, process or object that the trace lacks is wrong usage. */
static int check_filter(struct dump *d)
{
	if (d->filter.thread && !d->wanted.thread && !trace_thread(d->trace, d->filter.thread))
		return cli_misuse("dump", "the trace has no thread %u", d->filter.thread);
	if (d->filter.process && !trace_process(d->trace, d->filter.process))
		return cli_misuse("dump", "the trace has no process %u", d->filter.process);
	return find_objects(d);
}

static bool concerns_object(const struct dump *d, const struct trace_event *event)
{
	for (size_t i = 0; i < d->nobjects; i++)
		if (render_concerns(d->trace, event, trace_object(d->trace, d->objects[i])))
			return true;
	return false;
}

static bool has_verb(const struct verb_list *verbs, int verb)
{
	return verb >= 0 && verbs->has[verb];
}

static bool is_wanted(const struct dump *d, const struct trace_event *event)
{
	if (event->kind == TRACE_RETURN)
		return false;
	if (d->wanted.thread)
		return event->id.thread == d->wanted.thread && event->id.n == d->wanted.n &&
		       event->kind != TRACE_PROCESS && event->kind != TRACE_EXIT;
	if (event->kind == TRACE_CALL && event->call->ours)
		return false;
	if (d->verbs.given && !has_verb(&d->verbs, render_verb(event)))
		return false;
	if (d->failed && !render_failed(event))
		return false;
	return !d->object || concerns_object(d, event);
}

/* Without its newline. */
static void print_line(const struct dump *d, const struct trace_event *event)
{
	const struct thread *thread = trace_thread(d->trace, event->id.thread);
	char id[32], tag[40] = "-", shown[PRINTABLE_GROWS * sizeof(tag)];
	int pad;

	if (thread)
		snprintf(tag, sizeof(tag), "%s:%d", thread->comm, thread->tid);
	pad = 18 - (int)printable_text(shown, sizeof(shown), tag, strlen(tag));
	printf("%14.9f  %-8s  %s%*s  ", (double)event->time / 1e9, event_id_text(event->id, id),
	       shown, pad > 0 ? pad : 0, "");
	render_event(&d->render, event);
}

static int print_bytes(const struct dump *d, struct event_id id, uint32_t i)
{
	struct payload payload;
	int found = trace_payload(d->trace, id, i, &payload);

	if (found <= 0 || !payload.nbytes)
		return found;
	printf("    ");
	print_foreign(stdout, payload.kind);
	printf("[%u]\n", i);
	bytes_dump(stdout, &payload, d->payload, "      ");
	return 0;
}

/* The bytes of its requests or completions, if --payload asks for them. */
static int print_payloads(const struct dump *d, const struct trace_event *event)
{
	uint32_t n = event->kind == TRACE_POST   ? event->post->nwr
		     : event->kind == TRACE_POLL ? event->poll->nwc
						 : 0;
	int err = 0;

	if (!d->payload || d->payload == PAYLOAD_HASH)
		return 0;
	for (uint32_t i = 0; i < n && err >= 0; i++)
		err = print_bytes(d, event->id, i);
	return err;
}

/* Flushed completions of one queue pair are one line, unless their bytes follow. */
static int print_event(struct dump *d, const struct trace_event *event)
{
	bool one_by_one = d->all || d->wanted.thread || (d->payload && d->payload != PAYLOAD_HASH);

	if (!one_by_one && flushes_take(&d->flushes, event))
		return 0;
	flushes_end(&d->flushes);
	print_line(d, event);
	if (!one_by_one && flushes_only(event)) {
		flushes_begin(&d->flushes, event);
		return 0;
	}
	putchar('\n');
	return print_payloads(d, event);
}

static uint32_t event_stack(const struct trace_event *event)
{
	switch (event->kind) {
	case TRACE_CALL:
		return event->call->stack;
	case TRACE_FORK:
		return event->fork->stack;
	case TRACE_MEMORY:
		return event->memory->stack;
	case TRACE_MISUSE:
		return event->misuse->stack;
	case TRACE_POST:
		return event->post->stack;
	case TRACE_POLL:
		return event->poll->stack;
	default:
		return 0;
	}
}

static void print_stack(const struct dump *d, uint32_t stack)
{
	struct frame frames[FRAMES_MAX];
	struct symbol list[INLINED_MAX];
	unsigned int n = stack ? trace_stack(d->trace, stack, frames, FRAMES_MAX) : 0, line = 0;
	struct symbols *symbols;
	char text[512];

	if (!n || symbols_open(&symbols))
		return;
	printf("\ncalled from\n");
	for (unsigned int i = 0; i < n; i++) {
		unsigned int inside;

		if (!d->frames && frame_is_ours(&frames[i]))
			continue;
		inside = symbols_find(symbols, &frames[i], list, INLINED_MAX);
		for (unsigned int k = 0; k < inside; k++) {
			printf("  #%-2u ", line++);
			print_foreign(stdout, symbol_text(&list[k], text, sizeof(text)));
			putchar('\n');
		}
	}
	symbols_close(symbols);
}

static void print_object(const struct dump *d, uint32_t id)
{
	const struct object *object = id ? trace_object(d->trace, id) : NULL;
	char made[32], gone[32];

	if (!object)
		return;
	putchar('\n');
	print_foreign(stdout, object->name);
	printf(": object %u, handle 0x%" PRIx64 ", made by %s, ", object->id, object->handle,
	       event_id_text(object->created, made));
	if (object->destroyed.thread)
		printf("destroyed by %s\n", event_id_text(object->destroyed, gone));
	else
		printf("never destroyed\n");
}

static uint32_t event_object(const struct trace_event *event)
{
	switch (event->kind) {
	case TRACE_CALL:
		return event->call->object;
	case TRACE_POST:
		return event->post->object;
	case TRACE_POLL:
		return event->poll->object;
	case TRACE_NOTIFY:
		return event->notify->object;
	default:
		return 0;
	}
}

static int dump_events(struct dump *d)
{
	const struct trace_event *event;
	struct cursor *cursor;
	int err = cursor_open(d->trace, &d->filter, &cursor);

	if (err)
		return err;
	while ((err = cursor_next(cursor, &event)) > 0) {
		if (!is_wanted(d, event))
			continue;
		d->found = true;
		err = print_event(d, event);
		if (err < 0)
			break;
		if (!d->wanted.thread)
			continue;
		print_object(d, event_object(event));
		print_stack(d, event_stack(event));
		err = 0;
		break;
	}
	flushes_end(&d->flushes);
	cursor_close(cursor);
	return err;
}

/* Those that a trace does not say the type of are left out. */
static void find_datagrams(struct trace *trace, struct map *datagrams)
{
	static const char sql[] = "SELECT o.id FROM object o JOIN call c"
				  " ON c.thread = o.created_thread AND c.n = o.created_n"
				  " WHERE o.kind = 'qp' AND c.out LIKE"
				  " '%\"qp_type\":\"IBV_QPT_UD\"%'";
	sqlite3_stmt *stmt;

	if (sqlite3_prepare_v2(trace_db(trace), sql, -1, &stmt, NULL))
		return;
	while (sqlite3_step(stmt) == SQLITE_ROW)
		if (map_put(datagrams, (uint64_t)sqlite3_column_int64(stmt, 0), 1))
			break;
	sqlite3_finalize(stmt);
}

static int dump_trace(struct dump *d)
{
	struct map datagrams = { 0 };
	char id[32];
	int status = check_filter(d);

	if (status)
		return status;
	find_datagrams(d->trace, &datagrams);
	d->render = (struct render){
		.out = stdout,
		.trace = d->trace,
		.full = d->wanted.thread,
		.brief = !d->all && !d->wanted.thread,
		.payloads = d->payload && trace_has_payloads(d->trace),
		.names = names_new(d->trace),
		.datagrams = &datagrams,
	};
	cli_tell_waits(d->trace);
	status = cli_status(dump_events(d));
	names_free(d->render.names);
	map_fini(&datagrams);
	cli_tell_loss(d->trace);
	if (!status && d->wanted.thread && !d->found)
		return cli_misuse("dump", "the trace has no event %s",
				  event_id_text(d->wanted, id));
	return status;
}

int cli_dump(int argc, char **argv)
{
	struct dump d = { .to = -1 };
	struct arguments arguments;
	int status;

	cli_parse(argc, argv, &d, &arguments);
	cli_deadline(d.deadline);
	status = complete_filter(&d, &arguments);
	if (!status)
		status = cli_open("dump", &arguments, 2, &d.trace);
	if (status)
		return status;
	status = dump_trace(&d);
	trace_close(d.trace);
	free(d.objects);
	return status;
}
