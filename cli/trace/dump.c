/*
 * verbatim dump: the events of a trace, a line each, in time order
 *
 *	seconds  T:N  comm:tid  verb(arguments) = result <duration>
 *
 * Not here: what follows the tag (render.c).
 */
#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/symbols.h"
#include "cli/trace/bytes.h"
#include "cli/cli.h"
#include "cli/format.h"
#include "cli/options.h"
#include "cli/trace/render.h"
#include "core/store/read/trace.h"
#include "core/wire/log.h"
#include "core/wire/payload.h"
#include "core/base/printable.h"

enum { THREAD, PROCESS, OBJECT, VERB, FROM, TO, FAILED, PAYLOAD, DEADLINE,
       FRAMES_MAX = 128, INLINED_MAX = 16 };

static const struct option_row rows[] = {
	[THREAD] = { "thread", 't', "T", "only this thread of the trace" },
	[PROCESS] = { "process", 'p', "P", "only this process of the trace" },
	[OBJECT] = { "object", 0, "NAME|ID", "only what concerns an object: qp2, or its id" },
	[VERB] = { "verb", 0, "NAME", "only this verb, with or without ibv_" },
	[FROM] = { "from", 0, "SECONDS", "only from that time on" },
	[TO] = { "to", 0, "SECONDS", "only before that time" },
	[FAILED] = { "failed", 0, NULL, "only what failed or never returned" },
	[PAYLOAD] = { "payload", 0, "none|hash|N|full", "what to show of payloads; hash" },
	[DEADLINE] = CLI_DEADLINE,
	{ 0 },
};

struct dump {
	struct render render;
	struct trace *trace;
	struct trace_filter filter;
	struct event_id wanted; /* thread 0: none */
	const char *object;     /* as it was asked for; NULL: any */
	uint32_t *objects;      /* which these are: several processes may have a qp2 */
	uint32_t nobjects;
	int verb;               /* -1: any */
	bool failed;
	uint64_t payload; /* core/wire/payload.h */
	bool found;
};

/* A number up to @most that ends with @end. Returns what is behind that, NULL if it is none. */
static const char *parse_number(const char *text, char end, uint64_t most, uint64_t *ret)
{
	char *at;

	errno = 0;
	*ret = strtoull(text, &at, 10);
	return isdigit((unsigned char)*text) && !errno && *ret <= most && *at == end ? at + 1 : NULL;
}

static bool parse_id(const char *text, struct event_id *ret_id)
{
	uint64_t thread, n;
	const char *at = parse_number(text, ':', UINT32_MAX, &thread);

	if (!at || !thread || !parse_number(at, '\0', UINT64_MAX, &n))
		return false;
	*ret_id = (struct event_id){ (uint32_t)thread, n };
	return true;
}

static int parse_filter_id(const char *what, const char *text, uint32_t *ret)
{
	uint64_t n = 0;

	if (text && (!parse_number(text, '\0', UINT32_MAX, &n) || !n))
		return cli_misuse("dump", "--%s takes a number of the trace, not '%s'", what, text);
	*ret = (uint32_t)n;
	return 0;
}

static int parse_seconds(const char *what, const char *text, int64_t *ret_ns)
{
	char *end;
	double seconds = text ? strtod(text, &end) : 0;

	if (text && (end == text || *end || !(seconds >= 0 && seconds < 1e9)))
		return cli_misuse("dump", "--%s takes seconds, not '%s'", what, text);
	*ret_ns = (int64_t)(seconds * 1e9 + 0.5);
	return 0;
}

