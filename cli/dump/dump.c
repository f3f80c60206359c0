/*
 * verbatim dump: the events of a trace, one line each, in time order
 *
 *	seconds  T:N  comm:tid  verb(arguments) = result <duration>
 *
 * Not here: what follows the tag (render.c).
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/dump/event_object.h"
#include "cli/dump/bytes.h"
#include "cli/dump/flushes.h"
#include "cli/cli.h"
#include "cli/format.h"
#include "cli/pager.h"
#include "cli/screen.h"
#include "core/base/digits.h"
#include "core/base/style.h"
#include "cli/dump/job.h"
#include "cli/dump/json_event.h"
#include "cli/dump/line.h"
#include "cli/dump/names.h"
#include "cli/dump/render.h"
#include "cli/dump/select.h"
#include "cli/dump/stacks.h"
#include "cli/dump/values.h"
#include "cli/dump/window.h"
#include "core/store/read/joint.h"
#include "core/store/read/lookup.h"
#include "core/wire/log.h"
#include "core/wire/payload.h"
#include "core/base/printable.h"

enum {
	MORE = 24,  /* columns before the rest of a line that is wrapped */
	WIDE = 120, /* columns from which a line has room for the names of threads */
};

struct dump {
	struct render render;
	struct trace *trace;
	struct select select;
	int64_t deadline;
	bool with_stacks, frames, all, uncut;
	struct line line;
	unsigned int json;
	struct json_event events;
	struct text text;      /* the event as JSON */
	struct stacks *stacks; /* NULL: call stacks are not shown */
	struct flushes flushes;
	uint64_t payload;          /* core/wire/payload.h */
	struct window window;      /* of --around */
	struct select_lines lines; /* to be printed */
	uint64_t nth;              /* the event's line, of those in the window; 0: none yet */
	bool outside;              /* the last line is not in the window */
	bool counting;             /* true until the first line is printed */
};

static int parse_payload(const char *text, void *field, char complaint[OPTIONS_COMPLAINT])
{
	(void)complaint;
	return payload_parse(text, field) ? 0 : -EINVAL;
}

/* clang-format off */
const struct option_row cli_dump_options[] = {
	SELECT_OPTIONS(struct dump),
	CLI_FORMAT(struct dump),
	{ "stacks", 'k', NULL, "print the call stack of each event",
	  FLAG_AT(struct dump, with_stacks) },
	{ "names", 'y', NULL, "print numbers, keys and peers next to object names",
	  FLAG_AT(struct dump, render.beside) },
	{ "all-frames", 0, NULL, "include functions of the recorder in call stacks",
	  FLAG_AT(struct dump, frames) },
	{ "all", 0, NULL, "print flushed completions one by one", FLAG_AT(struct dump, all) },
	{ "payload", 0, "none|hash|N|full", "how to print payloads",
	  PARSED_AT(struct dump, payload, parse_payload), .preset = "hash" },
	{ "full", 0, NULL, "do not shorten lines to the width of the terminal",
	  FLAG_AT(struct dump, uncut) },
	CLI_DEADLINE(struct dump),
	{ 0 },
};
/* clang-format on */

static bool is_shown(const struct dump *d)
{
	return !d->counting && !d->outside && d->nth >= d->lines.first && d->nth <= d->lines.last;
}

static int print_json(struct dump *d, const struct trace_event *event)
{
	text_cut(&d->text, 0);
	if (json_event_put(&d->events, event, stacks_find(d->stacks, event_find_stack(event)),
			   select_is_around(&d->select, event)))
		return log_err(-ENOMEM, "print an event");
	fwrite(d->text.at, 1, d->text.used, stdout);
	return 0;
}

/* Begin the rest of a line: on the same line, or on a new one if lines are cut. */
static FILE *begin_continuation(struct dump *d)
{
	if (!d->line.columns) {
		fputc(' ', stdout);
		return stdout;
	}
	line_end(&d->line);
	d->render.out = line_begin(&d->line);
	print_blanks(d->render.out, MORE);
	return d->render.out;
}

