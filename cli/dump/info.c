/*
 * verbatim info: summarises a trace for a reader who did not record it
 *
 * It reads only the small tables: quick, however long the trace. Faults of the trace itself come
 * first.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>

#include "cli/cli.h"
#include "cli/format.h"
#include "cli/table.h"
#include "core/store/read/lookup.h"
#include "core/store/read/merged.h"
#include "core/store/read/trace.h"
#include "core/base/printable.h"
#include "core/base/style.h"

struct settings {
	unsigned int json;
	int64_t deadline;
};

const struct option_row cli_info_options[] = {
	CLI_FORMAT(struct settings),
	CLI_DEADLINE(struct settings),
	{ 0 },
};

/* clang-format off */
/* The parts of the report; only a merged trace has the first. */
static const struct info_part {
	const char *name;
	struct column columns[12]; /* the last has no name */
	enum listing_kind list;
} parts[] = {
	{ "merged of",
	  { { "trace", COLUMN_TEXT }, { "host", COLUMN_TEXT }, { "processes", COLUMN_TEXT },
	    { "threads", COLUMN_TEXT }, { "clock", COLUMN_TEXT }, { "error_ns", COLUMN_TIME },
	    { "ahead_ns", COLUMN_TIME }, { "fast_ppm", COLUMN_TEXT }, { "pairs", COLUMN_COUNT },
	    { "messages", COLUMN_COUNT } },
	  LISTING_SOURCES },
	{ "processes",
	  { { "id", COLUMN_NUMBER }, { "pid", COLUMN_NUMBER }, { "parent", COLUMN_NUMBER },
	    { "threads", COLUMN_COUNT }, { "events", COLUMN_COUNT }, { "start_ns", COLUMN_TIME },
	    { "end_ns", COLUMN_TIME }, { "status", COLUMN_STATUS }, { "ended_by", COLUMN_TEXT },
	    { "command", COLUMN_TEXT } },
	  LISTING_PROCESSES },
	{ "ranks",
	  { { "process", COLUMN_NUMBER }, { "rank", COLUMN_NUMBER }, { "size", COLUMN_NUMBER },
	    { "local", COLUMN_NUMBER }, { "node", COLUMN_TEXT }, { "job", COLUMN_TEXT },
	    { "step", COLUMN_TEXT }, { "launcher", COLUMN_TEXT } },
	  LISTING_RANKS },
	{ "threads",
	  { { "id", COLUMN_NUMBER }, { "process", COLUMN_NUMBER }, { "tid", COLUMN_NUMBER },
	    { "name", COLUMN_TEXT }, { "events", COLUMN_COUNT }, { "lost", COLUMN_COUNT } },
	  LISTING_THREADS },
	{ "limits",
	  { { "process", COLUMN_NUMBER }, { "memlock", COLUMN_LIMIT }, { "hard", COLUMN_LIMIT },
	    { "nofile", COLUMN_TEXT }, { "hard_nofile", COLUMN_TEXT },
	    { "cap_ipc_lock", COLUMN_TEXT }, { "page_size", COLUMN_BYTES } },
	  LISTING_LIMITS },
	{ "environment",
	  { { "variable", COLUMN_TEXT }, { "value", COLUMN_TEXT }, { "processes", COLUMN_COUNT },
	    { "first", COLUMN_NUMBER } },
	  LISTING_ENVIRONMENT },
	{ "devices",
	  { { "device", COLUMN_TEXT }, { "type", COLUMN_TEXT }, { "transport", COLUMN_TEXT },
	    { "firmware", COLUMN_TEXT }, { "port", COLUMN_NUMBER }, { "state", COLUMN_TEXT },
	    { "mtu", COLUMN_TEXT }, { "lid", COLUMN_NUMBER }, { "gids", COLUMN_COUNT } },
	  LISTING_DEVICES },
	{ "objects",
	  { { "kind", COLUMN_TEXT }, { "made", COLUMN_COUNT }, { "destroyed", COLUMN_COUNT },
	    { "alive_at_the_end", COLUMN_COUNT } },
	  LISTING_OBJECTS },
	{ "connections",
	  { { "peer", COLUMN_TEXT }, { "connections", COLUMN_COUNT },
	    { "queue_pairs", COLUMN_COUNT } },
	  LISTING_CONNECTIONS },
	{ "control verbs",
	  { { "verb", COLUMN_TEXT }, { "calls", COLUMN_COUNT }, { "failed", COLUMN_COUNT },
	    { "unfinished", COLUMN_COUNT } },
	  LISTING_VERBS },
	{ "completion queues",
	  { { "cq", COLUMN_TEXT }, { "process", COLUMN_NUMBER }, { "poll_calls", COLUMN_COUNT },
	    { "empty_polls", COLUMN_COUNT }, { "completions", COLUMN_COUNT } },
	  LISTING_CQS },
	{ "asynchronous events",
	  { { "event", COLUMN_TEXT }, { "times", COLUMN_COUNT }, { "first_ns", COLUMN_TIME } },
	  LISTING_EVENTS },
	{ "lost",
	  { { "thread", COLUMN_NUMBER }, { "process", COLUMN_NUMBER }, { "events", COLUMN_COUNT },
	    { "first_ns", COLUMN_TIME }, { "last_ns", COLUMN_TIME },
	    { "overwritten", COLUMN_COUNT } },
	  LISTING_LOST },
	{ "not seen",
	  { { "what", COLUMN_TEXT }, { "process", COLUMN_NUMBER }, { "object", COLUMN_TEXT },
	    { "times", COLUMN_COUNT }, { "first_ns", COLUMN_TIME }, { "detail", COLUMN_TEXT } },
	  LISTING_UNSEEN },
};
/* clang-format on */