static int read_options(struct dump *d, const struct options *options)
{
	const char *verb = options->value[VERB];
	int err = parse_filter_id("thread", options->value[THREAD], &d->filter.thread);

	if (!err)
		err = parse_filter_id("process", options->value[PROCESS], &d->filter.process);
	if (!err)
		err = parse_seconds("from", options->value[FROM], &d->filter.from);
	if (!err)
		err = parse_seconds("to", options->value[TO], &d->filter.to);
	if (err)
		return err;
	if (options->value[TO]) /* the cursor's is still in, and 0 no end */
		d->filter.to = d->filter.to > 1 ? d->filter.to - 1 : -1;
	d->verb = verb ? verb_find(verb) : -1;
	if (verb && d->verb < 0)
		return cli_misuse("dump", "there is no verb '%s'", verb);
	if (!payload_parse(options->value[PAYLOAD] ? options->value[PAYLOAD] : "hash", &d->payload))
		return cli_misuse("dump", "--payload is none, hash, full, or so many first bytes, "
					  "not '%s'", options->value[PAYLOAD]);
	d->object = options->value[OBJECT];
	d->failed = options->value[FAILED];
	if (options->nargs > 1 && !parse_id(options->args[1], &d->wanted))
		return cli_misuse("dump", "'%s' names no event: give T:N", options->args[1]);
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
		uint32_t *more;

		if (!is_asked_for(d, object))
			continue;
		more = realloc(d->objects, (d->nobjects + 1) * sizeof(*more));
		if (!more)
			return cli_status(log_err(-ENOMEM, "look for object '%s'", d->object));
		d->objects = more;
		more[d->nobjects++] = id;
	}
	return d->object && !d->nobjects ?
	       cli_misuse("dump", "the trace has no object '%s'", d->object) : 0;
}

/* What is asked for and is not there is a mistake, and no empty answer. */
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
	for (uint32_t i = 0; i < d->nobjects; i++)
		if (render_concerns(d->trace, event, trace_object(d->trace, d->objects[i])))
			return true;
	return false;
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
	if (d->verb >= 0 && render_verb(event) != d->verb)
		return false;
	if (d->failed && !render_failed(event))
		return false;
	return !d->object || concerns_object(d, event);
}

static void print_line(const struct dump *d, const struct trace_event *event)
{
	const struct thread *thread = trace_thread(d->trace, event->id.thread);
	char id[32], tag[40] = "-", shown[PRINTABLE_GROWS * sizeof(tag)];
	int pad;

	if (thread)
		snprintf(tag, sizeof(tag), "%s:%d", thread->comm, thread->tid);
	pad = 18 - (int)printable(shown, sizeof(shown), tag, strlen(tag));
	printf("%14.9f  %-8s  %s%*s  ", (double)event->time / 1e9, event_id_text(event->id, id),
	       shown, pad > 0 ? pad : 0, "");
	render_event(&d->render, event);
	putchar('\n');
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

/* The bytes of its requests or completions, where they are asked for. */
static int print_payloads(const struct dump *d, const struct trace_event *event)
{
	uint32_t n = event->kind == TRACE_POST ? event->post->nwr :
		     event->kind == TRACE_POLL ? event->poll->nwc : 0;
	int err = 0;

	if (!d->payload || d->payload == PAYLOAD_HASH)
		return 0;
	for (uint32_t i = 0; i < n && err >= 0; i++)
		err = print_bytes(d, event->id, i);
	return err;
}

static uint32_t event_stack(const struct trace_event *event)
{
	switch (event->kind) {
	case TRACE_CALL:
		return event->call->stack;
	case TRACE_FORK:
		return event->fork->stack;
	case TRACE_POST:
		return event->post->stack;
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
		unsigned int inside = symbols_find(symbols, &frames[i], list, INLINED_MAX);

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
		print_line(d, event);
		err = print_payloads(d, event);
		if (err < 0)
			break;
		if (!d->wanted.thread)
			continue;
		print_object(d, event_object(event));
		print_stack(d, event_stack(event));
		err = 0;
		break;
	}
	cursor_close(cursor);
	return err;
}

static int dump(struct dump *d)
{
	char id[32];
	int status = check_filter(d);

	if (status)
		return status;
	d->render = (struct render){ stdout, d->trace, d->wanted.thread,
				     d->payload && trace_has_payloads(d->trace) };
	status = cli_status(dump_events(d));
	cli_tell_loss(d->trace);
	if (!status && d->wanted.thread && !d->found)
		return cli_misuse("dump", "the trace has no event %s", event_id_text(d->wanted, id));
	return status;
}

int cli_dump(int argc, char **argv)
{
	struct dump d = { 0 };
	struct options options;
	int status;

	options_parse(argc, argv, rows, false, &options);
	status = cli_deadline("dump", options.value[DEADLINE]);
	if (!status)
		status = read_options(&d, &options);
	if (!status)
		status = cli_open("dump", options.nargs > 2 ? options.nargs : options.nargs > 0,
				  options.args, &d.trace);
	if (status)
		return status;
	status = dump(&d);
	trace_close(d.trace);
	free(d.objects);
	return status;
}
