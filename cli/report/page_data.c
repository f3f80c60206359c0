/*
 * Data that only a page shows: the run over time, and rows of tables
 *
 * The number of rows is limited, and their total is added: a page of a large trace must stay small.
 */
#include "cli/report/page_data.h"

#include <stdio.h>
#include <stdlib.h>

#include "cli/report/page_lanes.h"
#include "core/store/read/listing.h"
#include "core/store/read/lookup.h"
#include "core/store/read/merged.h"

enum { HEAT_BINS = TIMELINE_BINS / 2, DEPTHS = 24 };

/* clang-format off */
static const struct page_table {
	const char *name;
	enum listing_kind list;
	int most;
} page_tables[] = {
	{ "control", LISTING_PAGE_CONTROL, 2000 },
	{ "qps", LISTING_PAGE_QPS, 200 },
	{ "states", LISTING_PAGE_STATES, 2000 },
	{ "regions", LISTING_PAGE_REGIONS, 4000 },
	{ "marks", LISTING_PAGE_MARKS, 1000 },
	{ "processes", LISTING_PAGE_PROCESSES, 200 },
	{ "devices", LISTING_PAGE_DEVICES, 64 },
	{ "environ", LISTING_PAGE_ENVIRONMENT, 200 },
	{ "modules", LISTING_PAGE_MODULES, 300 },
	{ "coverage", LISTING_PAGE_COVERAGE, 200 },
	{ "loss", LISTING_PAGE_LOSS, 200 },
	{ "meta", LISTING_PAGE_META, 200 },
};

static const struct page_table counter_table = { "counters", LISTING_PAGE_COUNTERS, 2000 };
static const struct page_table merged_table = { "merged", LISTING_PAGE_SOURCES, 64 };
/* clang-format on */

static void put_cell(struct json *json, const struct listing *listing, unsigned int column)
{
	char text[32];

	switch (listing_cell(listing, column)) {
	case LISTING_INTEGER:
		json_put_int(json, NULL, listing_integer(listing, column));
		break;
	case LISTING_REAL:
		snprintf(text, sizeof(text), "%.9g", listing_real(listing, column));
		json_put_text(json, NULL, text);
		break;
	default:
		json_put_text(json, NULL, listing_text(listing, column));
	}
}

static void put_row(struct json *json, const struct listing *listing)
{
	json_open(json, NULL, '[');
	for (unsigned int i = 0; i < listing_columns(listing); i++)
		put_cell(json, listing, i);
	json_close(json, ']');
}

static int put_table(struct json *json, struct trace *trace, const struct page_table *table)
{
	struct listing *listing;
	int err = listing_open(trace, table->list, &listing);
	int64_t n = 0;

	json_open(json, table->name, '{');
	json_open(json, "columns", '[');
	for (unsigned int i = 0; !err && i < listing_columns(listing); i++)
		json_put_text(json, NULL, listing_name(listing, i));
	json_close(json, ']');
	json_open(json, "rows", '[');
	while (!err && (err = listing_next(listing)) > 0) {
		if (n++ < table->most)
			put_row(json, listing);
		err = 0;
	}
	json_close(json, ']');
	json_put_int(json, "of", n);
	json_close(json, '}');
	listing_close(listing);
	return err;
}

static int put_tables(struct json *json, struct trace *trace)
{
	size_t n = sizeof(page_tables) / sizeof(page_tables[0]);
	int err = 0;

	json_open(json, "tables", '{');
	for (size_t i = 0; i < n && !err; i++)
		err = put_table(json, trace, &page_tables[i]);
	if (!err && lookup_has_counter_samples(trace))
		err = put_table(json, trace, &counter_table);
	if (!err && trace_nmerged(trace))
		err = put_table(json, trace, &merged_table);
	json_close(json, '}');
	return err;
}

/* The run over time */

