/*
 * The values in a row of the data plane's tables
 *
 * Not here: which row is next (scan.c).
 */
#include "core/store/vtab/scan.h"

#include "core/wire/event.h"

/* Decode the columns that a value needs, in addition to the columns that the iterator needs. */
static int need_of(struct block *block, const struct table_column *column)
{
	static const enum column_id handles[TABLES] = {
		[TABLE_post] = COLUMN_post_handle,     [TABLE_wr] = COLUMN_post_handle,
		[TABLE_poll] = COLUMN_poll_handle,     [TABLE_wc] = COLUMN_poll_handle,
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
		err = block_need(block, COLUMN_post_stack);
		return err ? err : block_need(block, COLUMN_poll_stack);
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

int scan_decode(const struct scan *scan, struct block *block)
{
	int err = block_need(block, COLUMN_n);

	if (!err)
		err = block_need(block, COLUMN_time);
	if (!err && scan->bounds.status >= 0)
		err = block_need(block, COLUMN_status);
	for (int c = 0; scan->table->columns[c].name && !err; c++)
		if (scan->used >> c & 1)
			err = need_of(block, &scan->table->columns[c]);
	return err;
}

/* The value of column @id in the current row. */
static uint64_t get_column(const struct scan *scan, enum column_id id)
{
	uint32_t row = scan->position.at[column_family[id]];

	if (column_family[id] == FAMILY_SGE)
		row += scan->j;
	return block_get(&scan->chunk->block, id, row);
}

static unsigned int get_parts(const struct scan *scan)
{
	return (unsigned int)get_column(scan, COLUMN_parts);
}

static bool has_part(const struct scan *scan, enum column_id id)
{
	static const unsigned char bits[FAMILY_COUNT] = {
#define BIT(NAME, part) [FAMILY_##NAME] = WR_##NAME,
		EACH_PART(BIT)
#undef BIT
	};

	return get_parts(scan) & bits[column_family[id]];
}

static bool has_extra(const struct scan *scan, enum column_id id)
{
	return get_column(scan, COLUMN_kind) & KIND_EXTRA &&
	       get_column(scan, COLUMN_wc_parts) & extra_part(id);
}

static uint32_t kind_of(const struct scan *scan)
{
	return (uint32_t)get_column(scan, COLUMN_kind) & KIND_MASK;
}

static bool is_send(const struct scan *scan)
{
	return verb_is_send(kind_verb(kind_of(scan)));
}

static uint32_t object_id(struct scan *scan, enum object_kind kind, enum column_id handle)
{
	return objects_cached_at(&scan->cache, &scan->trace->objects, scan->chunk->process, kind,
				 get_column(scan, handle), (int64_t)get_column(scan, COLUMN_time));
}

static uint32_t posted_object_id(struct scan *scan, bool qp, bool srq)
{
	enum object_kind kind = verb_infos[kind_verb(kind_of(scan))].object;

	if ((kind == OBJECT_qp && !qp) || (kind == OBJECT_srq && !srq) ||
	    (kind == OBJECT_wq && !(qp && srq)))
		return 0;
	return object_id(scan, kind, COLUMN_post_handle);
}

static uint32_t wc_qp(struct scan *scan)
{
	return objects_cached_qp(&scan->cache, &scan->trace->objects, scan->chunk->process,
				 (uint32_t)get_column(scan, COLUMN_qp_num),
				 object_id(scan, OBJECT_cq, COLUMN_poll_handle),
				 (int64_t)get_column(scan, COLUMN_time));
}

static uint64_t sum_bytes(const struct scan *scan)
{
	uint32_t count = scan_elements(scan), at = scan->position.at[FAMILY_SGE];
	uint64_t sum = 0;

	for (uint32_t i = 0; i < count; i++)
		sum += (uint32_t)block_get(&scan->chunk->block, COLUMN_length, at + i);
	return sum;
}

static bool is_refused_wr(const struct scan *scan)
{
	uint64_t bad = get_column(scan, COLUMN_post_bad);

	if (kind_of(scan) == KIND_ABORTED)
		return true;
	return get_column(scan, COLUMN_post_ret) && (!bad || scan->i + 1 >= bad);
}

/* The value of the field, or with WR_ODD, from struct event_odd. */
static uint64_t get_separate_field(const struct scan *scan, enum column_id field,
				   enum column_id odd_field)
{
	return get_column(scan, get_parts(scan) & WR_ODD ? odd_field : field);
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
	value = number->value == VALUE_OPCODE
			? get_separate_field(scan, COLUMN_opcode, COLUMN_odd_opcode)
			: get_column(scan, number->column);
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

/* Values of requests that need more than one column. */
static void request_value(struct scan *scan, enum value value, sqlite3_context *context)
{
	switch (value) {
	case VALUE_VERB:
		sqlite3_result_text(context, verb_name(scan), -1, SQLITE_STATIC);
		break;
	case VALUE_STACK:
		result_id(context,
			  (uint32_t)get_column(scan, scan->id == TABLE_poll ? COLUMN_poll_stack
									    : COLUMN_post_stack));
		break;
	case VALUE_NOT_TAKEN:
		sqlite3_result_int(context, is_refused_wr(scan));
		break;
	case VALUE_OPCODE:
		if (is_send(scan))
			sqlite3_result_int64(context,
					     (int64_t)get_separate_field(scan, COLUMN_opcode,
									 COLUMN_odd_opcode));
		break;
	case VALUE_SEND_FLAGS:
		sqlite3_result_int64(context, (int64_t)get_separate_field(scan, COLUMN_send_flags,
									  COLUMN_odd_flags));
		break;
	case VALUE_NUM_SGE:
		sqlite3_result_int64(context, (int64_t)get_separate_field(scan, COLUMN_nsge,
									  COLUMN_odd_num_sge));
		break;
	case VALUE_BYTES:
		sqlite3_result_int64(context, (int64_t)sum_bytes(scan));
		break;
	default: /* values from the matcher: matched.c returns them */
		break;
	}
}

static void object_value(struct scan *scan, enum value value, sqlite3_context *context)
{
	switch (value) {
	case VALUE_OBJECT:
		result_id(context, posted_object_id(scan, true, true));
		break;
	case VALUE_QP:
		result_id(context, posted_object_id(scan, true, false));
		break;
	case VALUE_SRQ:
		result_id(context, posted_object_id(scan, false, true));
		break;
	case VALUE_CQ:
		result_id(context, object_id(scan, OBJECT_cq,
					     scan->id == TABLE_notify ? COLUMN_notify_handle
								      : COLUMN_poll_handle));
		break;
	case VALUE_WC_QP:
		result_id(context, wc_qp(scan));
		break;
	default:
		request_value(scan, value, context);
	}
}

void scan_value(void *rows, int index, sqlite3_context *context)
{
	struct scan *scan = rows;
	const struct table_column *column = &scan->table->columns[index];

	switch (column->value) {
	case VALUE_THREAD:
		sqlite3_result_int64(context, scan->chunk->thread);
		break;
	case VALUE_N:
		sqlite3_result_int64(context, (int64_t)get_column(scan, COLUMN_n));
		break;
	case VALUE_I:
		sqlite3_result_int64(context, scan->i);
		break;
	case VALUE_J:
		sqlite3_result_int64(context, scan->j);
		break;
	case VALUE_TIME:
		sqlite3_result_int64(context, (int64_t)get_column(scan, COLUMN_time));
		break;
	case VALUE_PROCESS:
		sqlite3_result_int64(context, scan->chunk->process);
		break;
	case VALUE_INNER:
		sqlite3_result_int(context, !!(get_column(scan, COLUMN_kind) & KIND_INNER));
		break;
	case VALUE_FILLED:
		sqlite3_result_int(context, !!(get_column(scan, COLUMN_kind) & KIND_FILLED));
		break;
	case VALUE_PART:
		if (!has_part(scan, column->column))
			break;
		__attribute__((fallthrough));
	case VALUE_COLUMN:
		sqlite3_result_int64(context, (int64_t)get_column(scan, column->column));
		break;
	case VALUE_EXTRA:
		if (has_extra(scan, column->column))
			sqlite3_result_int64(context, (int64_t)get_column(scan, column->column));
		break;
	case VALUE_NAME:
		result_name(scan, column, context);
		break;
	default:
		object_value(scan, column->value, context);
	}
}
