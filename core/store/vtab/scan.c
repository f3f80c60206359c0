/*
 * The rows of one table of the data plane, from chunks
 *
 * A join looks up single events, mostly in order and of a few threads. So some decoded chunks are
 * cached, each with the position of its iterator: an event of a cached chunk is found by moving the
 * iterator on, or back to an earlier position, instead of reading the chunk again.
 *
 * The rows of `wc` come from this module, or from a cursor if the query uses the request of each
 * completion (matched.c).
 *
 * Not here: the values of a row (scan_value.c).
 */
#include "core/store/vtab/scan.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/wire/event.h"
#include "core/wire/log.h"

static const char range_sql[] =
	"SELECT thread, first_n, last_n, data FROM chunk WHERE thread BETWEEN ?1 AND ?2"
	" AND last_n >= ?3 AND first_n <= ?4 AND end >= ?5 AND begin <= ?6"
	" ORDER BY thread, first_n";

static const char point_sql[] =
	"SELECT thread, first_n, last_n, data FROM chunk WHERE thread = ?1 AND first_n <= ?2"
	" ORDER BY first_n DESC LIMIT 1";

static void scan_free(void *rows)
{
	struct scan *scan = rows;

	if (!scan)
		return;
	for (int i = 0; i < CACHED; i++)
		block_fini(&scan->cached[i].block);
	sqlite3_finalize(scan->range);
	sqlite3_finalize(scan->point);
	free(scan);
}

static int scan_new(struct trace *trace, const struct data_table *table, void **ret_rows)
{
	struct scan *scan = calloc(1, sizeof(*scan));
	int err;

	if (!scan)
		return log_err(-ENOMEM, "read table %s", table->name);
	scan->trace = trace;
	scan->table = table;
	scan->id = (enum table_id)(table - tables);
	err = sql_prepare(trace->db, range_sql, &scan->range);
	if (!err)
		err = sql_prepare(trace->db, point_sql, &scan->point);
	if (err) {
		scan_free(scan);
		return err;
	}
	*ret_rows = scan;
	return 0;
}

/* Load the current chunk of @stmt. */
static int load_chunk(struct scan *scan, sqlite3_stmt *stmt)
{
	struct cached_chunk *chunk = &scan->cached[scan->turn++ % CACHED];
	const struct thread *thread = trace_thread(scan->trace, sql_u32(stmt, 0));
	int err;

	chunk->loaded = false;
	chunk->thread = sql_u32(stmt, 0);
	chunk->process = thread ? thread->process : 0;
	chunk->first_n = (uint64_t)sqlite3_column_int64(stmt, 1);
	chunk->last_n = (uint64_t)sqlite3_column_int64(stmt, 2);
	memset(&chunk->position, 0, sizeof(chunk->position));
	chunk->nmarks = 0;
	err = block_load(&chunk->block, sqlite3_column_blob(stmt, 3),
			 (size_t)sqlite3_column_bytes(stmt, 3), scan->table->families);
	if (!err)
		err = scan_decode(scan, &chunk->block);
	if (err)
		return log_err(err == -ENOMEM ? err : -EINVAL,
			       "thread %u: the chunk at event %" PRIu64 " is damaged",
			       chunk->thread, chunk->first_n);
	chunk->loaded = true;
	scan->chunk = chunk;
	return 1;
}

static bool at_end(const struct cached_chunk *chunk)
{
	return chunk->position.at[FAMILY_EVENT] >= block_count(&chunk->block, COLUMN_n);
}

static uint64_t event_n(const struct cached_chunk *chunk)
{
	return block_get(&chunk->block, COLUMN_n, chunk->position.at[FAMILY_EVENT]);
}

/* How many rows of the table does the current event have? */
static uint32_t event_rows(struct scan *scan, const struct cached_chunk *chunk)
{
	uint32_t kind = block_event_kind(&chunk->block, &chunk->position) & KIND_MASK;

	switch (scan->id) {
	case TABLE_post:
		return kind_is_post(kind);
	case TABLE_poll:
		return kind_is_poll(kind);
	case TABLE_notify:
		return kind == KIND_NOTIFY;
	case TABLE_wc:
		return !kind_is_poll(kind) ? 0
					   : (uint32_t)block_get(&chunk->block, COLUMN_nwc,
								 chunk->position.at[FAMILY_POLL]);
	default:
		return !kind_is_post(kind) ? 0
					   : (uint32_t)block_get(&chunk->block, COLUMN_nwr,
								 chunk->position.at[FAMILY_POST]);
	}
}

static bool in_bounds(const struct scan *scan, const struct cached_chunk *chunk)
{
	uint64_t n = event_n(chunk);
	int64_t time =
		(int64_t)block_get(&chunk->block, COLUMN_time, chunk->position.at[FAMILY_EVENT]);

	return n >= (uint64_t)scan->bounds.n_from && n <= (uint64_t)scan->bounds.n_to &&
	       time >= scan->bounds.time_from && time <= scan->bounds.time_to;
}

/* Go to the first row of the event at the chunk's iterator; false if it has no row. */
static bool enter_event(struct scan *scan)
{
	scan->rows = event_rows(scan, scan->chunk);
	scan->i = scan->j = 0;
	if (!scan->rows || !in_bounds(scan, scan->chunk))
		return false;
	scan->position = scan->chunk->position;
	if (scan->id == TABLE_sge)
		scan->elements = scan_elements(scan);
	return true;
}

/* Go to the next chunk: 1, 0, -errno. */
static int next_chunk(struct scan *scan)
{
	int more;

	if (!scan->ranging)
		return 0;
	more = sql_step(scan->range);
	if (more <= 0) {
		scan->ranging = false;
		sqlite3_reset(scan->range);
		return more;
	}
	return load_chunk(scan, scan->range);
}