static void put_bins(struct json *json, const struct timeline *timeline)
{
	json_open(json, "bins", '[');
	for (size_t i = 0; i < timeline->nbins; i++) {
		const struct timeline_bin *bin = &timeline->bins[i];

		json_open(json, NULL, '[');
		json_put_uint(json, NULL, bin->requests * timeline->one_of);
		json_put_uint(json, NULL, bin->bytes * timeline->one_of);
		json_put_uint(json, NULL, bin->receives * timeline->one_of);
		json_put_uint(json, NULL, bin->completions * timeline->one_of);
		json_put_uint(json, NULL, bin->errors);
		json_put_uint(json, NULL, (uint64_t)bin->doorbells * timeline->one_of);
		json_close(json, ']');
	}
	json_close(json, ']');
}

/* Add [bin, class, count] of all classes with requests; two bins are merged into one. */
static void put_heat(struct json *json, const char *name, const struct timeline_heat *heat)
{
	json_open(json, name, '[');
	for (size_t i = 0; i < HEAT_BINS; i++)
		for (size_t c = 0; c < TIMELINE_CLASSES; c++) {
			uint64_t n = (uint64_t)heat->n[2 * i][c] + heat->n[2 * i + 1][c];

			if (!n)
				continue;
			json_open(json, NULL, '[');
			json_put_uint(json, NULL, i);
			json_put_uint(json, NULL, c);
			json_put_uint(json, NULL, n);
			json_close(json, ']');
		}
	json_close(json, ']');
}

static void put_heats(struct json *json, const struct timeline *timeline)
{
	json_open(json, "heat", '{');
	for (unsigned int i = 0; i < PROFILE_OPCODES; i++)
		if (timeline->heat[i])
			put_heat(json, profile_opcode_name(i), timeline->heat[i]);
	json_close(json, '}');
	json_open(json, "classes", '[');
	for (unsigned int i = 0; i < TIMELINE_CLASSES; i++)
		json_put_int(json, NULL, timeline_class_from(i));
	json_close(json, ']');
}

/* Add [bin, least, most] of the bins in which the depth changed. */
static void put_depth(struct json *json, const struct timeline_queue *queue,
		      const struct object *object)
{
	json_open(json, NULL, '{');
	json_put_text(json, "queue", object ? object->name : NULL);
	json_put_uint(json, "process", object ? object->process : 0);
	json_put_bool(json, "send", queue->send);
	json_put_uint(json, "room", queue->room);
	json_put_bool(json, "unsure", queue->unsure);
	json_open(json, "depth", '[');
	for (size_t i = 0; i < TIMELINE_BINS; i++) {
		if (queue->depth[i].least > queue->depth[i].most)
			continue;
		json_open(json, NULL, '[');
		json_put_uint(json, NULL, i);
		json_put_uint(json, NULL, queue->depth[i].least);
		json_put_uint(json, NULL, queue->depth[i].most);
		json_close(json, ']');
	}
	json_close(json, ']');
	json_close(json, '}');
}

static int compare_queues(const void *a, const void *b)
{
	const struct timeline_queue *x = a, *y = b;

	if (x->requests != y->requests)
		return x->requests < y->requests ? 1 : -1;
	return x->object < y->object ? -1 : x->object > y->object;
}

/* Add the depths of the busiest queues. */
static void put_depths(struct json *json, struct trace *trace, struct timeline *timeline)
{
	if (timeline->nqueues)
		qsort(timeline->queues, timeline->nqueues, sizeof(*timeline->queues),
		      compare_queues);
	json_open(json, "queues", '[');
	for (size_t i = 0; i < timeline->nqueues && i < DEPTHS; i++)
		put_depth(json, &timeline->queues[i],
			  trace_object(trace, timeline->queues[i].object));
	json_close(json, ']');
	json_put_bool(json, "more_queues", timeline->more || timeline->nqueues > DEPTHS);
}

static void put_timeline(struct json *json, struct trace *trace, struct timeline *timeline)
{
	json_open(json, "timeline", '{');
	json_put_int(json, "begin", timeline->begin);
	json_put_int(json, "width", timeline->width);
	put_bins(json, timeline);
	put_heats(json, timeline);
	put_depths(json, trace, timeline);
	json_close(json, '}');
}

int page_data_put(struct json *json, struct trace *trace, struct timeline *timeline,
		  const struct lanes *lanes)
{
	put_timeline(json, trace, timeline);
	page_lanes_put(json, trace, lanes);
	return put_tables(json, trace);
}
