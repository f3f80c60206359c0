/*
 * The rows of a trace for other engines
 *
 * Requests and completions, the large tables, come from one pass over the events, without SQL. The
 * others are read as SQL has them.
 */
#include "cli/lake/rows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analyzer/tables/completions.h"
#include "analyzer/tables/qps.h"
#include "analyzer/tables/requests.h"
#include "analyzer/tables/tables.h"
#include "core/base/text.h"
#include "core/base/vec.h"
#include "core/store/read/listing.h"
#include "core/store/read/trace.h"
#include "core/store/vtab/views.h"
#include "core/wire/log.h"

/* clang-format off */
/* Each table, and the column by which its rows are sorted. */
static const struct {
	const char *name, *order;
} tables[ROWS_TABLES] = {
	[ROWS_REQUESTS] = { "requests", "time" },
	[ROWS_COMPLETIONS] = { "completions", "time" },
	[ROWS_CALLS] = { "calls", "begin" },
	[ROWS_QPS] = { "qps", "created_at" },
	[ROWS_MRS] = { "mrs", "since" },
	[ROWS_PROCESSES] = { "processes", "start" },
	[ROWS_FINDINGS] = { "findings", "time" },
	[ROWS_STACKS] = { "stacks", "stack" },
};

static const struct made_column before[ROWS_BEFORE] = {
	[ROWS_TRACE] = TEXT_COLUMN("trace"), [ROWS_JOB] = TEXT_COLUMN("job"),
	[ROWS_NODE] = TEXT_COLUMN("node"), [ROWS_RANK] = INTEGER_COLUMN("rank"),
};
/* clang-format on */

/* Does each table have it? Then a process has it twice. */
static bool is_before(const struct made_column *column)
{
	for (int i = 0; i < ROWS_BEFORE; i++)
		if (!strcmp(column->name, before[i].name))
			return true;
	return false;
}

static const struct made_column *find_own(enum rows_table table)
{
	switch (table) {
	case ROWS_REQUESTS:
		return requests_table.columns;
	case ROWS_COMPLETIONS:
		return completions_columns();
	case ROWS_QPS:
		return qps_table.columns;
	default:
		return view_columns(tables[table].name); /* read once */
	}
}

static int find_column(const struct made_column *columns, const char *name)
{
	for (int i = 0; columns[i].name; i++)
		if (!strcmp(columns[i].name, name))
			return i;
	return -1;
}

static bool join_columns(enum rows_table table, struct rows_columns *ret_columns)
{
	const struct made_column *own = find_own(table);
	struct made_column *all;
	size_t n = 0, at = ROWS_BEFORE;

	while (own && own[n].name)
		n++;
	all = own ? calloc(ROWS_BEFORE + n + 1, sizeof(*all)) : NULL;
	if (!all)
		return false;
	memcpy(all, before, sizeof(before));
	for (size_t i = 0; i < n; i++)
		if (!is_before(&own[i]))
			all[at++] = own[i];
	*ret_columns = (struct rows_columns){ tables[table].name, all, find_column(all, "process"),
					      find_column(all, tables[table].order) };
	return true;
}

const struct rows_columns *rows_tables(void)
{
	static struct rows_columns all[ROWS_TABLES];

	for (int t = 0; t < ROWS_TABLES; t++)
		if (!all[t].name && !join_columns(t, &all[t]))
			return NULL;
	return all;
}

/* A table as SQL has it. */
static void put_cell(const void *row, uint32_t ahead, int column, struct made_value *value)
{
	const struct listing *listing = row;
	unsigned int cell = (unsigned int)column;

	(void)ahead;
	switch (listing_cell(listing, cell)) {
	case LISTING_INTEGER:
		made_int(value, listing_integer(listing, cell));
		break;
	case LISTING_TEXT:
		made_text(value, listing_text(listing, cell));
		break;
	default:
		break;
	}
}

static int read_listing(const struct rows_columns *table, enum rows_table id,
			const struct rows_taker *taker, struct listing *listing)
{
	unsigned int process = (unsigned int)table->process - ROWS_BEFORE;
	int more, err = 0;

	while (!err && (more = listing_next(listing)) != 0) {
		int64_t of = more > 0 ? listing_integer(listing, process) : 0;

		err = more < 0 ? more
			       : taker->take(taker->arg, id,
					     of > 0 && of <= UINT32_MAX ? (uint32_t)of : 0, 1,
					     put_cell, listing);
	}
	return err;
}

static int read_table(struct trace *trace, enum rows_table id, const struct rows_taker *taker)
{
	const struct rows_columns *table = &rows_tables()[id];
	struct listing *listing = NULL;
	struct text names = { 0 };
	int err;

	for (unsigned int i = ROWS_BEFORE; table->columns[i].name; i++)
		text_addf(&names, "%s%s", i > ROWS_BEFORE ? ", " : "", table->columns[i].name);
	err = names.failed ? log_err(-ENOMEM, "read the trace")
			   : listing_open_table(trace, table->name, names.at, &listing);
	if (!err)
		err = read_listing(table, id, taker, listing);
	listing_close(listing);
	text_fini(&names);
	return err;
}

enum { TOGETHER = 256 /* requests that are read column by column */ };

/* Requests and completions. */
struct pass_rows {
	void *requests;
	const struct rows_taker *taker;
	int err;
};

static void put_completion(const void *event, uint32_t ahead, int column, struct made_value *value)
{
	completions_value(event, ahead, column, value);
}

static void see_event(void *arg, const struct trace_event *event)
{
	struct pass_rows *rows = arg;

	if (event->kind == TRACE_POLL && event->poll->nwc && !rows->err)
		rows->err = rows->taker->take(rows->taker->arg, ROWS_COMPLETIONS, event->process,
					      event->poll->nwc, put_completion, event);
}

static int read_data(struct trace *trace, const struct rows_taker *taker)
{
	struct made_bounds all = { .to = INT64_MAX, .used = UINT64_MAX };
	struct pass_rows rows = { .taker = taker };
	int err = requests_table.open(trace, &all, &rows.requests), more = 0;

	if (err)
		return err;
	requests_watch(rows.requests, see_event, &rows);
	requests_collect(rows.requests, TOGETHER);
	while (!err && !rows.err && (more = requests_table.next(rows.requests)) > 0) {
		uint32_t process, n = requests_run(rows.requests, &process);

		err = taker->take(taker->arg, ROWS_REQUESTS, process, n, requests_value_at,
				  rows.requests);
		requests_skip(rows.requests, n - 1);
	}
	requests_table.close(rows.requests);
	return err ? err : rows.err ? rows.err : more;
}

int rows_prepare(struct trace *trace, struct model_tables **ret_tables)
{
	int err = model_tables_add(trace, ret_tables);

	return err ? err : views_create(trace_db(trace), true, NULL);
}

int rows_read(struct trace *trace, const struct rows_taker *taker)
{
	int err = 0;

	for (int t = 0; t < ROWS_TABLES && !err; t++)
		if (t != ROWS_REQUESTS && t != ROWS_COMPLETIONS)
			err = read_table(trace, t, taker);
	return err ? err : read_data(trace, taker);
}
