/*
 * The rows of one table of the data plane, out of chunks
 *
 * A seat is a decoded chunk and how far its events were walked. A join asks
 * for single events, mostly in order and of a few threads: so some seats are
 * kept, and one whose chunk holds the event is walked on instead of read anew.
 *
 * Two ways to the rows of `wc`: this one, and the cursor where the request of
 * each completion is asked for (matched.c).
 */
#include "core/store/scan.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/wire/event.h"
#include "core/wire/log.h"

enum { SEATS = 8 };

struct seat {
	uint32_t thread, process;
	uint64_t first_n, last_n;
	uint64_t used;      /* columns of the table that are decoded */
	bool loaded;
	struct block block;
	struct walk walk;   /* at the start of an event */
};

struct scan {
	struct trace *trace;
	const struct table *table;
	enum table_id id;
	sqlite3_stmt *range, *point;
	bool ranging;              /* more chunks may follow from @range */
	struct scan_bounds bounds;
	uint64_t used;
	struct seat seats[SEATS];
	unsigned int turn;         /* the seat to be taken next */
	struct seat *seat;         /* the current one */
	struct walk walk;          /* at the current row */
	uint32_t i, j, rows, elements;
	struct objects_cache cache;
	const char *names_of;      /* of the enum that was looked up last */
	const struct enum_info *names;
};

static const char range_sql[] =
	"SELECT thread, first_n, last_n, data FROM chunk WHERE thread BETWEEN ?1 AND ?2"
	" AND last_n >= ?3 AND first_n <= ?4 AND end >= ?5 AND begin <= ?6"
	" ORDER BY thread, first_n";

static const char point_sql[] =
	"SELECT thread, first_n, last_n, data FROM chunk WHERE thread = ?1 AND first_n <= ?2"
	" ORDER BY first_n DESC LIMIT 1";

int scan_new(struct trace *trace, const struct table *table, struct scan **ret_scan)
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
	*ret_scan = scan;
	return 0;
}

void scan_free(struct scan *scan)
{
	if (!scan)
		return;
	for (int i = 0; i < SEATS; i++)
		block_fini(&scan->seats[i].block);
	sqlite3_finalize(scan->range);
	sqlite3_finalize(scan->point);
	free(scan);
}

/* What a value is made of, beside the structure. */
static int need_of(struct block *block, const struct table_column *column)
{
	static const enum column_id handles[TABLES] = {
		[TABLE_post] = COLUMN_post_handle, [TABLE_wr] = COLUMN_post_handle,
		[TABLE_poll] = COLUMN_poll_handle, [TABLE_wc] = COLUMN_poll_handle,
		[TABLE_notify] = COLUMN_notify_handle,
	};
	int err = 0;

	switch (column->value) {
	case VALUE_COLUMN:
	case VALUE_PART:
		return block_need(block, column->column);
	case VALUE_EXTRA:
		err = block_need(block, COLUMN_wc_parts);
		return err ? err : block_need(block, column->column);
	case VALUE_WC_QP:
		err = block_need(block, COLUMN_qp_num);
		__attribute__((fallthrough));
	case VALUE_OBJECT:
	case VALUE_QP:
	case VALUE_SRQ:
	case VALUE_CQ:
		for (int t = 0; t < TABLES && !err; t++)
			if (handles[t])
				err = block_need(block, handles[t]);
		return err;
	case VALUE_STACK:
		return block_need(block, COLUMN_post_stack);
	case VALUE_NOT_TAKEN:
		err = block_need(block, COLUMN_post_ret);
		return err ? err : block_need(block, COLUMN_post_bad);
	case VALUE_OPCODE:
		err = block_need(block, COLUMN_opcode);
		return err ? err : block_need(block, COLUMN_odd_opcode);
	case VALUE_SEND_FLAGS:
		err = block_need(block, COLUMN_send_flags);
		return err ? err : block_need(block, COLUMN_odd_flags);
	case VALUE_NUM_SGE:
		return block_need(block, COLUMN_odd_num_sge);
	case VALUE_BYTES:
		return block_need(block, COLUMN_length);
	case VALUE_NAME:
		return need_of(block, column - 1);
	default:
		return 0;
	}
}

static int decode(struct scan *scan, struct seat *seat)
{
	int err = block_need(&seat->block, COLUMN_n);

	if (!err)
		err = block_need(&seat->block, COLUMN_time);
	if (!err && scan->bounds.status >= 0)
		err = block_need(&seat->block, COLUMN_status);
	for (int c = 0; scan->table->columns[c].name && !err; c++)
		if (scan->used >> c & 1)
			err = need_of(&seat->block, &scan->table->columns[c]);
	return err;
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
	err = block_load(&seat->block, sqlite3_column_blob(stmt, 3),
			 (size_t)sqlite3_column_bytes(stmt, 3), scan->table->families);
	if (!err)
		err = decode(scan, seat);
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
		return !kind_is_poll(kind) ? 0 :
		       (uint32_t)block_get(&seat->block, COLUMN_nwc, seat->walk.at[FAMILY_POLL]);
	default:
		return !kind_is_post(kind) ? 0 :
		       (uint32_t)block_get(&seat->block, COLUMN_nwr, seat->walk.at[FAMILY_POST]);
	}
}

