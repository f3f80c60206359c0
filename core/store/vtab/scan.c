/*
 * The rows of one table of the data plane, out of chunks
 *
 * A seat is a decoded chunk and how far its events were walked. A join asks
 * for single events, mostly in order and of a few threads: so some seats are
 * kept, and one whose chunk holds the event is walked on, or back to a place where
 * it was, instead of read anew.
 *
 * Two ways to the rows of `wc`: this one, and the cursor where the request of
 * each completion is asked for (matched.c).
 *
 * Not here: what is in a row (scan_value.c).
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
	for (int i = 0; i < SEATS; i++)
		block_fini(&scan->seats[i].block);
	sqlite3_finalize(scan->range);
	sqlite3_finalize(scan->point);
	free(scan);
}

static int scan_new(struct trace *trace, const struct table *table, void **ret_rows)
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

/* Take the chunk at hand in @stmt. */
static int load(struct scan *scan, sqlite3_stmt *stmt)
{
	struct seat *seat = &scan->seats[scan->turn++ % SEATS];
	const struct thread *thread = trace_thread(scan->trace, sql_u32(stmt, 0));
	int err;

	seat->loaded = false;
	seat->thread = sql_u32(stmt, 0);
	seat->process = thread ? thread->process : 0;
	seat->first_n = (uint64_t)sqlite3_column_int64(stmt, 1);
	seat->last_n = (uint64_t)sqlite3_column_int64(stmt, 2);
	memset(&seat->walk, 0, sizeof(seat->walk));
	seat->nmarks = 0;
	err = block_load(&seat->block, sqlite3_column_blob(stmt, 3),
			 (size_t)sqlite3_column_bytes(stmt, 3), scan->table->families);
	if (!err)
		err = scan_decode(scan, &seat->block);
	if (err)
		return log_err(err == -ENOMEM ? err : -EINVAL,
			       "thread %u: the chunk at event %" PRIu64 " is damaged", seat->thread,
			       seat->first_n);
	seat->loaded = true;
	scan->seat = seat;
	return 1;
}

static bool at_end(const struct seat *seat)
{
	return seat->walk.at[FAMILY_EVENT] >= block_count(&seat->block, COLUMN_n);
}

static uint64_t event_n(const struct seat *seat)
{
	return block_get(&seat->block, COLUMN_n, seat->walk.at[FAMILY_EVENT]);
}

/* Are this event's rows rows of the table? How many? */
static uint32_t event_rows(struct scan *scan, const struct seat *seat)
{
	uint32_t kind = walk_kind(&seat->block, &seat->walk) & KIND_MASK;

	switch (scan->id) {
	case TABLE_post:
		return kind_is_post(kind);
	case TABLE_poll:
		return kind_is_poll(kind);
	case TABLE_notify:
		return kind == KIND_NOTIFY;
	case TABLE_wc:
		return !kind_is_poll(kind) ? 0
					   : (uint32_t)block_get(&seat->block, COLUMN_nwc,
								 seat->walk.at[FAMILY_POLL]);
	default:
		return !kind_is_post(kind) ? 0
					   : (uint32_t)block_get(&seat->block, COLUMN_nwr,
								 seat->walk.at[FAMILY_POST]);
	}
}

static bool in_bounds(const struct scan *scan, const struct seat *seat)
{
	uint64_t n = event_n(seat);
	int64_t time = (int64_t)block_get(&seat->block, COLUMN_time, seat->walk.at[FAMILY_EVENT]);

	return n >= (uint64_t)scan->bounds.n_from && n <= (uint64_t)scan->bounds.n_to &&
	       time >= scan->bounds.time_from && time <= scan->bounds.time_to;
}

/* To the first row of the event at the seat's walk; false if it has none. */
static bool enter_event(struct scan *scan)
{
	scan->rows = event_rows(scan, scan->seat);
	scan->i = scan->j = 0;
	if (!scan->rows || !in_bounds(scan, scan->seat))
		return false;
	scan->walk = scan->seat->walk;
	if (scan->id == TABLE_sge)
		scan->elements = scan_elements(scan);
	return true;
}

/* To the next chunk: 1, 0, -errno. */
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
	return load(scan, scan->range);
}

