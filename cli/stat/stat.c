/*
 * verbatim stat: what a run did, counted and timed
 *
 * The numbers are analyzer/profile's: one pass over the events. Calls of the recorder itself, those
 * that a library made inside another verb, and those that the trace before this one has, too
 * (--rotate-size), are left out: only what the program did is counted. Latency is from the post to
 * the poll that brought the completion, of successful requests of the send queue.
 *
 * Not here: output that is no table (stat_text.c, stat_json.c, stat_metrics.c).
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/model/queue.h"
#include "analyzer/report/symbols.h"
#include "cli/cli.h"
#include "cli/format.h"
#include "cli/table.h"
#include "cli/stat/stat_view.h"
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
	PART_OPTIONS(struct settings),
	CLI_DEADLINE(struct settings),
	{ 0 },
};
/* clang-format on */

enum { VERBS = 1 }; /* the table of verbs among those of print_profile() */
enum { WIDTH = 80 };
enum { ROWS = 16 }; /* of a table that are shown as text; JSON has all */

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
		{ "errors", COLUMN_COUNT }, { "open", COLUMN_COUNT },
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

/* As text; JSON has all details (stat_json.c). */
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
	table_print_within(table, WIDTH);
	table_free(table);
	if (timed)
		printf("  of the %s with a completion; percentiles are at most 3.2 %% too high.\n  "
		       "Recording adds %s to each call of a data verb, here to two.\n",
		       format_count(timed, n),
		       trace_has_payloads(view->trace) ? "about 1 us (--payload)" : "10 to 50 ns");
}

/* "64 of 128"; "?" if the number of outstanding requests is uncertain. */
static void add_depth(struct table *table, const struct profile_side *side)
{
	uint32_t room = side->capacity ? side->capacity : side->asked;
	char text[64];

	if (!side->known || side->doubt || (!side->requests && !side->high))
		snprintf(text, sizeof(text), "%s", side->requests ? "?" : "-");
	else if (room)
		snprintf(text, sizeof(text), "%u of %u", side->high, room);
	else
		snprintf(text, sizeof(text), "%u", side->high);
	table_text(table, text);
}

/* For JSON: null if it is uncertain. */
static void add_high(struct table *table, const struct profile_side *side)
{
	if (side->known && !side->doubt)
		table_number(table, side->high);
	else
		table_text(table, NULL);
	table_number(table, side->capacity);
}

static void add_queue(struct table *table, const struct object *object,
		      const struct profile_queue *queue, bool json)
{
	static const struct histogram none;
	const struct histogram *h = queue->latency ? queue->latency : &none;

	table_text(table, object ? object->name : NULL);
	table_number(table, queue->process);
	table_number(table, (int64_t)queue->send.requests);
	table_number(table, (int64_t)queue->receive.requests);
	if (json)
		table_number(table,
			     (int64_t)(queue->send.completions + queue->receive.completions) +
				     queue->errors);
	table_number(table, queue->errors);
	table_number(table, (int64_t)queue->sent);
	table_number(table, (int64_t)queue->received);
	table_number(table, histogram_percentile(h, 50));
	if (json)
		table_number(table, histogram_percentile(h, 90));
	table_number(table, histogram_percentile(h, 99));
	if (!json)
		return;
	table_number(table, h->count ? (int64_t)h->max : -1);
	add_high(table, &queue->send);
	add_high(table, &queue->receive);
}

static uint64_t traffic_of(const struct profile_queue *queue)
{
	return queue->send.requests + queue->receive.requests;
}

static int compare_queues(const void *a, const void *b)
{
	const struct profile_queue *x = *(const struct profile_queue *const *)a;
	const struct profile_queue *y = *(const struct profile_queue *const *)b;

	if (traffic_of(x) != traffic_of(y))
		return traffic_of(x) < traffic_of(y) ? 1 : -1;
	return x->object < y->object ? -1 : x->object > y->object;
}

/* Those that were used, for free(): as text the busiest first. */
static const struct profile_queue **list_queues(const struct stat_view *view, bool sorted,
						size_t *ret_n)
{
	const struct profile *profile = view->profile;
	const struct profile_queue **queues = calloc(profile->nobjects + 1, sizeof(*queues));

	*ret_n = 0;
	for (size_t id = 1; queues && id < profile->nobjects; id++)
		if (profile->queues[id])
			queues[(*ret_n)++] = profile->queues[id];
	if (sorted && *ret_n)
		qsort(queues, *ret_n, sizeof(*queues), compare_queues);
	return queues;
}