enum { PARTS = sizeof(parts) / sizeof(*parts) };

static const char *meta_text(struct trace *trace, const char *key)
{
	const char *value = trace_meta(trace, key);

	return value ? value : "";
}

static int64_t meta_number(struct trace *trace, const char *key)
{
	return strtoll(meta_text(trace, key), NULL, 10);
}

static const char *format_date(int64_t ns, char text[FORMAT_TEXT])
{
	time_t seconds = (time_t)(ns / 1000000000);
	struct tm tm;

	if (!gmtime_r(&seconds, &tm) || !strftime(text, FORMAT_TEXT, "%Y-%m-%d %H:%M:%S UTC", &tm))
		text[0] = '\0';
	return text;
}

/* The description of the trace, from its table meta. */
static void print_meta(const char *title, struct trace *trace, const char *key, const char *end)
{
	fputs(title, stdout);
	print_untrusted(stdout, meta_text(trace, key));
	fputs(end, stdout);
}

/* "LOST: ..." */
static void __attribute__((format(printf, 2, 3)))
print_fault(const char *what, const char *format, ...)
{
	va_list args;

	style_text(stdout, STYLE_WARNING, what);
	fputs(": ", stdout);
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
}

static void print_fault_meta(const char *what, struct trace *trace, const char *key)
{
	print_fault(what, "%s", "");
	print_meta("", trace, key, "\n");
}

static void print_unwritten(struct trace *trace, uint64_t events)
{
	char text[FORMAT_TEXT], why[256];

	print_fault("LOST", "%s events were read, but could not be written",
		    format_count(events, text));
	lookup_unwritten(trace, why, sizeof(why));
	if (*why) {
		printf(": ");
		print_untrusted(stdout, why);
	}
	putchar('\n');
}

/* Faults that make the trace incomplete come first. */
static void print_faults(struct trace *trace)
{
	struct trace_loss loss = trace_loss(trace);
	char text[FORMAT_TEXT];

	if (*meta_text(trace, "filter"))
		print_fault_meta("FILTERED", trace, "filter");
	if (loss.interrupted)
		print_fault("INTERRUPTED",
			    "the recorder ended before the program; later events are "
			    "missing\n");
	if (loss.unwritten)
		print_unwritten(trace, loss.unwritten);
	if (loss.damaged)
		print_fault("DAMAGED", "%s events could not be read (table coverage names them)\n",
			    format_count(loss.damaged, text));
	if (loss.late)
		print_fault("BEGAN LATE",
			    "%s events came before the recording; the objects they created "
			    "are unknown\n",
			    format_count(loss.late, text));
	if (loss.events > loss.overwritten + loss.late + loss.handlers)
		print_fault("LOST", "%s events did not fit into a ring\n",
			    format_count(loss.events - loss.overwritten - loss.late - loss.handlers,
					 text));
	if (loss.handlers)
		print_fault("LOST",
			    "%s events in signal handlers that interrupted the recording of "
			    "another event\n",
			    format_count(loss.handlers, text));
	if (trace_totals(trace).overwritten)
		print_fault("OVERWRITTEN",
			    "%s events are older than those that the flight recorder stored\n",
			    format_count(loss.overwritten, text));
	if (*meta_text(trace, "cut"))
		print_fault("CUT",
			    "the trace begins at %s, with the live objects and outstanding "
			    "requests at that time\n",
			    format_time(meta_number(trace, "cut"), text));
	if (*meta_text(trace, "carried"))
		print_fault("CONTINUES",
			    "the control verbs of the first %s repeat those of the previous "
			    "trace\n",
			    format_time(meta_number(trace, "carried"), text));
	if (*meta_text(trace, "excerpt"))
		print_fault_meta("EXCERPT", trace, "excerpt");
	else if (*meta_text(trace, "snapshot"))
		print_fault_meta("SNAPSHOT", trace, "snapshot");
	if (*meta_text(trace, "anonymised"))
		print_fault("ANONYMISED", "names, addresses and payload are replaced\n");
}

/* Print the polls and rings that the recorder withheld from threads. */
static void print_withheld(struct trace *trace)
{
	char text[FORMAT_TEXT];

	if (*meta_text(trace, "waits_given_up"))
		print_fault("LOST",
			    "the recorder stalled, and threads continued without it %" PRId64 " "
			    "times (--max-wait)\n",
			    meta_number(trace, "waits_given_up"));
	if (!*meta_text(trace, "ring_budget"))
		return;
	format_bytes((uint64_t)meta_number(trace, "ring_budget"), text);
	if (*meta_text(trace, "withheld_threads"))
		print_fault("LOST",
			    "threads without a ring: %" PRId64
			    ", the rings of their process already used %s (--ring-budget)\n",
			    meta_number(trace, "withheld_threads"), text);
	if (*meta_text(trace, "withheld_rings"))
		print_fault("WITHHELD",
			    "rings that could not grow: %" PRId64
			    ", the rings of their process already used %s (--ring-budget)\n",
			    meta_number(trace, "withheld_rings"), text);
}

