/*
 * What each process waited for when it ended, and the process to blame
 *
 * A row for each queue pair that waited for its peer, if its process watched its CQ; and a row for
 * each other process, or set of threads that waits by itself. A check computes them, as `verbatim
 * check` reports them, when the table is first used.
 */
#include "analyzer/tables/waits.h"

#include <errno.h>
#include <stdlib.h>

#include "analyzer/check.h"
#include "analyzer/facts/delays.h"
#include "analyzer/facts/stalls.h"
#include "analyzer/report/waits_text.h"
#include "core/base/vec.h"
#include "core/wire/log.h"

/* A process, and one of its links or NULL. */
struct waits_row {
	const struct stall *stall;
	const struct stall_link *link;
};

struct waits_rows {
	struct trace *trace;
	struct findings *findings; /* NULL: not read yet */
	const struct stalls *stalls;
	struct waits_row *all;
	size_t n;
};

struct waits_cursor {
	const struct waits_rows *rows;
	size_t at; /* 1 + index of the current row */
};

/* clang-format off */
enum { PROCESS, STATE, SAYS, EVENT, TIME, STACK, OBJECT, NAME, PEER_PROCESS, PEER, PEER_NAME, WHY,
       OLDEST, SINCE, OUTSTANDING, RECEIVED, BLAMED, DIRECT, TOTAL, THREAD, PEER_THREAD };

static const struct computed_column columns[] = {
	[PROCESS] = INTEGER_COLUMN("process"), [STATE] = TEXT_COLUMN("state"),
	[SAYS] = TEXT_COLUMN("says"), [EVENT] = TEXT_COLUMN("event"),
	[TIME] = INTEGER_COLUMN("time"), [STACK] = INTEGER_COLUMN("stack"),
	[OBJECT] = INTEGER_COLUMN("object"), [NAME] = TEXT_COLUMN("name"),
	[PEER_PROCESS] = INTEGER_COLUMN("peer_process"), [PEER] = INTEGER_COLUMN("peer"),
	[PEER_NAME] = TEXT_COLUMN("peer_name"), [WHY] = TEXT_COLUMN("why"),
	[OLDEST] = TEXT_COLUMN("oldest"), [SINCE] = INTEGER_COLUMN("since"),
	[OUTSTANDING] = INTEGER_COLUMN("outstanding"), [RECEIVED] = INTEGER_COLUMN("received"),
	[BLAMED] = INTEGER_COLUMN("blamed"), [DIRECT] = INTEGER_COLUMN("direct"),
	[TOTAL] = INTEGER_COLUMN("total"), [THREAD] = INTEGER_COLUMN("thread"),
	[PEER_THREAD] = INTEGER_COLUMN("peer_thread"), { 0 },
};
/* clang-format on */

struct waits_rows *waits_rows_new(struct trace *trace)
{
	struct waits_rows *rows = calloc(1, sizeof(*rows));

	if (rows)
		rows->trace = trace;
	return rows;
}

void waits_rows_free(struct waits_rows *rows)
{
	if (!rows)
		return;
	findings_free(rows->findings);
	free(rows->all);
	free(rows);
}

static int add_row(struct waits_rows *rows, const struct stall *stall,
		   const struct stall_link *link)
{
	struct waits_row *row = vec_push(rows->all, rows->n);

	if (!row)
		return log_err(-ENOMEM, "waits of processes");
	*row = (struct waits_row){ stall, link };
	return 0;
}

static int add_process(struct waits_rows *rows, const struct stall *stall)
{
	size_t before = rows->n;
	int err = 0;

	for (size_t i = 0; i < stall->n && !err; i++)
		if (stall_links(rows->stalls, stall)[i].watched)
			err = add_row(rows, stall, &stall_links(rows->stalls, stall)[i]);
	return err || rows->n > before ? err : add_row(rows, stall, NULL);
}

static int read_rows(struct waits_rows *rows)
{
	int err;

	if (rows->findings)
		return 0;
	err = check_trace(rows->trace, NULL, &rows->findings);
	if (err < 0)
		return err;
	rows->stalls = facts_stalls(rows->findings->facts);
	for (size_t i = 1; i < rows->stalls->n && !err; i++)
		if (rows->stalls->all[i].process)
			err = add_process(rows, &rows->stalls->all[i]);
	return err;
}

static int waits_open(void *arg, const struct computed_bounds *bounds, void **ret_rows)
{
	struct waits_cursor *cursor = calloc(1, sizeof(*cursor));
	int err = cursor ? read_rows(arg) : log_err(-ENOMEM, "waits of processes");

	(void)bounds;
	if (err) {
		free(cursor);
		return err;
	}
	cursor->rows = arg;
	*ret_rows = cursor;
	return 0;
}

static int waits_next(void *rows)
{
	struct waits_cursor *cursor = rows;

	return cursor->at++ < cursor->rows->n;
}

static void put_event(struct computed_value *value, struct event_id id)
{
	char text[32];

	if (id.thread)
		computed_set_text(value, event_id_text(id, text));
}

static void put_object(struct computed_value *value, struct trace *trace, uint32_t id, bool name)
{
	const struct object *object = trace_object(trace, id);

	if (object && name)
		computed_set_text(value, object->name);
	else if (object)
		computed_set_int(value, id);
}

