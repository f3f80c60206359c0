/*
 * The rows of a trace for other engines
 *
 * Requests and completions, the large tables, come from one pass over the events, without SQL. The
 * pass also fills the table of queue pairs. All other tables are read by SQL.
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

static const struct computed_column before[ROWS_BEFORE] = {
	[ROWS_TRACE] = TEXT_COLUMN("trace"), [ROWS_JOB] = TEXT_COLUMN("job"),
	[ROWS_NODE] = TEXT_COLUMN("node"), [ROWS_RANK] = INTEGER_COLUMN("rank"),
};
/* clang-format on */

/* Is the column one of the columns that every table begins with? Then it is not repeated. */
static bool is_before(const struct computed_column *column)
{
	for (int i = 0; i < ROWS_BEFORE; i++)
		if (!strcmp(column->name, before[i].name))
			return true;
	return false;
}

static const struct computed_column *find_own_columns(enum rows_table table)
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

static int find_column(const struct computed_column *columns, const char *name)
{
	for (int i = 0; columns[i].name; i++)
		if (!strcmp(columns[i].name, name))
			return i;
	return -1;
}

/* Find out which columns follow from others. */
static void relate_columns(enum rows_table table, struct rows_columns *columns)
{
	static const char *const names[][3] = { { "event", "thread", "n" },
						{ "retired_by", "retired_thread", "retired_n" } };
	bool requests = table == ROWS_REQUESTS;
	uint64_t varying = requests ? requests_varying : completions_varying();

	if (!requests && table != ROWS_COMPLETIONS)
		return;
	columns->key_words = requests ? REQUESTS_KEY : COMPLETIONS_KEY;
	for (int i = 0; columns->columns[i].name; i++)
		if (i < ROWS_BEFORE || !(varying >> (i - ROWS_BEFORE) & 1))
			columns->classed |= 1ull << i;
	for (int i = 0; requests && i < 2; i++) {
		columns->events[i].text = find_column(columns->columns, names[i][0]);
		columns->events[i].thread = find_column(columns->columns, names[i][1]);
		columns->events[i].n = find_column(columns->columns, names[i][2]);
	}
}

static bool join_columns(enum rows_table table, struct rows_columns *ret_columns)
{
	const struct computed_column *own = find_own_columns(table);
	struct computed_column *all;
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
	*ret_columns = (struct rows_columns){ .name = tables[table].name,
					      .columns = all,
					      .process = find_column(all, "process"),
					      .order = find_column(all, tables[table].order) };
	relate_columns(table, ret_columns);
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

/* Fill a cell of a table that is read by SQL, row by row. */
static void fill_cell(const void *row, uint32_t from, uint32_t n, int column, struct cells *cells)
{
	const struct listing *listing = row;
	unsigned int cell = (unsigned int)column;

	(void)from;
	switch (listing_cell(listing, cell)) {
	case LISTING_INTEGER:
		cells_numbers(cells, n, i, listing_integer(listing, cell));
		break;
	case LISTING_TEXT:
		cells_texts(cells, n, i, listing_text(listing, cell));
		break;
	default:
		cells->kind = CELLS_NONE;
	}
}

static int read_listing(const struct rows_columns *table, enum rows_table id,
			const struct rows_callback *taker, struct listing *listing)
{
	struct rows_block block = { .table = id, .n = 1, .fill = fill_cell, .rows = listing };
	unsigned int process = (unsigned int)table->process - ROWS_BEFORE;
	int more, err = 0;

	while (!err && (more = listing_next(listing)) != 0) {
		int64_t of = more > 0 ? listing_integer(listing, process) : 0;

		block.processes[0] = of > 0 && of <= UINT32_MAX ? (uint32_t)of : 0;
		err = more < 0 ? more : taker->take(taker->arg, &block);
	}
	return err;
}

static int read_table(struct trace *trace, enum rows_table id, const struct rows_callback *taker)
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

/* Requests and completions. */
struct pass_rows {
	const struct rows_callback *taker;
	struct qps *qps;
	struct rows_block block; /* of @completions */
	struct completion completions[CELLS_ROWS];
	int err;
};

static void fill_completions(const void *rows, uint32_t from, uint32_t n, int column,
			     struct cells *cells)
{
	completions_fill((const struct completion *)rows + from, n, column, cells);
}

static const void *find_completion_key(const void *rows, uint32_t at)
{
	return ((const struct completion *)rows)[at].key;
}

static void pass_completions(struct pass_rows *rows)
{
	if (!rows->err && rows->block.n)
		rows->err = rows->taker->take(rows->taker->arg, &rows->block);
	rows->block.n = 0;
}

static void add_poll_rows(void *arg, const struct trace_event *event)
{
	struct pass_rows *rows = arg;
	struct rows_block *block = &rows->block;

	for (uint32_t i = 0; event->kind == TRACE_POLL && i < event->poll->nwc; i++) {
		block->processes[block->n] = event->process;
		completion_copy(event, i, &rows->completions[block->n]);
		if (++block->n == CELLS_ROWS)
			pass_completions(rows);
	}
}

static void add_left_qp(void *arg, const struct life *life)
{
	qps_leave(((struct pass_rows *)arg)->qps, life);
}

static int read_requests(void *requests, struct pass_rows *rows)
{
	struct rows_block block = {
		.table = ROWS_REQUESTS, .fill = requests_fill, .key = requests_key, .rows = requests
	};
	int err = 0, more = 0;

	requests_collect(requests, CELLS_ROWS);
	while (!err && !rows->err && (more = requests_table.next(requests)) > 0) {
		block.n = requests_count(requests);
		for (uint32_t i = 0; i < block.n; i++)
			block.processes[i] = requests_process(requests, i);
		err = rows->taker->take(rows->taker->arg, &block);
		requests_skip(requests, block.n - 1);
	}
	pass_completions(rows);
	return err ? err : rows->err ? rows->err : more;
}

static int read_data(struct trace *trace, struct pass_rows *rows)
{
	struct requests_watcher watcher = { add_poll_rows, add_left_qp, rows };
	struct computed_bounds all = { .to = INT64_MAX, .used = UINT64_MAX };
	void *requests;
	int err = qps_begin(rows->qps);

	if (!err)
		err = requests_table.open(trace, &all, &requests);
	if (err)
		return err;
	requests_watch(requests, &watcher);
	err = read_requests(requests, rows);
	/* closing it reports the queue pairs that are still alive */
	requests_table.close(requests);
	return err ? err : qps_end(rows->qps);
}

int rows_prepare(struct trace *trace, struct model_tables **ret_tables)
{
	int err = model_tables_add(trace, ret_tables);

	return err ? err : views_create(trace_db(trace), true, NULL);
}

int rows_read(struct trace *trace, struct model_tables *tables, const struct rows_callback *taker)
{
	struct pass_rows *rows = calloc(1, sizeof(*rows));
	int err;

	if (!rows)
		return log_err(-ENOMEM, "read the trace");
	rows->taker = taker;
	rows->qps = model_tables_qps(tables);
	rows->block.table = ROWS_COMPLETIONS;
	rows->block.fill = fill_completions;
	rows->block.key = find_completion_key;
	rows->block.rows = rows->completions;
	err = read_data(trace, rows);
	free(rows);
	for (int t = 0; t < ROWS_TABLES && !err; t++)
		if (t != ROWS_REQUESTS && t != ROWS_COMPLETIONS)
			err = read_table(trace, t, taker);
	return err;
}