static const char *describe_fork(const char *copies)
{
	if (!strcmp(copies, "yes"))
		return "the kernel gives a child copies of registered pages";
	if (!strcmp(copies, "no"))
		return "the kernel may move registered pages away at a fork";
	return "it is unknown whether the kernel copies registered pages";
}

static void print_head(struct trace *trace, const char *path)
{
	char text[FORMAT_TEXT], other[FORMAT_TEXT];
	struct totals totals = trace_totals(trace);
	struct stat st = { 0 };

	stat(path, &st);
	print_faults(trace);
	print_withheld(trace);
	printf("trace     ");
	print_untrusted(stdout, path);
	printf(", %s\n", format_bytes((uint64_t)st.st_size, text));
	print_meta("program   ", trace, "command", "\n");
	printf("recorded  %s, %s", format_date(meta_number(trace, "realtime"), text),
	       format_time(totals.duration, other));
	print_meta(", by verbatim ", trace, "version", "\n");
	print_meta("machine   ", trace, "host", "");
	print_meta(", ", trace, "machine", "");
	print_meta(", Linux ", trace, "kernel", "");
	print_meta(", clock ", trace, "clock", "\n");
	printf("fork      %s\n", describe_fork(meta_text(trace, "copies_on_fork")));
	print_meta("device    ", trace, "device",
		   *meta_text(trace, "device") ? "\n" : "the machine's\n");
	if (*meta_text(trace, "payload") && strcmp(meta_text(trace, "payload"), "none")) {
		print_meta("payload   ", trace, "payload",
			   atoi(meta_text(trace, "payload")) ? " bytes of each" : "");
		printf(", %s kept\n", format_bytes(lookup_payload_bytes(trace), text));
	}
	printf("events    %s, and %s lost\n", format_count(totals.events, text),
	       format_count(totals.lost, other));
}

static void print_member(const char *name, const char *value)
{
	printf("    ");
	json_text(name);
	printf(": ");
	json_text(value);
	printf(",\n");
}

static void print_head_json(struct trace *trace, const char *path)
{
	static const char *const keys[] = { "command", "version",       "host",   "machine",
					    "kernel",  "clock",         "device", "filter",
					    "payload", "copies_on_fork" };
	struct totals totals = trace_totals(trace);
	struct trace_loss loss = trace_loss(trace);

	printf("{\n  \"trace\": {\n");
	print_member("path", path);
	for (size_t i = 0; i < sizeof(keys) / sizeof(*keys); i++)
		print_member(keys[i], meta_text(trace, keys[i]));
	printf("    \"realtime_ns\": %" PRId64 ",\n    \"duration_ns\": %" PRId64 ",\n",
	       meta_number(trace, "realtime"), totals.duration);
	printf("    \"events\": %" PRIu64 ",\n    \"lost\": %" PRIu64 ",\n", totals.events,
	       totals.lost);
	printf("    \"overwritten\": %" PRIu64 ",\n", totals.overwritten);
	printf("    \"interrupted\": %s,\n    \"damaged\": %s\n  }",
	       loss.interrupted ? "true" : "false", loss.damaged ? "true" : "false");
}

/* The recorder's own counters have no gaps. */
static void print_scope(struct trace *trace)
{
	struct totals totals = trace_totals(trace);

	if (totals.overwritten || totals.lost || *meta_text(trace, "filter"))
		printf("  counted by the recorder, including events that are not in the trace\n");
}

static int print_part(struct trace *trace, const struct info_part *part, bool json)
{
	struct table *table = table_new(part->name, part->columns);
	int err = table_add_listing(table, trace, part->list);

	if (!err && json) {
		printf(",\n");
		table_print_json(table);
	} else if (!err) {
		table_print(table);
		if (!strcmp(part->name, "completion queues"))
			print_scope(trace);
	}
	table_free(table);
	return err;
}

static int print_info(struct trace *trace, const char *path, bool json)
{
	int err = 0;

	if (json)
		print_head_json(trace, path);
	else
		print_head(trace, path);
	for (int i = trace_nmerged(trace) ? 0 : 1; i < PARTS && !err; i++)
		err = print_part(trace, &parts[i], json);
	if (json)
		printf("\n}\n");
	return err;
}

int cli_info(int argc, char **argv)
{
	struct settings set = { 0 };
	struct arguments arguments;
	struct trace *trace;
	int status;

	cli_parse(argc, argv, &set, &arguments);
	cli_deadline(set.deadline);
	cli_show_work("info");
	status = cli_open("info", &arguments, 1, &trace);
	if (status)
		return status;
	status = cli_status(print_info(trace, arguments.at[0], set.json));
	trace_close(trace);
	return status;
}