/* " by to_rts (app.c:20) < main (app.c:66)" */
static void print_brief_stack(struct dump *d, const struct trace_event *event)
{
	const struct stack *stack = stacks_find(d->stacks, event_find_stack(event));
	FILE *out;

	if (!stack || !stack->brief || d->select.nasked)
		return;
	out = begin_continuation(d);
	fputs(d->line.columns ? "by " : " by ", out);
	style_put(out, STYLE_DIM);
	print_untrusted(out, stack->brief);
	style_put(out, STYLE_PLAIN);
}

/* On a narrow terminal, print statuses on a line of their own. */
static void print_failure(struct dump *d, const struct trace_event *event)
{
	char id[32];
	FILE *out;

	if (event->kind != TRACE_POLL || !d->line.columns || d->line.columns >= WIDE)
		return;
	for (uint32_t i = 0; i < event->poll->nwc; i++) {
		const struct wc *wc = &event->poll->wc[i];

		if (!wc->status || !choice_has_wc(&d->select.choice, wc))
			continue;
		out = begin_continuation(d);
		style_put(out, STYLE_ERROR);
		values_print_enum(out, enum_find("ibv_wc_status"), wc->status);
		style_put(out, STYLE_PLAIN);
		if (wc->request.thread)
			fprintf(out, " of %s", event_id_text(wc->request, id));
		return;
	}
}

/* In seconds, with all digits; a double has them only for times of less than some weeks. */
static void print_time(FILE *out, int64_t time)
{
	enum { SECOND = 1000000000 };
	uint64_t ns = time < 0 ? -(uint64_t)time : (uint64_t)time;
	char text[DIGITS_MAX + 16], digits[DIGITS_MAX];
	size_t used = time < 0, n = digits_decimal(digits, ns % SECOND);

	text[0] = '-';
	used += digits_decimal(text + used, ns / SECOND);
	memcpy(text + used, ".000000000", 10);
	memcpy(text + used + 10 - n, digits, n);
	used += 10;
	print_blanks(out, 14 - (int)used);
	fwrite(text, 1, used, out);
	fputs("  ", out);
}

/* "app:1234" */
static void print_tag(FILE *out, const struct thread *thread)
{
	enum { NAME = 32 };
	char shown[PRINTABLE_GROWS * NAME + 2 + DIGITS_MAX];
	int64_t tid = thread->tid;
	size_t n = printable_text(shown, PRINTABLE_GROWS * NAME, thread->comm,
				  strnlen(thread->comm, NAME));

	shown[n++] = ':';
	if (tid < 0)
		shown[n++] = '-';
	n += digits_decimal(shown + n, (uint64_t)(tid < 0 ? -tid : tid));
	fwrite(shown, 1, n, out);
	print_blanks(out, 18 - (int)n);
}

/* If a line has no room for the name of the thread, T identifies it. */
static void print_thread(struct dump *d, FILE *out, const struct trace_event *event)
{
	const struct thread *thread = trace_thread(d->trace, event->id.thread);
	char id[32];

	style_put(out, STYLE_DIM);
	print_time(out, event->time);
	style_put(out, STYLE_PLAIN);
	style_text(out, STYLE_NAME, event_id_text(event->id, id));
	print_blanks(out, 8 - (int)strlen(id));
	style_put(out, STYLE_DIM);
	if (!d->line.columns || d->line.columns >= WIDE) {
		fputs("  ", out);
		if (thread)
			print_tag(out, thread);
		else
			fprintf(out, "%-18s", "-");
	}
	style_put(out, STYLE_PLAIN);
	fputs("  ", out);
}

/* Print the line of @event, without a newline. */
static void print_line(struct dump *d, const struct trace_event *event)
{
	bool marked = select_is_around(&d->select, event);

	d->render.out = line_begin(&d->line);
	if (d->select.around.thread) {
		style_put(d->render.out, marked ? STYLE_WARNING : STYLE_PLAIN);
		fputs(marked ? "> " : "  ", d->render.out);
	}
	print_thread(d, d->render.out, event);
	render_event(&d->render, event);
	print_failure(d, event);
	print_brief_stack(d, event);
}

static int print_bytes(const struct dump *d, struct event_id id, uint32_t i)
{
	struct payload payload;
	int found = trace_payload(d->trace, id, i, &payload);

	if (found <= 0 || !payload.nbytes)
		return found;
	printf("    ");
	print_untrusted(stdout, payload.kind);
	printf("[%u]\n", i);
	bytes_print_dump(stdout, &payload, d->payload, "      ");
	return 0;
}

