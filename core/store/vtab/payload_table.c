/*
 * The rows of table `payload`, from the chunks of table `payload_chunk`
 */
#include "core/store/vtab/rows.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/store/read/payload_read.h"
#include "core/wire/log.h"
#include "core/wire/payload.h"

struct table_rows {
	struct trace *trace;
	const struct data_table *table;
	sqlite3_stmt *chunks;
	struct payload_reader reader;
	struct rows_bounds bounds;
	uint32_t thread, process;
	const struct payload_rows *rows; /* of the current chunk */
	size_t at;
};

static const char chunks_sql[] =
	"SELECT id, thread FROM payload_chunk WHERE thread BETWEEN ?1 AND ?2 AND last_n >= ?3"
	" AND first_n <= ?4 AND end >= ?5 AND begin <= ?6 ORDER BY thread, first_n, id";

static void free_rows(void *rows)
{
	struct table_rows *r = rows;

	if (!r)
		return;
	sqlite3_finalize(r->chunks);
	payload_reader_fini(&r->reader);
	free(r);
}

static int new_rows(struct trace *trace, const struct data_table *table, void **ret_rows)
{
	struct table_rows *r = calloc(1, sizeof(*r));
	int err;

	if (!r)
		return log_err(-ENOMEM, "read table %s", table->name);
	r->trace = trace;
	r->table = table;
	err = sql_prepare(trace->db, chunks_sql, &r->chunks);
	if (!err)
		err = payload_reader_init(&r->reader, trace->db);
	if (err) {
		free_rows(r);
		return err;
	}
	*ret_rows = r;
	return 0;
}

/* Go to the first row of the next chunk that may be within the bounds: 1, 0, -errno. */
static int next_chunk(struct table_rows *r)
{
	const struct thread *thread;
	int err = sql_step(r->chunks);

	if (err <= 0) {
		sqlite3_reset(r->chunks);
		return err;
	}
	r->thread = sql_u32(r->chunks, 1);
	thread = trace_thread(r->trace, r->thread);
	r->process = thread ? thread->process : 0;
	err = payload_reader_read(&r->reader, r->thread, sqlite3_column_int64(r->chunks, 0),
				  &r->rows);
	if (err)
		return err;
	r->at = payload_rows_before(r->rows, (uint64_t)r->bounds.n_from, 0);
	return 1;
}

/* Go to the next row from r->at on that is within the bounds. */
static int find_matching_row(struct table_rows *r, int more)
{
	const struct rows_bounds *b = &r->bounds;

	while (more > 0) {
		const struct payload_row *row =
			r->at < r->rows->nrows ? &r->rows->rows[r->at] : NULL;

		if (!row || row->n > (uint64_t)b->n_to)
			more = next_chunk(r);
		else if (row->time >= b->time_from && row->time <= b->time_to)
			break;
		else
			r->at++;
	}
	return more;
}

static int first_row(void *rows, const struct rows_bounds *bounds, uint64_t used)
{
	struct table_rows *r = rows;

	(void)used;
	r->bounds = *bounds;
	sqlite3_reset(r->chunks);
	if (bounds->thread > UINT32_MAX || bounds->n_from > bounds->n_to)
		return 0;
	sql_bind(r->chunks, "iiiiii", bounds->thread < 0 ? 0 : bounds->thread,
		 bounds->thread < 0 ? INT64_MAX : bounds->thread, bounds->n_from, bounds->n_to,
		 bounds->time_from, bounds->time_to);
	return find_matching_row(r, next_chunk(r));
}

static int next_row(void *rows)
{
	struct table_rows *r = rows;

	r->at++;
	return find_matching_row(r, 1);
}

static void reset_rows(void *rows)
{
	struct table_rows *r = rows;

	sqlite3_reset(r->chunks);
}

static void result_row_text(sqlite3_context *context, const struct payload_row *row,
			    enum value value)
{
	char text[24];

	if (value == VALUE_KIND)
		sqlite3_result_text(context, payload_kind_text(row->kind), -1, SQLITE_STATIC);
	else if (value == VALUE_WHY && row->why)
		sqlite3_result_text(context, payload_why_text(row->why), -1, SQLITE_STATIC);
	else if (value == VALUE_HASH && row->hashed) {
		snprintf(text, sizeof(text), "%016" PRIx64, row->hash);
		sqlite3_result_text(context, text, -1, SQLITE_TRANSIENT);
	}
}

static int64_t number_of(const struct table_rows *r, const struct payload_row *row,
			 enum value value)
{
	switch (value) {
	case VALUE_THREAD:
		return r->thread;
	case VALUE_N:
		return (int64_t)row->n;
	case VALUE_I:
		return row->i;
	case VALUE_TIME:
		return row->time;
	case VALUE_PROCESS:
		return r->process;
	case VALUE_LENGTH:
		return (int64_t)row->total;
	case VALUE_CAPTURED:
		return (int64_t)row->bytes;
	default:
		return row->before;
	}
}

static void result_row_value(void *rows, int column, sqlite3_context *context)
{
	const struct table_rows *r = rows;
	const struct payload_row *row = &r->rows->rows[r->at];
	enum value value = r->table->columns[column].value;

	if (value == VALUE_KIND || value == VALUE_HASH || value == VALUE_WHY)
		result_row_text(context, row, value);
	else if (value != VALUE_PAYLOAD)
		sqlite3_result_int64(context, number_of(r, row, value));
	else if (row->bytes)
		sqlite3_result_blob64(context, r->rows->bytes + row->at, row->bytes,
				      SQLITE_TRANSIENT);
}

const struct rows_source payload_source = {
	.new = new_rows,
	.free = free_rows,
	.first = first_row,
	.next = next_row,
	.rest = reset_rows,
	.value = result_row_value,
};