/* To the first event from the seat's walk on that has rows. */
static int find_event(struct scan *scan)
{
	int more;

	for (;;) {
		struct seat *seat = scan->seat;

		for (; !at_end(seat); walk_next_event(&seat->block, &seat->walk, true)) {
			if (scan->bounds.thread >= 0 && event_n(seat) > (uint64_t)scan->bounds.n_to)
				return 0;
			if (enter_event(scan))
				return 1;
		}
		more = next_chunk(scan);
		if (more <= 0)
			return more;
	}
}

/* Is the row at hand one of the table, and wanted? */
static bool row_fits(const struct scan *scan)
{
	if (scan->id == TABLE_sge)
		return scan->j < scan->elements;
	return scan->bounds.status < 0 ||
	       block_get(&scan->seat->block, COLUMN_status, scan->walk.at[FAMILY_WC]) ==
		       (uint64_t)scan->bounds.status;
}

/* One row further, whether it fits or not: 1, 0 at the end, -errno. */
static int step(struct scan *scan)
{
	struct seat *seat = scan->seat;

	if (scan->id == TABLE_sge && scan->j + 1 < scan->elements) {
		scan->j++;
		return 1;
	}
	if (++scan->i < scan->rows) {
		scan->j = 0;
		if (scan->id == TABLE_wc)
			walk_next_wc(&seat->block, &scan->walk);
		else
			walk_next_wr(&seat->block, &scan->walk);
		if (scan->id == TABLE_sge)
			scan->elements = scan_elements(scan);
		return 1;
	}
	walk_next_event(&seat->block, &seat->walk, true);
	return find_event(scan);
}

static int skip_unfit(struct scan *scan, int more)
{
	while (more > 0 && !row_fits(scan))
		more = step(scan);
	return more;
}

static int scan_next(void *rows)
{
	struct scan *scan = rows;

	return skip_unfit(scan, step(scan));
}

/* To where the seat was once, at or before event @n, or to its begin. */
static void go_back(struct seat *seat, uint64_t n)
{
	memset(&seat->walk, 0, sizeof(seat->walk));
	for (uint32_t i = seat->nmarks; i > 0; i--)
		if (block_get(&seat->block, COLUMN_n, seat->marks[i - 1].at[FAMILY_EVENT]) <= n) {
			seat->walk = seat->marks[i - 1];
			return;
		}
}

static void go_on(struct seat *seat, uint64_t n)
{
	while (!at_end(seat) && event_n(seat) < n) {
		if (seat->nmarks < MARKS &&
		    seat->walk.at[FAMILY_EVENT] >= seat->nmarks * MARK_EVENTS)
			seat->marks[seat->nmarks++] = seat->walk;
		walk_next_event(&seat->block, &seat->walk, true);
	}
}

/* A seat that has event @n of @thread, at or before it, with all columns decoded. */
static struct seat *seated(struct scan *scan, uint32_t thread, uint64_t n)
{
	for (int i = 0; i < SEATS; i++) {
		struct seat *seat = &scan->seats[i];

		if (!seat->loaded || seat->thread != thread || n < seat->first_n ||
		    n > seat->last_n)
			continue;
		if (at_end(seat) || event_n(seat) > n)
			go_back(seat, n);
		return seat;
	}
	return NULL;
}

/* One event by its name. */
static int find_point(struct scan *scan)
{
	uint32_t thread = (uint32_t)scan->bounds.thread;
	uint64_t n = (uint64_t)scan->bounds.n_from;
	int more;

	scan->ranging = false;
	scan->seat = seated(scan, thread, n);
	if (!scan->seat) {
		sql_bind(scan->point, "ui", thread, n);
		more = sql_step(scan->point);
		if (more > 0)
			more = load(scan, scan->point);
		sqlite3_reset(scan->point);
		if (more <= 0)
			return more;
	}
	go_on(scan->seat, n);
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
		for (int i = 0; i < SEATS; i++)
			scan->seats[i].loaded = false;
	scan->bounds = *bounds;
	scan->used = used;
	if (bounds->thread > UINT32_MAX || bounds->n_from > bounds->n_to)
		return 0;
	if (bounds->thread >= 0 && bounds->n_from == bounds->n_to)
		more = find_point(scan);
	else
		more = find_range(scan);
	return skip_unfit(scan, more);
}

static void scan_rest(void *rows)
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
	.rest = scan_rest,
	.value = scan_value,
};