static struct table *queue_table(const struct stat_view *view, bool json, uint64_t *ret_more)
{
	/* clang-format off */
	static const struct column all[] = {
		{ "queue", COLUMN_TEXT },        { "process", COLUMN_NUMBER },
		{ "sends", COLUMN_COUNT },       { "receives", COLUMN_COUNT },
		{ "completions", COLUMN_COUNT }, { "errors", COLUMN_COUNT },
		{ "sent_bytes", COLUMN_BYTES },  { "received_bytes", COLUMN_BYTES },
		{ "p50_ns", COLUMN_TIME },       { "p90_ns", COLUMN_TIME },
		{ "p99_ns", COLUMN_TIME },       { "max_ns", COLUMN_TIME },
		{ "sq_high", COLUMN_COUNT },     { "sq_room", COLUMN_COUNT },
		{ "rq_high", COLUMN_COUNT },     { "rq_room", COLUMN_COUNT },
		{ 0 },
	};
	static const struct column few[] = {
		{ "queue", COLUMN_TEXT },     { "process", COLUMN_NUMBER },
		{ "sends", COLUMN_COUNT },    { "receives", COLUMN_COUNT },
		{ "errors", COLUMN_COUNT },   { "sent", COLUMN_BYTES },
		{ "received", COLUMN_BYTES }, { "p50_ns", COLUMN_TIME },
		{ "p99_ns", COLUMN_TIME },    { 0 },
	};
	/* clang-format on */
	struct table *table = table_new("queues", json ? all : few);
	size_t n, most;
	const struct profile_queue **queues = list_queues(view, !json, &n);

	most = json || n < ROWS ? n : ROWS;
	for (size_t i = 0; i < most; i++)
		add_queue(table, trace_object(view->trace, queues[i]->object), queues[i], json);
	*ret_more = n - most;
	free(queues);
	return table;
}

static bool is_unsure(const struct profile_queue *queue)
{
	return (queue->send.requests && (!queue->send.known || queue->send.doubt)) ||
	       (queue->receive.requests && (!queue->receive.known || queue->receive.doubt));
}

/* As text, if there are several; JSON has them in stat_json.c. */
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

		if (process->first < 0 || n++ >= ROWS)
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
		table_print_within(table, WIDTH);
	if (n > ROWS)
		printf("  and %" PRIu64 " more: --format json has all\n", n - ROWS);
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

		if (!thread->id || n++ >= ROWS)
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
		table_print_within(table, WIDTH);
	if (n > ROWS)
		printf("  and %" PRIu64 " more: --format json has all\n", n - ROWS);
	table_free(table);
}

/* The maximum number outstanding, of the queues that are shown above. */
static void print_depths(const struct stat_view *view)
{
	/* clang-format off */
	static const struct column columns[] = {
		{ "queue", COLUMN_TEXT }, { "process", COLUMN_NUMBER },
		{ "sends", COLUMN_TEXT }, { "receives", COLUMN_TEXT },
		{ "max_inline_data", COLUMN_COUNT }, { 0 },
	};
	/* clang-format on */
	struct table *table = table_new("most outstanding", columns);
	uint64_t unsure = 0;
	size_t n;
	const struct profile_queue **queues = list_queues(view, true, &n);

	for (size_t i = 0; i < n; i++) {
		const struct profile_queue *queue = queues[i];
		const struct object *object = trace_object(view->trace, queue->object);

		unsure += is_unsure(queue);
		if (i >= ROWS)
			continue;
		table_text(table, object ? object->name : NULL);
		table_number(table, queue->process);
		add_depth(table, &queue->send);
		add_depth(table, &queue->receive);
		if (queue->send.known)
			table_number(table, queue->max_inline);
		else
			table_text(table, NULL);
	}
	free(queues);
	table_print_within(table, WIDTH);
	table_free(table);
	if (unsure)
		printf("  ? for %" PRIu64 ": older than the trace, or their posts or completions "
		       "are missing\n",
		       unsure);
}

static void print_queues(const struct stat_view *view)
{
	uint64_t more;
	struct table *table = queue_table(view, false, &more);

	table_print_within(table, WIDTH);
	table_free(table);
	if (more)
		printf("  and %" PRIu64 " more: --format json has all\n", more);
	print_depths(view);
}

/* Is it known how many completions it could contain? */
static bool is_bound(const struct profile_cq *cq)
{
	return cq->known && !cq->doubt && !cq->shared;
}

static void add_cq(struct table *table, const struct object *object, const struct profile_cq *cq,
		   bool json)
{
	uint32_t room = cq->capacity ? cq->capacity : cq->asked;
	char text[64];

	table_text(table, object ? object->name : NULL);
	table_number(table, cq->process);
	table_number(table, (int64_t)(cq->polls + cq->empty));
	table_number(table, (int64_t)cq->empty);
	table_number(table, (int64_t)cq->completions);
	snprintf(text, sizeof(text), "%.2f",
		 cq->polls ? (double)cq->completions / (double)cq->polls : 0.0);
	table_text(table, cq->polls ? text : NULL);
	if (json)
		table_number(table, cq->most);
	if (json && is_bound(cq))
		table_number(table, (int64_t)cq->high);
	else if (json)
		table_text(table, NULL);
	if (json) {
		table_number(table, room);
		return;
	}
	if (is_bound(cq))
		snprintf(text, sizeof(text), "%" PRIu64 " of %u", cq->high, room);
	table_text(table, is_bound(cq) ? text : "?");
}