/* Print the bytes of the event's requests or completions, if --payload asks for them. */
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

/* Does a flush have a line of its own? Otherwise flushes of one queue pair share a line. */
static bool has_own_line(const struct dump *d, const struct trace_event *event)
{
	return d->all || d->json || d->select.nasked || d->select.choice.wr_id.given ||
	       (d->payload && d->payload != PAYLOAD_HASH) || select_is_around(&d->select, event);
}

static void end_flush_run(struct dump *d)
{
	if (d->flushes.open && is_shown(d)) {
		if (d->flushes.more)
			flushes_print(begin_continuation(d), &d->flushes);
		line_end(&d->line);
	}
	d->flushes.open = false;
}

/* Count a new line, of @event. */
static int count_line(struct dump *d, const struct trace_event *event)
{
	bool around = select_is_around(&d->select, event);

	if (d->select.around.thread && d->counting) {
		d->nth++;
		return window_count(&d->window, event->id.thread, around)
			       ? log_err(-ENOMEM, "count the lines of the threads")
			       : 0;
	}
	d->outside = d->select.around.thread && !window_has(&d->window, event->id.thread, around);
	d->nth += !d->outside;
	return 0;
}

static int count_event_line(struct dump *d, const struct trace_event *event)
{
	bool apart = has_own_line(d, event);
	int err;

	if (!apart && flushes_add(&d->flushes, event))
		return 0;
	end_flush_run(d);
	err = count_line(d, event);
	if (err)
		return err;
	if (is_shown(d) && d->json)
		return print_json(d, event);
	if (is_shown(d))
		print_line(d, event);
	if (!apart && flushes_only(event)) { /* more flushes may continue the line */
		flushes_begin(&d->flushes, event);
		return 0;
	}
	if (!is_shown(d))
		return 0;
	line_end(&d->line);
	return print_payloads(d, event);
}

static void print_stack(const struct dump *d, uint32_t id)
{
	const struct stack *stack = stacks_find(d->stacks, id);

	if (!stack)
		return;
	printf("\ncalled from\n");
	for (size_t i = 0; i < stack->n; i++) {
		style_put(stdout, STYLE_DIM);
		printf("  #%-2zu ", i);
		print_untrusted(stdout, stack->functions[i]);
		style_put(stdout, STYLE_PLAIN);
		putchar('\n');
	}
	if (stack->python)
		printf("  (frames of Python code are not recorded)\n");
}

static void print_object(const struct dump *d, uint32_t id)
{
	const struct object *object = id ? trace_object(d->trace, id) : NULL;
	char made[32], gone[32];

	if (!object)
		return;
	putchar('\n');
	print_untrusted(stdout, object->name);
	printf(": object %u, handle 0x%" PRIx64 ", created by %s, ",
	       trace_part_object(d->trace, object->process, object->id), object->handle,
	       event_id_text(object->created, made));
	if (object->destroyed.thread)
		printf("destroyed by %s\n", event_id_text(object->destroyed, gone));
	else
		printf("never destroyed\n");
}

static bool are_lines_over(const struct dump *d)
{
	if (!d->counting)
		return d->nth > d->lines.last || (d->outside && d->nth == d->lines.last);
	return d->select.around.thread && window_is_full(&d->window);
}

static void print_details(const struct dump *d, const struct trace_event *event)
{
	print_object(d, event_find_object(event));
	print_stack(d, event_find_stack(event));
}

static int read_events(struct dump *d)
{
	struct trace_filter filter = select_filter(&d->select);
	const struct trace_event *event;
	struct cursor *cursor;
	int err = cursor_open(d->trace, &filter, &cursor);

	if (err)
		return err;
	d->nth = 0;
	while ((err = cursor_next(cursor, &event)) > 0 && !are_lines_over(d)) {
		if (!select_has(&d->select, d->trace, event))
			continue;
		err = count_event_line(d, event);
		if (err < 0)
			break;
		if (!d->select.nasked)
			continue;
		if (!d->json)
			print_details(d, event);
		select_remove_wanted(&d->select, event);
		if (!d->select.nwanted)
			break;
		if (!d->json)
			putchar('\n');
	}
	end_flush_run(d);
	cursor_close(cursor);
	return err < 0 ? err : 0;
}

