/*
 * The rows of table `wc` with the request of each completion
 *
 * Matching a completion needs all events in time order, so the rows are in this order and not
 * sorted by thread.
 */
#include "core/store/vtab/rows.h"

#include <errno.h>
#include <stdlib.h>

#include "core/wire/log.h"

struct matched_cursor {
	struct trace *trace;
	struct rows_bounds bounds;
	struct cursor *cursor;
	const struct trace_event *event;
	uint32_t i; /* index among the event's completions */
};

static int matched_new(struct trace *trace, const struct data_table *table, void **ret_rows)
{
	struct matched_cursor *matched = calloc(1, sizeof(*matched));

	if (!matched)
		return log_err(-ENOMEM, "read table %s", table->name);
	matched->trace = trace;
	*ret_rows = matched;
	return 0;
}

static void matched_close_cursor(void *rows)
{
	struct matched_cursor *matched = rows;

	cursor_close(matched->cursor);
	matched->cursor = NULL;
	matched->event = NULL;
}

static void matched_free(void *rows)
{
	if (rows)
		matched_close_cursor(rows);
	free(rows);
}

static const struct wc *current_wc(const struct matched_cursor *matched)
{
	return &matched->event->poll->wc[matched->i];
}

static int matched_next(void *rows)
{
	struct matched_cursor *matched = rows;

	for (;;) {
		int more;

		if (matched->event && matched->event->kind == TRACE_POLL)
			while (++matched->i < matched->event->poll->nwc)
				if (matched->bounds.status < 0 ||
				    current_wc(matched)->status == matched->bounds.status)
					return 1;
		more = cursor_next(matched->cursor, &matched->event);
		if (more <= 0)
			return more;
		matched->i = UINT32_MAX; /* before the first completion */
	}
}

static int matched_first(void *rows, const struct rows_bounds *bounds, uint64_t used)
{
	struct matched_cursor *matched = rows;
	const struct thread *thread;
	struct trace_filter filter = { 0 };
	int err;

	(void)used;
	matched_close_cursor(matched);
	matched->bounds = *bounds;
	if (bounds->thread >= 0 && bounds->thread <= UINT32_MAX) {
		filter.thread = (uint32_t)bounds->thread;
		thread = trace_thread(matched->trace, filter.thread);
		filter.process = thread ? thread->process : 0;
	}
	if (bounds->time_to > 0 && bounds->time_to < INT64_MAX)
		filter.to = bounds->time_to;
	err = cursor_open(matched->trace, &filter, &matched->cursor);
	return err ? err : matched_next(matched);
}

static int64_t column_value(const struct wc *wc, enum column_id column)
{
	switch (column) {
#define VALUE(family, column, name, member, type, wire) \
	case COLUMN_##column:                           \
		return (int64_t)(wire)wc->name;
		SHOWN_WC(VALUE)
		SHOWN_EXTRA(VALUE)
#undef VALUE
	default:
		return 0;
	}
}

/* Set a value that is NULL if it is not known. */
static void known_value(const struct matched_cursor *matched, enum value value,
			sqlite3_context *context)
{
	const struct wc *wc = current_wc(matched);
	int64_t id = value == VALUE_CQ ? matched->event->poll->object : wc->qp;

	if (value == VALUE_CQ || value == VALUE_WC_QP) {
		if (id)
			sqlite3_result_int64(context, id);
		return;
	}
	if (!wc->request.thread)
		return;
	switch (value) {
	case VALUE_WR_THREAD:
		sqlite3_result_int64(context, wc->request.thread);
		break;
	case VALUE_WR_N:
		sqlite3_result_int64(context, (int64_t)wc->request.n);
		break;
	case VALUE_WR_I:
		sqlite3_result_int64(context, wc->request_index);
		break;
	default:
		sqlite3_result_int64(context, wc->posted_at);
	}
}

static void result_name(const struct wc *wc, const struct table_column *column,
			sqlite3_context *context)
{
	const char *name = enum_name(enum_find(column->names), column_value(wc, column[-1].column));

	if (name)
		sqlite3_result_text(context, name, -1, SQLITE_STATIC);
}

static void matched_value(void *rows, int index, sqlite3_context *context)
{
	const struct matched_cursor *matched = rows;
	const struct table_column *column = &tables[TABLE_wc].columns[index];
	const struct trace_event *event = matched->event;

	switch (column->value) {
	case VALUE_THREAD:
		sqlite3_result_int64(context, event->id.thread);
		break;
	case VALUE_N:
		sqlite3_result_int64(context, (int64_t)event->id.n);
		break;
	case VALUE_I:
		sqlite3_result_int64(context, matched->i);
		break;
	case VALUE_TIME:
		sqlite3_result_int64(context, event->time);
		break;
	case VALUE_PROCESS:
		sqlite3_result_int64(context, event->process);
		break;
	case VALUE_EXTRA:
		if (!(current_wc(matched)->parts & extra_part(column->column)))
			break;
		__attribute__((fallthrough));
	case VALUE_COLUMN:
		sqlite3_result_int64(context, column_value(current_wc(matched), column->column));
		break;
	case VALUE_NAME:
		result_name(current_wc(matched), column, context);
		break;
	default:
		known_value(matched, column->value, context);
	}
}

const struct rows_source matched_source = {
	.new = matched_new,
	.free = matched_free,
	.first = matched_first,
	.next = matched_next,
	.rest = matched_close_cursor,
	.value = matched_value,
};