/* `could_lie': the maximum number of completions that it may have contained. */
static struct table *cq_table(const struct stat_view *view, bool json)
{
	/* clang-format off */
	static const struct column all[] = {
		{ "cq", COLUMN_TEXT },              { "process", COLUMN_NUMBER },
		{ "polls", COLUMN_COUNT },          { "empty_polls", COLUMN_COUNT },
		{ "completions", COLUMN_COUNT },    { "completions_per_poll", COLUMN_TEXT },
		{ "most_of_a_poll", COLUMN_COUNT }, { "could_lie", COLUMN_COUNT },
		{ "room", COLUMN_COUNT },           { 0 },
	};
	static const struct column few[] = {
		{ "cq", COLUMN_TEXT },           { "process", COLUMN_NUMBER },
		{ "polls", COLUMN_COUNT },       { "empty", COLUMN_COUNT },
		{ "completions", COLUMN_COUNT }, { "a_poll", COLUMN_TEXT },
		{ "could_lie_there", COLUMN_TEXT }, { 0 },
	};
	/* clang-format on */
	struct table *table = table_new("completion queues", json ? all : few);
	uint64_t n = 0;

	for (size_t id = 1; id < view->profile->nobjects; id++) {
		const struct profile_cq *cq = view->profile->cqs[id];

		if (cq && (cq->polls || cq->empty || cq->high) && (json || n++ < ROWS))
			add_cq(table, trace_object(view->trace, (uint32_t)id), cq, json);
	}
	return table;
}

/* A phase that has ended as often as it began has a duration, however it is nested. */
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
	return table_query(*ret_table, view->trace,
			   "SELECT text, kind, process, times,"
			   " CASE WHEN times = ends THEN took ELSE -1 END,"
			   " CASE WHEN times = ends THEN took / times ELSE -1 END"
			   " FROM (SELECT text, CASE kind WHEN 'point' THEN kind ELSE 'phase' END"
			   " AS kind, process, count(*) - sum(kind = 'end') AS times,"
			   " sum(kind = 'end') AS ends, sum(CASE kind WHEN 'begin' THEN -time"
			   " WHEN 'end' THEN time ELSE 0 END) AS took, min(time) AS first"
			   " FROM mark GROUP BY 1, 2, 3) ORDER BY first");
}

static int payload_table(const struct stat_view *view, struct table **ret_table)
{
	static const char sql[] =
		"SELECT kind, count(*), sum(length), sum(captured), sum(hash IS NOT NULL),"
		" sum(why IS NOT NULL) FROM payload GROUP BY kind"
		" ORDER BY kind = 'atomic', kind = 'read', kind = 'recv'";
	/* clang-format off */
	static const struct column columns[] = {
		{ "payload", COLUMN_TEXT },     { "times", COLUMN_COUNT },
		{ "bytes", COLUMN_BYTES },      { "captured", COLUMN_BYTES },
		{ "hashed", COLUMN_COUNT },     { "less_than_asked", COLUMN_COUNT },
		{ 0 },
	};
	/* clang-format on */

	*ret_table = table_new("payloads", columns);
	return trace_has_payloads(view->trace) ? table_query(*ret_table, view->trace, sql) : 0;
}

static void print_text(const struct stat_view *view, struct table *const *tables, unsigned int n)
{
	stat_head(view);
	stat_rates(view);
	print_requests(view);
	stat_latency(view);
	stat_posting(view);
	stat_gaps(view);
	stat_registrations(view);
	print_processes(view);
	print_threads(view);
	print_queues(view);
	for (unsigned int i = 0; i < n; i++) {
		table_print_within(tables[i], WIDTH);
		if (i == VERBS)
			printf("  Recording adds up to 1 us to each control verb.\n");
	}
}

static void print_json(const struct stat_view *view, struct table *const *tables, unsigned int n)
{
	uint64_t more;
	struct table *queues = queue_table(view, true, &more);

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
	struct table *tables[4] = { cq_table(view, json), [VERBS] = verb_table(view, json) };
	int err = mark_table(view, &tables[2]);

	if (!err)
		err = payload_table(view, &tables[3]);
	if (!err && json)
		print_json(view, tables, 4);
	else if (!err)
		print_text(view, tables, 4);
	for (int i = 0; i < 4; i++)
		table_free(tables[i]);
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
		err = set->format == OPENMETRICS ? stat_metrics(&view)
						 : print_profile(&view, set->format == JSON);
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