static bool in_bounds(const struct scan *scan, const struct seat *seat)
{
	uint64_t n = event_n(seat);
	int64_t time = (int64_t)block_get(&seat->block, COLUMN_time, seat->walk.at[FAMILY_EVENT]);

	return n >= (uint64_t)scan->bounds.n_from && n <= (uint64_t)scan->bounds.n_to &&
	       time >= scan->bounds.time_from && time <= scan->bounds.time_to;
}

/* The number of elements of the current request. */
static uint32_t element_rows(const struct scan *scan)
{
	return (uint32_t)block_get(&scan->seat->block, COLUMN_nsge, scan->walk.at[FAMILY_WR]);
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
		scan->elements = element_rows(scan);
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
			if (scan->bounds.thread >= 0 &&
			    event_n(seat) > (uint64_t)scan->bounds.n_to)
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
			scan->elements = element_rows(scan);
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

int scan_next(struct scan *scan)
{
	return skip_unfit(scan, step(scan));
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
			memset(&seat->walk, 0, sizeof(seat->walk));
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
	while (!at_end(scan->seat) && event_n(scan->seat) < n)
		walk_next_event(&scan->seat->block, &scan->seat->walk, true);
	return find_event(scan);
}

static int find_range(struct scan *scan)
{
	const struct scan_bounds *b = &scan->bounds;
	int more;

	sqlite3_reset(scan->range);
	sql_bind(scan->range, "iiiiii", b->thread < 0 ? 0 : b->thread,
		 b->thread < 0 ? INT64_MAX : b->thread, b->n_from, b->n_to, b->time_from,
		 b->time_to);
	scan->ranging = true;
	more = next_chunk(scan);
	return more > 0 ? find_event(scan) : more;
}

int scan_first(struct scan *scan, const struct scan_bounds *bounds, uint64_t used)
{
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

/* The row of that family that the current row belongs to. */
static uint64_t get(const struct scan *scan, enum column_id id)
{
	uint32_t row = scan->walk.at[column_family[id]];

	if (column_family[id] == FAMILY_SGE)
		row += scan->j;
	return block_get(&scan->seat->block, id, row);
}

static unsigned int parts(const struct scan *scan)
{
	return (unsigned int)get(scan, COLUMN_parts);
}

static bool has_part(const struct scan *scan, enum column_id id)
{
	static const unsigned char bits[FAMILY_COUNT] = {
		[FAMILY_RDMA] = WR_RDMA, [FAMILY_ATOMIC] = WR_ATOMIC, [FAMILY_UD] = WR_UD,
		[FAMILY_XRC] = WR_XRC,	 [FAMILY_BIND] = WR_BIND,     [FAMILY_TSO] = WR_TSO,
	};

	return parts(scan) & bits[column_family[id]];
}

static bool has_extra(const struct scan *scan, enum column_id id)
{
	return get(scan, COLUMN_kind) & KIND_EXTRA && get(scan, COLUMN_wc_parts) & extra_part(id);
}

static uint32_t kind_of(const struct scan *scan)
{
	return (uint32_t)get(scan, COLUMN_kind) & KIND_MASK;
}

static bool is_send(const struct scan *scan)
{
	return verb_is_send(kind_verb(kind_of(scan)));
}

static uint32_t object_id(struct scan *scan, enum object_kind kind, enum column_id handle)
{
	return objects_cached_at(&scan->cache, &scan->trace->objects, scan->seat->process, kind,
				 get(scan, handle), (int64_t)get(scan, COLUMN_time));
}

static uint32_t posted_to(struct scan *scan, bool qp, bool srq)
{
	enum object_kind kind = verb_infos[kind_verb(kind_of(scan))].object;

	if ((kind == OBJECT_qp && !qp) || (kind == OBJECT_srq && !srq) ||
	    (kind == OBJECT_wq && !(qp && srq)))
		return 0;
	return object_id(scan, kind, COLUMN_post_handle);
}

static uint32_t wc_qp(struct scan *scan)
{
	return objects_cached_qp(&scan->cache, &scan->trace->objects, scan->seat->process,
				 (uint32_t)get(scan, COLUMN_qp_num),
				 object_id(scan, OBJECT_cq, COLUMN_poll_handle),
				 (int64_t)get(scan, COLUMN_time));
}

static uint64_t bytes(const struct scan *scan)
{
	uint32_t count = element_rows(scan), at = scan->walk.at[FAMILY_SGE];
	uint64_t sum = 0;

	for (uint32_t i = 0; i < count; i++)
		sum += (uint32_t)block_get(&scan->seat->block, COLUMN_length, at + i);
	return sum;
}

static bool not_taken(const struct scan *scan)
{
	uint64_t bad = get(scan, COLUMN_post_bad);

	if (kind_of(scan) == KIND_ABORTED)
		return true;
	return get(scan, COLUMN_post_ret) && (!bad || scan->i + 1 >= bad);
}

/* The field in its short form, or in that of struct event_odd. */
static uint64_t odd(const struct scan *scan, enum column_id field, enum column_id odd_field)
{
	return get(scan, parts(scan) & WR_ODD ? odd_field : field);
}

static void result_id(sqlite3_context *context, uint32_t id)
{
	if (id)
		sqlite3_result_int64(context, id);
}

static void result_name(struct scan *scan, const struct table_column *column,
			sqlite3_context *context)
{
	const struct table_column *number = column - 1;
	uint64_t value;
	const char *name;

	if (number->value == VALUE_OPCODE && !is_send(scan))
		return;
	value = number->value == VALUE_OPCODE ? odd(scan, COLUMN_opcode, COLUMN_odd_opcode) :
		get(scan, number->column);
	if (scan->names_of != column->names) {
		scan->names_of = column->names;
		scan->names = enum_find(column->names);
	}
	name = enum_name(scan->names, (int64_t)value);
	if (name)
		sqlite3_result_text(context, name, -1, SQLITE_STATIC);
}

static const char *verb_name(const struct scan *scan)
{
	return verb_infos[kind_verb(kind_of(scan))].name;
}

/* Values of requests that take more than a look at one column. */
static void request_value(struct scan *scan, enum value value, sqlite3_context *context)
{
	switch (value) {
	case VALUE_VERB:
		sqlite3_result_text(context, verb_name(scan), -1, SQLITE_STATIC);
		break;
	case VALUE_STACK:
		result_id(context, (uint32_t)get(scan, COLUMN_post_stack));
		break;
	case VALUE_NOT_TAKEN:
		sqlite3_result_int(context, not_taken(scan));
		break;
	case VALUE_OPCODE:
		if (is_send(scan))
			sqlite3_result_int64(context,
					     (int64_t)odd(scan, COLUMN_opcode, COLUMN_odd_opcode));
		break;
	case VALUE_SEND_FLAGS:
		sqlite3_result_int64(context, (int64_t)odd(scan, COLUMN_send_flags,
							   COLUMN_odd_flags));
		break;
	case VALUE_NUM_SGE:
		sqlite3_result_int64(context, (int64_t)odd(scan, COLUMN_nsge, COLUMN_odd_num_sge));
		break;
	case VALUE_BYTES:
		sqlite3_result_int64(context, (int64_t)bytes(scan));
		break;
	default: /* the matcher's: matched.c gives them */
		break;
	}
}

static void object_value(struct scan *scan, enum value value, sqlite3_context *context)
{
	switch (value) {
	case VALUE_OBJECT:
		result_id(context, posted_to(scan, true, true));
		break;
	case VALUE_QP:
		result_id(context, posted_to(scan, true, false));
		break;
	case VALUE_SRQ:
		result_id(context, posted_to(scan, false, true));
		break;
	case VALUE_CQ:
		result_id(context, object_id(scan, OBJECT_cq, scan->id == TABLE_notify ?
					     COLUMN_notify_handle : COLUMN_poll_handle));
		break;
	case VALUE_WC_QP:
		result_id(context, wc_qp(scan));
		break;
	default:
		request_value(scan, value, context);
	}
}

void scan_value(struct scan *scan, int index, sqlite3_context *context)
{
	const struct table_column *column = &scan->table->columns[index];

	switch (column->value) {
	case VALUE_THREAD:
		sqlite3_result_int64(context, scan->seat->thread);
		break;
	case VALUE_N:
		sqlite3_result_int64(context, (int64_t)get(scan, COLUMN_n));
		break;
	case VALUE_I:
		sqlite3_result_int64(context, scan->i);
		break;
	case VALUE_J:
		sqlite3_result_int64(context, scan->j);
		break;
	case VALUE_TIME:
		sqlite3_result_int64(context, (int64_t)get(scan, COLUMN_time));
		break;
	case VALUE_PROCESS:
		sqlite3_result_int64(context, scan->seat->process);
		break;
	case VALUE_INNER:
		sqlite3_result_int(context, !!(get(scan, COLUMN_kind) & KIND_INNER));
		break;
	case VALUE_PART:
		if (!has_part(scan, column->column))
			break;
		__attribute__((fallthrough));
	case VALUE_COLUMN:
		sqlite3_result_int64(context, (int64_t)get(scan, column->column));
		break;
	case VALUE_EXTRA:
		if (has_extra(scan, column->column))
			sqlite3_result_int64(context, (int64_t)get(scan, column->column));
		break;
	case VALUE_NAME:
		result_name(scan, column, context);
		break;
	default:
		object_value(scan, column->value, context);
	}
}