/* The lines to print may be known only after counting all: two passes, since no line is stored. */
static int dump_events(struct dump *d)
{
	int err;

	d->window.context = d->select.context;
	d->lines = (struct select_lines){ 1, UINT64_MAX };
	if (select_counts(&d->select)) {
		d->counting = true;
		err = read_events(d);
		d->counting = false;
		if (err || (d->select.around.thread && !d->window.found))
			return err;
		d->lines = select_lines(&d->select,
					d->select.around.thread ? window_size(&d->window) : d->nth);
	}
	return read_events(d);
}

/* The queue pairs of one trace, by their numbers in all traces. */
struct datagrams {
	struct trace *trace;
	size_t part;
	struct map *found;
};

static bool note_datagrams(void *arg, uint32_t qp)
{
	const struct datagrams *to = arg;

	return !map_put(to->found, trace_whole_object(to->trace, to->part, qp), 1);
}

static void find_datagrams(struct trace *trace, struct map *datagrams)
{
	for (size_t i = 0; i < trace_nparts(trace); i++)
		lookup_datagram_qps(trace_part(trace, i), note_datagrams,
				    &(struct datagrams){ trace, i, datagrams });
}

static int check_found(const struct dump *d)
{
	const struct select *s = &d->select;
	struct event_id id = s->nasked ? s->wanted[0] : s->around;
	bool found = s->nasked ? !s->nwanted : d->window.found;
	char text[32];

	if ((!s->nasked && !id.thread) || found)
		return CLI_FINE;
	return cli_misuse("dump", "the trace has no event %s", event_id_text(id, text));
}

static int dump_trace(struct dump *d)
{
	struct map datagrams = { 0 };
	int status = select_begin("dump", &d->select, d->trace), err;

	if (status)
		return status;
	find_datagrams(d->trace, &datagrams);
	d->render = (struct render){
		.out = stdout,
		.trace = d->trace,
		.full = d->select.nasked,
		.brief = !d->all && !d->select.nasked && !d->select.choice.wr_id.given,
		.payloads = d->payload && trace_has_payloads(d->trace),
		.names = names_new(d->trace),
		.beside = d->render.beside,
		.datagrams = &datagrams,
		.choice = &d->select.choice,
	};
	if (d->with_stacks || d->select.nasked)
		d->stacks = stacks_new(d->trace, d->frames);
	d->events = (struct json_event){
		.render = &d->render,
		.bytes = d->payload == PAYLOAD_HASH ? 0 : d->payload,
	};
	err = json_values_init(&d->events.values, d->trace, d->render.names, &d->text);
	d->events.values.beside = d->render.beside;
	cli_report_waits(d->trace, false);
	if (err)
		status = cli_status(log_err(err, "print events"));
	else
		status = cli_status(dump_events(d));
	json_values_fini(&d->events.values);
	text_fini(&d->text);
	line_fini(&d->line);
	stacks_free(d->stacks);
	names_free(d->render.names);
	map_fini(&datagrams);
	cli_report_loss(d->trace);
	return status ? status : check_found(d);
}

/* A deadline is for output that is not read interactively. */
static void open_screen(struct dump *d)
{
	if (!d->uncut && !d->select.nasked && isatty(STDOUT_FILENO))
		d->line.columns = screen_columns(STDOUT_FILENO);
	if (d->deadline)
		pager_cancel();
}

int cli_dump(int argc, char **argv)
{
	struct dump d = { .select.context = SELECT_CONTEXT };
	char complaint[OPTIONS_COMPLAINT];
	struct arguments arguments, traces, left;
	int status;

	cli_parse(argc, argv, &d, &arguments);
	cli_deadline(d.deadline);
	if (!isatty(STDOUT_FILENO)) /* on a terminal progress is visible */
		cli_show_work("dump");
	job_split(&arguments, &traces, &left);
	for (int i = 0; i < left.n; i++)
		if (select_add_event(&d.select, left.at[i], complaint))
			return cli_misuse("dump", "%s", complaint);
	status = job_open("dump", &traces, &d.trace);
	if (status)
		return status;
	open_screen(&d);
	status = dump_trace(&d);
	pager_close();
	window_fini(&d.window);
	trace_close(d.trace);
	select_end(&d.select);
	return status;
}
