/*
 * verbatim stat: what a run did, counted and timed
 *
 * The numbers are analyzer/profile's: one pass over the events. Only the program's own calls are
 * counted: not the recorder's, not inner calls of a library, and not calls that a previous trace
 * has, too (--rotate-size). Latency is the time from the post to the poll that returned the
 * completion, of successful requests of send queues.
 *
 * Not here: tables of queues (stat_queues.c); output that is not a table (stat_text.c, stat_json.c,
 * stat_metrics.c).
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/model/queue.h"
#include "analyzer/report/places.h"
#include "cli/cli.h"
#include "cli/format.h"
#include "cli/table.h"
#include "cli/stat/stat.h"
#include "cli/stat/stat_view.h"
#include "core/base/text.h"
#include "core/store/read/lookup.h"
#include "core/store/read/trace.h"
#include "core/wire/log.h"

enum format { TEXT, JSON, OPENMETRICS };

struct settings {
	unsigned int format;
	int64_t deadline;
	struct part part;
};

/* clang-format off */
const struct option_row cli_stat_options[] = {
	{ "format", 'f', "text|json|openmetrics", "output format",
	  CHOICE_AT(struct settings, format), .preset = "text" },
	CLI_JSON(struct settings, format, JSON),
	PART_OPTIONS(struct settings),
	CLI_DEADLINE(struct settings),
	{ 0 },
};
/* clang-format on */

enum { VERBS = 1, TABLES = 5 }; /* the table of verbs among those of print_profile() */

/* Control verbs have times, posts and polls none. Text is limited to 80 columns. */
static struct table *verb_table(const struct stat_view *view, bool json)
{
	/* clang-format off */
	static const struct column all[] = {
		{ "verb", COLUMN_TEXT },     { "calls", COLUMN_COUNT },
		{ "errors", COLUMN_COUNT },  { "unfinished", COLUMN_COUNT },
		{ "total_ns", COLUMN_TIME }, { "mean_ns", COLUMN_TIME },
		{ "p50_ns", COLUMN_TIME },   { "p99_ns", COLUMN_TIME },
		{ "max_ns", COLUMN_TIME },   { "while_posting", COLUMN_COUNT },
		{ "while_posting_ns", COLUMN_TIME }, { 0 },
	};
	static const struct column few[] = {
		{ "verb", COLUMN_TEXT },    { "calls", COLUMN_COUNT },
		{ "failed", COLUMN_COUNT }, { "open", COLUMN_COUNT },
		{ "total_ns", COLUMN_TIME }, { "p50_ns", COLUMN_TIME },
		{ "p99_ns", COLUMN_TIME },  { "max_ns", COLUMN_TIME }, { 0 },
	};
	/* clang-format on */
	struct table *table = table_new("verbs", json ? all : few);

	for (int v = 0; v < VERB_COUNT; v++) {
		const struct profile_verb *verb = &view->profile->verbs[v];
		const struct histogram *h = verb->times && verb->times->count ? verb->times : NULL;

		if (!verb->calls)
			continue;
		table_text(table, verb_infos[v].name);
		table_number(table, (int64_t)verb->calls);
		table_number(table, (int64_t)verb->errors);
		table_number(table, (int64_t)verb->unfinished);
		table_number(table, h ? (int64_t)h->total : -1);
		if (json)
			table_number(table, h ? histogram_mean(h) : -1);
		table_number(table, h ? histogram_percentile(h, 50) : -1);
		table_number(table, h ? histogram_percentile(h, 99) : -1);
		table_number(table, h ? (int64_t)h->max : -1);
		if (json) {
			table_number(table, (int64_t)verb->posting);
			table_number(table, verb->posting ? verb->posting_ns : -1);
		}
	}
	return table;
}

static void add_requests(struct table *table, unsigned int opcode, unsigned int class,
			 const struct profile_requests *row)
{
	const struct histogram *h = &row->latency;
	char size[STAT_SIZE];

	table_text(table, profile_opcode_name(opcode));
	table_text(table, stat_size(row, class, size));
	table_number(table, (int64_t)(opcode == PROFILE_RECEIVE ? row->completed : row->posted));
	table_number(table, histogram_percentile(h, 50));
	table_number(table, histogram_percentile(h, 90));
	table_number(table, histogram_percentile(h, 99));
	table_number(table, histogram_percentile(h, 99.9));
	table_number(table, h->count ? (int64_t)h->max : -1);
}