/* Go to the first event with rows, from the chunk's iterator on. */
static int find_event(struct scan *scan)
{
	int more;

	for (;;) {
		struct cached_chunk *chunk = scan->chunk;

		for (; !at_end(chunk); block_skip_event(&chunk->block, &chunk->position, true)) {
			if (scan->bounds.thread >= 0 &&
			    event_n(chunk) > (uint64_t)scan->bounds.n_to)
				return 0;
			if (enter_event(scan))
				return 1;
		}
		more = next_chunk(scan);
		if (more <= 0)
			return more;
	}
}

/* Does the table have the current row, and is it within the bounds? */
static bool is_row_wanted(const struct scan *scan)
{
	if (scan->id == TABLE_sge)
		return scan->j < scan->elements;
	return scan->bounds.status < 0 ||
	       block_get(&scan->chunk->block, COLUMN_status, scan->position.at[FAMILY_WC]) ==
		       (uint64_t)scan->bounds.status;
}

/* Go to the next row, whether it is wanted or not: 1, 0 at the end, -errno. */
static int step_row(struct scan *scan)
{
	struct cached_chunk *chunk = scan->chunk;

	if (scan->id == TABLE_sge && scan->j + 1 < scan->elements) {
		scan->j++;
		return 1;
	}
	if (++scan->i < scan->rows) {
		scan->j = 0;
		if (scan->id == TABLE_wc)
			block_skip_wc(&chunk->block, &scan->position);
		else
			block_skip_wr(&chunk->block, &scan->position);
		if (scan->id == TABLE_sge)
			scan->elements = scan_elements(scan);
		return 1;
	}
	block_skip_event(&chunk->block, &chunk->position, true);
	return find_event(scan);
}

static int skip_unwanted_rows(struct scan *scan, int more)
{
	while (more > 0 && !is_row_wanted(scan))
		more = step_row(scan);
	return more;
}

static int scan_next(void *rows)
{
	struct scan *scan = rows;

	return skip_unwanted_rows(scan, step_row(scan));
}

/*
 * Move the iterator back to a stored position at or before event @n, or to the beginning of the
 * chunk.
 */
static void rewind_chunk(struct cached_chunk *chunk, uint64_t n)
{
	memset(&chunk->position, 0, sizeof(chunk->position));
	for (uint32_t i = chunk->nmarks; i > 0; i--)
		if (block_get(&chunk->block, COLUMN_n, chunk->marks[i - 1].at[FAMILY_EVENT]) <= n) {
			chunk->position = chunk->marks[i - 1];
			return;
		}
}

static void seek_event(struct cached_chunk *chunk, uint64_t n)
{
	while (!at_end(chunk) && event_n(chunk) < n) {
		if (chunk->nmarks < MARKS &&
		    chunk->position.at[FAMILY_EVENT] >= chunk->nmarks * MARK_EVENTS)
			chunk->marks[chunk->nmarks++] = chunk->position;
		block_skip_event(&chunk->block, &chunk->position, true);
	}
}

/*
 * A cached chunk with event @n of @thread: its iterator is at or before this event, and all columns
 * are decoded.
 */
static struct cached_chunk *find_cached(struct scan *scan, uint32_t thread, uint64_t n)
{
	for (int i = 0; i < CACHED; i++) {
		struct cached_chunk *chunk = &scan->cached[i];

		if (!chunk->loaded || chunk->thread != thread || n < chunk->first_n ||
		    n > chunk->last_n)
			continue;
		if (at_end(chunk) || event_n(chunk) > n)
			rewind_chunk(chunk, n);
		return chunk;
	}
	return NULL;
}

/* Find one event by thread and number. */
static int find_point(struct scan *scan)
{
	uint32_t thread = (uint32_t)scan->bounds.thread;
	uint64_t n = (uint64_t)scan->bounds.n_from;
	int more;

	scan->ranging = false;
	scan->chunk = find_cached(scan, thread, n);
	if (!scan->chunk) {
		sql_bind(scan->point, "ui", thread, n);
		more = sql_step(scan->point);
		if (more > 0)
			more = load_chunk(scan, scan->point);
		sqlite3_reset(scan->point);
		if (more <= 0)
			return more;
	}
	seek_event(scan->chunk, n);
	return find_event(scan);
}

static int find_range(struct scan *scan)
{
	const struct rows_bounds *b = &scan->bounds;
	int more;

	sqlite3_reset(scan->range);
	sql_bind(scan->range, "iiiiii", b->thread < 0 ? 0 : b->thread,
		 b->thread < 0 ? INT64_MAX : b->thread, b->n_from, b->n_to, b->time_from,
		 b->time_to);
	scan->ranging = true;
	more = next_chunk(scan);
	return more > 0 ? find_event(scan) : more;
}

static int scan_first(void *rows, const struct rows_bounds *bounds, uint64_t used)
{
	struct scan *scan = rows;
	int more;

	if (used != scan->used)
		for (int i = 0; i < CACHED; i++)
			scan->cached[i].loaded = false;
	scan->bounds = *bounds;
	scan->used = used;
	if (bounds->thread > UINT32_MAX || bounds->n_from > bounds->n_to)
		return 0;
	if (bounds->thread >= 0 && bounds->n_from == bounds->n_to)
		more = find_point(scan);
	else
		more = find_range(scan);
	return skip_unwanted_rows(scan, more);
}

static void scan_reset(void *rows)
{
	struct scan *scan = rows;

	scan->ranging = false;
	sqlite3_reset(scan->range);
}

const struct rows_source scan_source = {
	.new = scan_new,
	.free = scan_free,
	.first = scan_first,
	.next = scan_next,
	.rest = scan_reset,
	.value = scan_value,
};
