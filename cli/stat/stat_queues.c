/*
 * Queues and completion queues, as `verbatim stat` prints them
 *
 * `could lie' is the maximum number of completions that a completion queue may have contained.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/stat/stat_view.h"
#include "cli/table.h"
#include "core/store/read/trace.h"

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

/* The mean over time; "-" if it is not known. */
static void add_mean_depth(struct table *table, const struct profile_side *side)
{
	double mean = profile_mean_depth(side);
	char text[32];

	snprintf(text, sizeof(text), mean < 100 ? "%.1f" : "%.0f", mean);
	table_text(table, mean < 0 ? NULL : text);
}

/* The share of the time in which there was no receive. */
static void add_empty(struct table *table, const struct profile_side *side)
{
	double share = side->depth.ns > 0
			       ? 100.0 * (double)side->depth.empty_ns / (double)side->depth.ns
			       : 0;
	char text[32];

	snprintf(text, sizeof(text), "%.1f %%", share);
	table_text(table, profile_mean_depth(side) < 0 ? NULL : text);
}

/* Add the maximum, the capacity, and the mean and empty time; in JSON null if uncertain. */
static void add_high(struct table *table, const struct profile_side *side)
{
	double mean = profile_mean_depth(side);
	char text[32];

	if (side->known && !side->doubt)
		table_number(table, side->high);
	else
		table_text(table, NULL);
	table_number(table, side->capacity);
	snprintf(text, sizeof(text), "%.3f", mean);
	table_text(table, mean < 0 ? NULL : text);
	table_number(table, mean < 0 ? -1 : side->depth.empty_ns);
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

/* The queues that were used, for free(): as text the busiest first. */
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

struct table *stat_queue_table(const struct stat_view *view, bool json, uint64_t *ret_more)
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
		{ "sq_mean", COLUMN_TEXT },      { "sq_empty_ns", COLUMN_TIME },
		{ "rq_high", COLUMN_COUNT },     { "rq_room", COLUMN_COUNT },
		{ "rq_mean", COLUMN_TEXT },      { "rq_empty_ns", COLUMN_TIME },
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

	most = json || n < STAT_ROWS ? n : STAT_ROWS;
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

/* Print the numbers of outstanding requests of the queues in the table above. */
static void print_depths(const struct stat_view *view)
{
	/* clang-format off */
	static const struct column columns[] = {
		{ "queue", COLUMN_TEXT }, { "process", COLUMN_NUMBER },
		{ "sends", COLUMN_TEXT }, { "mean", COLUMN_TEXT },
		{ "receives", COLUMN_TEXT }, { "mean", COLUMN_TEXT },
		{ "empty", COLUMN_TEXT },
		{ "max_inline", COLUMN_COUNT }, { 0 },
	};
	/* clang-format on */
	struct table *table = table_new("outstanding: most, and mean over time; empty: time "
					"without a receive",
					columns);
	uint64_t unsure = 0;
	size_t n;
	const struct profile_queue **queues = list_queues(view, true, &n);

	for (size_t i = 0; i < n; i++) {
		const struct profile_queue *queue = queues[i];
		const struct object *object = trace_object(view->trace, queue->object);

		unsure += is_unsure(queue);
		if (i >= STAT_ROWS)
			continue;
		table_text(table, object ? object->name : NULL);
		table_number(table, queue->process);
		add_depth(table, &queue->send);
		add_mean_depth(table, &queue->send);
		add_depth(table, &queue->receive);
		add_mean_depth(table, &queue->receive);
		add_empty(table, &queue->receive);
		if (queue->send.known)
			table_number(table, queue->max_inline);
		else
			table_text(table, NULL);
	}
	free(queues);
	table_print_within(table, STAT_WIDTH);
	table_free(table);
	if (unsure)
		printf("  ? (rows: %" PRIu64
		       "): queues older than the trace, or with missing posts or completions\n",
		       unsure);
}

void stat_print_queues(const struct stat_view *view)
{
	uint64_t more;
	struct table *table = stat_queue_table(view, false, &more);

	table_print_within(table, STAT_WIDTH);
	table_free(table);
	if (more)
		printf("  and %" PRIu64 " more: --format json has all\n", more);
	print_depths(view);
}

/* Is it known how many completions the CQ could contain? */
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

struct table *stat_cq_table(const struct stat_view *view, bool json)
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

		if (cq && (cq->polls || cq->empty || cq->high) && (json || n++ < STAT_ROWS))
			add_cq(table, trace_object(view->trace, (uint32_t)id), cq, json);
	}
	return table;
}