/* Print the requests as text; JSON has all details (stat_json.c). */
static void print_requests(const struct stat_view *view)
{
	/* clang-format off */
	static const struct column columns[] = {
		{ "opcode", COLUMN_TEXT }, { "size", COLUMN_TEXT }, { "n", COLUMN_COUNT },
		{ "p50_ns", COLUMN_TIME }, { "p90_ns", COLUMN_TIME }, { "p99_ns", COLUMN_TIME },
		{ "p99.9_ns", COLUMN_TIME }, { "max_ns", COLUMN_TIME }, { 0 },
	};
	/* clang-format on */
	struct table *table = table_new("requests", columns);
	char n[FORMAT_TEXT];
	uint64_t timed = 0;

	for (unsigned int o = 0; o < PROFILE_OPCODES; o++)
		for (unsigned int s = 0; s < PROFILE_SIZES; s++) {
			const struct profile_requests *row = view->profile->requests[o][s];

			if (!row)
				continue;
			add_requests(table, o, s, row);
			timed += row->latency.count;
		}
	table_print_within(table, STAT_WIDTH);
	table_free(table);
	if (timed)
		printf("  of the %s with a completion; percentiles are at most 3.2 %% too high.\n  "
		       "Recording adds %s to each data verb; a latency includes two.\n",
		       format_count(timed, n),
		       trace_has_payloads(view->trace) ? "about 2 us (--payload)" : "10 to 50 ns");
}

/* Print the processes as text, if there are several; for JSON see stat_json.c. */
static void print_processes(const struct stat_view *view)
{
	/* clang-format off */
	static const struct column columns[] = {
		{ "process", COLUMN_NUMBER }, { "calls", COLUMN_COUNT },
		{ "requests", COLUMN_COUNT }, { "completions", COLUMN_COUNT },
		{ "errors", COLUMN_COUNT },   { "sent", COLUMN_BYTES },
		{ "received", COLUMN_BYTES }, { 0 },
	};
	/* clang-format on */
	struct table *table = table_new("processes", columns);
	uint64_t n = 0;

	for (size_t i = 0; i < view->profile->nprocesses; i++) {
		const struct profile_process *process = &view->profile->processes[i];

		if (process->first < 0 || n++ >= STAT_ROWS)
			continue;
		table_number(table, process->id);
		table_number(table, (int64_t)process->calls);
		table_number(table, (int64_t)process->requests);
		table_number(table, (int64_t)process->completions);
		table_number(table, (int64_t)process->errors);
		table_number(table, (int64_t)process->sent);
		table_number(table, (int64_t)process->received);
	}
	if (n > 1)
		table_print_within(table, STAT_WIDTH);
	if (n > STAT_ROWS)
		printf("  and %" PRIu64 " more: --format json has all\n", n - STAT_ROWS);
	table_free(table);
}

static void print_threads(const struct stat_view *view)
{
	/* clang-format off */
	static const struct column columns[] = {
		{ "thread", COLUMN_NUMBER },  { "process", COLUMN_NUMBER },
		{ "calls", COLUMN_COUNT },    { "in_them_ns", COLUMN_TIME },
		{ "requests", COLUMN_COUNT }, { "completions", COLUMN_COUNT },
		{ "empty_polls", COLUMN_COUNT }, { "waited_ns", COLUMN_TIME }, { 0 },
	};
	/* clang-format on */
	struct table *table = table_new("threads", columns);
	uint64_t n = 0;

	for (size_t i = 0; i < view->profile->nthreads; i++) {
		const struct profile_thread *thread = &view->profile->threads[i];

		if (!thread->id || n++ >= STAT_ROWS)
			continue;
		table_number(table, thread->id);
		table_number(table, thread->process);
		table_number(table, (int64_t)thread->calls);
		table_number(table, thread->control_ns);
		table_number(table, (int64_t)thread->requests);
		table_number(table, (int64_t)thread->completions);
		table_number(table, (int64_t)thread->empty);
		table_number(table, view->profile->waited.known ? thread->waited_ns : -1);
	}
	if (n > 1)
		table_print_within(table, STAT_WIDTH);
	if (n > STAT_ROWS)
		printf("  and %" PRIu64 " more: --format json has all\n", n - STAT_ROWS);
	table_free(table);
}

static int mark_table(const struct stat_view *view, struct table **ret_table)
{
	/* clang-format off */
	static const struct column columns[] = {
		{ "mark", COLUMN_TEXT },     { "kind", COLUMN_TEXT },
		{ "process", COLUMN_NUMBER }, { "times", COLUMN_COUNT },
		{ "total_ns", COLUMN_TIME }, { "mean_ns", COLUMN_TIME },
		{ 0 },
	};
	/* clang-format on */

	*ret_table = table_new("marks", columns);
	return table_add_listing(*ret_table, view->trace, LISTING_MARKS);
}