static void put_link(const struct waits_rows *rows, const struct stall_link *link, int column,
		     struct computed_value *value)
{
	switch (column) {
	case OBJECT:
	case NAME:
		put_object(value, rows->trace, link->qp, column == NAME);
		break;
	case PEER_PROCESS:
		computed_set_int(value, link->to);
		break;
	case PEER:
	case PEER_NAME:
		put_object(value, rows->trace, link->other, column == PEER_NAME);
		break;
	case PEER_THREAD:
		if (link->their_thread)
			computed_set_int(value, link->their_thread);
		break;
	case WHY:
		computed_set_text(value, stall_whys[link->why]);
		break;
	case OLDEST:
		put_event(value, link->request);
		break;
	case SINCE:
		computed_set_int(value, link->since);
		break;
	case OUTSTANDING:
		computed_set_int(value, (int64_t)link->outstanding);
		break;
	default:
		computed_set_int(value, (int64_t)link->received);
	}
}

/* The blame that @node is part of; NULL: it is not to blame. */
static const struct wait_blame *find_blame(const struct stalls *stalls, uint32_t node)
{
	const struct wait_graph *graph = &stalls->graph;

	if (!graph->nblames || !graph->blamed[node] ||
	    !wait_blame_has(&graph->blames[graph->blamed[node] - 1], node))
		return NULL;
	return &graph->blames[graph->blamed[node] - 1];
}

static void put_blame(const struct stalls *stalls, uint32_t node, int column,
		      struct computed_value *value)
{
	const struct wait_blame *blame = find_blame(stalls, node);
	const struct wait_graph *graph = &stalls->graph;

	if (column == BLAMED && graph->nblames && graph->blamed[node])
		computed_set_int(
			value,
			stalls->all[graph->blames[graph->blamed[node] - 1].nodes[0]].process);
	else if (blame && column == DIRECT)
		computed_set_int(value, (int64_t)blame->direct);
	else if (blame && column == TOTAL)
		computed_set_int(value, (int64_t)blame->all);
}

static void put_sentence(const struct waits_rows *rows, const struct waits_row *row,
			 struct computed_value *value)
{
	struct text text = { 0 };

	if (row->link)
		waits_put_link(&text, rows->trace, row->link);
	else
		waits_put_state(&text, rows->trace, row->stall);
	if (!text.failed)
		computed_set_text(value, text.at);
	text_fini(&text);
}

static void waits_value(void *rows, int column, struct computed_value *value)
{
	const struct waits_cursor *cursor = rows;
	const struct waits_row *row = &cursor->rows->all[cursor->at - 1];
	const struct stalls *stalls = cursor->rows->stalls;
	const struct stall *stall = row->stall;
	uint32_t node = (uint32_t)(stall - stalls->all);

	switch (column) {
	case PROCESS:
		computed_set_int(value, stall->process);
		break;
	case STATE:
		computed_set_text(value, stall_states[stall->state]);
		break;
	case SAYS:
		put_sentence(cursor->rows, row, value);
		break;
	case EVENT:
		put_event(value, stall->last.id);
		break;
	case TIME:
		computed_set_int(value, stall->last.time);
		break;
	case STACK:
		if (stall->stack)
			computed_set_int(value, stall->stack);
		break;
	case BLAMED:
	case DIRECT:
	case TOTAL:
		put_blame(stalls, node, column, value);
		break;
	case THREAD:
		if (stalls_thread(stalls, node))
			computed_set_int(value, stalls_thread(stalls, node));
		break;
	default:
		if (row->link)
			put_link(cursor->rows, row->link, column, value);
	}
}

const struct computed_table waits_table = {
	.name = "waits",
	.key = "process, object, why",
	.columns = columns,
	.reads_all = true,
	.open = waits_open,
	.next = waits_next,
	.value = waits_value,
	.close = free,
};

/* Delays */

/* clang-format off */
enum { WAITER, CAUSE, NS, TIMES, HOWS };

static const struct computed_column delay_columns[] = {
	[WAITER] = INTEGER_COLUMN("process"), [CAUSE] = INTEGER_COLUMN("cause"),
	[NS] = INTEGER_COLUMN("ns"), [TIMES] = INTEGER_COLUMN("times"),
	[HOWS + DELAY_SEND] = INTEGER_COLUMN("send"),
	[HOWS + DELAY_RECEIVE] = INTEGER_COLUMN("receive"),
	[HOWS + DELAY_POLL] = INTEGER_COLUMN("poll"),
	[HOWS + DELAY_REGISTER] = INTEGER_COLUMN("register"), { 0 },
};
/* clang-format on */

static int delays_next(void *rows)
{
	struct waits_cursor *cursor = rows;

	return cursor->at++ < facts_delays(cursor->rows->findings->facts)->npairs;
}

static void delays_value(void *rows, int column, struct computed_value *value)
{
	const struct waits_cursor *cursor = rows;
	const struct delays *delays = facts_delays(cursor->rows->findings->facts);
	const struct delay_pair *pair = &delays->pairs[cursor->at - 1];

	switch (column) {
	case WAITER:
		computed_set_int(value, pair->waiter);
		break;
	case CAUSE:
		computed_set_int(value, pair->cause);
		break;
	case NS:
		computed_set_int(value, pair->ns);
		break;
	case TIMES:
		computed_set_int(value, (int64_t)pair->times);
		break;
	default:
		computed_set_int(value, pair->by[column - HOWS]);
	}
}

const struct computed_table delays_table = {
	.name = "delays",
	.key = "process, cause",
	.columns = delay_columns,
	.reads_all = true,
	.open = waits_open,
	.next = delays_next,
	.value = delays_value,
	.close = free,
};