static int payload_table(const struct stat_view *view, struct table **ret_table)
{
	/* clang-format off */
	static const struct column columns[] = {
		{ "payload", COLUMN_TEXT },     { "times", COLUMN_COUNT },
		{ "bytes", COLUMN_BYTES },      { "captured", COLUMN_BYTES },
		{ "hashed", COLUMN_COUNT },     { "less_than_asked", COLUMN_COUNT },
		{ 0 },
	};
	/* clang-format on */

	*ret_table = table_new("payloads", columns);
	return trace_has_payloads(view->trace)
		       ? table_add_listing(*ret_table, view->trace, LISTING_PAYLOADS)
		       : 0;
}

static int counter_table(const struct stat_view *view, struct table **ret_table)
{
	/* clang-format off */
	static const struct column columns[] = {
		{ "device", COLUMN_TEXT },      { "counter", COLUMN_TEXT },
		{ "change", COLUMN_NUMBER },    { "from_ns", COLUMN_TIME },
		{ "until_ns", COLUMN_TIME },    { "most_in_a_second", COLUMN_NUMBER },
		{ 0 },
	};
	/* clang-format on */

	*ret_table = table_new("device_counters", columns);
	return lookup_has_counter_samples(view->trace)
		       ? table_add_listing(*ret_table, view->trace, LISTING_COUNTERS)
		       : 0;
}

static void print_text(const struct stat_view *view, struct table *const *tables, unsigned int n)
{
	stat_print_head(view);
	stat_print_rates(view);
	print_requests(view);
	stat_print_latency(view);
	stat_print_posting(view);
	stat_print_gaps(view);
	stat_print_registrations(view);
	print_processes(view);
	print_threads(view);
	stat_print_queues(view);
	for (unsigned int i = 0; i < n; i++) {
		table_print_within(tables[i], STAT_WIDTH);
		if (i == VERBS)
			printf("  open: unfinished. Recording adds about 1.5 us to each "
			       "control verb.\n");
	}
}

static void print_json(const struct stat_view *view, struct table *const *tables, unsigned int n)
{
	uint64_t more;
	struct table *queues = stat_queue_table(view, true, &more);

	printf("{\n  \"one_of\": %u,\n", view->profile->one_of);
	stat_json(view);
	table_print_json(queues);
	table_free(queues);
	for (unsigned int i = 0; i < n; i++) {
		printf(",\n");
		table_print_json(tables[i]);
	}
	printf("\n}\n");
}

static int print_profile(const struct stat_view *view, bool json)
{
	struct table *tables[TABLES] = { stat_cq_table(view, json), [VERBS] = verb_table(view,
											 json) };
	int err = mark_table(view, &tables[2]);

	if (!err)
		err = payload_table(view, &tables[3]);
	if (!err)
		err = counter_table(view, &tables[4]);
	if (!err && json)
		print_json(view, tables, TABLES);
	else if (!err)
		print_text(view, tables, TABLES);
	for (int i = 0; i < TABLES; i++)
		table_free(tables[i]);
	return err;
}

int stat_document(struct trace *trace, const struct profile *profile, struct symbols *symbols,
		  struct text *out)
{
	static const struct part all;
	struct stat_view view = {
		.trace = trace, .profile = profile, .part = &all, .symbols = symbols
	};
	FILE *screen = stdout, *document;
	char *at = NULL;
	size_t n = 0;
	int err;

	document = open_memstream(&at, &n);
	if (!document)
		return log_err(-ENOMEM, "stat");
	stat_name_places(&view);
	stdout = document;
	err = print_profile(&view, true);
	stdout = screen;
	if (fclose(document) && !err)
		err = log_err(-ENOMEM, "stat");
	if (!err)
		text_add(out, at, n);
	free(at);
	places_free(view.places);
	return err;
}

static int stat_trace(struct trace *trace, const struct settings *set)
{
	struct stat_view view = { .trace = trace, .part = &set->part };
	struct profile_select select;
	struct profile *profile = NULL;
	int status = part_find("stat", &set->part, trace, &select), err;

	if (status)
		return status;
	cli_show_progress("stat", trace);
	err = profile_trace(trace, &select, &profile);
	view.profile = profile;
	if (!err)
		err = symbols_open(&view.symbols);
	if (!err)
		stat_name_places(&view);
	if (!err)
		err = set->format == OPENMETRICS ? stat_metrics(&view)
						 : print_profile(&view, set->format == JSON);
	places_free(view.places);
	symbols_close(view.symbols);
	profile_free(profile);
	return cli_status(err);
}

int cli_stat(int argc, char **argv)
{
	struct settings set = { 0 };
	struct arguments arguments;
	struct trace *trace;
	int status;

	cli_parse(argc, argv, &set, &arguments);
	cli_deadline(set.deadline);
	cli_show_work("stat");
	status = cli_open("stat", &arguments, 1, &trace);
	if (status)
		return status;
	cli_report_loss(trace);
	status = stat_trace(trace, &set);
	trace_close(trace);
	return status;
}
