/*
 * Reading the data plane of one thread from plain tables
 *
 * Six queries in the order of the primary keys are read in parallel: the events by their numbers,
 * and for each event its rows in the other tables. The number of rows is counted, not read from the
 * event, since a user may have added or deleted rows.
 *
 * Not here: creating these tables (unpack.c).
 */
#include "core/store/read/plain.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "core/store/chunk/batch.h"
#include "core/store/chunk/tables.h"
#include "core/store/db/schema.h"
#include "core/wire/event.h"
#include "core/wire/log.h"

enum { EVENTS = 4096 }; /* maximum events of a block */

struct plain_tables {
	sqlite3_stmt *rows[TABLES_OF_EVENTS];
	bool there[TABLES_OF_EVENTS]; /* is the query at a row? */
};

/* clang-format off */
#define FIELD(family, column, name, member, type, wire) ", " #name
#define PART(NAME, part) SHOWN_##NAME(FIELD)

/* Each query: first the key without the thread, then the columns for the block. */
static const char *const queries[TABLES_OF_EVENTS] = {
	[TABLE_post] = "SELECT n, time, inner, verb, handle, ret, bad, stack FROM post"
		       " WHERE thread = ? ORDER BY n",
	[TABLE_wr] = "SELECT n, i, wr_id, send_flags, imm, opcode, num_sge" EACH_SHOWN_PART(PART)
		     " FROM wr WHERE thread = ? ORDER BY n, i",
	[TABLE_sge] = "SELECT n, i, j" SHOWN_SGE(FIELD) " FROM sge WHERE thread = ?"
		      " ORDER BY n, i, j",
	[TABLE_poll] = "SELECT n, time, inner, verb, handle, ret, empty, stack, filled FROM poll"
		       " WHERE thread = ? ORDER BY n",
	[TABLE_wc] = "SELECT n, i" SHOWN_WC(FIELD) SHOWN_EXTRA(FIELD)
		     " FROM wc WHERE thread = ? ORDER BY n, i",
	[TABLE_notify] = "SELECT n, time, inner, handle, solicited_only, ret FROM notify"
			 " WHERE thread = ? ORDER BY n",
};

#undef FIELD
#undef PART

/* For files older than version 15 */
static const char *const unfilled_polls =
	"SELECT n, time, inner, verb, handle, ret, empty, stack, 0 FROM poll"
	" WHERE thread = ? ORDER BY n";

enum { WR_FLAGS = 3, WR_OPCODE = 5, WR_NUM_SGE = 6, WR_PARTS = 7, POLL_FILLED = 8 };

/* The columns of `wr` from index WR_PARTS on, and the part that each belongs to. */
static const struct {
	enum column_id column;
	enum event_wr_part part;
} parts[] = {
#define FIELD(family, column, name, member, type, wire) { COLUMN_##column, WR_##family },
#define PART(NAME, part) SHOWN_##NAME(FIELD)
	EACH_SHOWN_PART(PART)
#undef FIELD
#undef PART
};

enum { NPARTS = sizeof(parts) / sizeof(*parts) };

#define FIELD(family, column, name, member, type, wire) COLUMN_##column,
static const enum column_id sge_columns[] = { SHOWN_SGE(FIELD) };
static const enum column_id wc_columns[] = { SHOWN_WC(FIELD) };
static const enum column_id extra_columns[] = { SHOWN_EXTRA(FIELD) };
#undef FIELD

enum {
	SGE_FIELDS = sizeof(sge_columns) / sizeof(*sge_columns),
	WC_FIELDS = sizeof(wc_columns) / sizeof(*wc_columns),
	EXTRA_FIELDS = sizeof(extra_columns) / sizeof(*extra_columns),
	WC_EXTRAS = 2 + WC_FIELDS,
};
/* clang-format on */

static int step_table(struct plain_tables *plain, enum table_id table)
{
	int more = sql_step(plain->rows[table]);

	plain->there[table] = more > 0;
	return more < 0 ? more : 0;
}

static const char *choose_query(sqlite3 *db, int table)
{
	bool older = sql_int(db, "PRAGMA user_version", SCHEMA_VERSION) < 15;

	return table == TABLE_poll && older ? unfilled_polls : queries[table];
}

int plain_open(sqlite3 *db, uint32_t thread, struct plain_tables **ret_plain)
{
	struct plain_tables *plain = calloc(1, sizeof(*plain));
	int err = plain ? 0 : log_err(-ENOMEM, "read thread %u", thread);

	for (int t = 0; t < TABLES_OF_EVENTS && !err; t++) {
		err = sql_prepare(db, choose_query(db, t), &plain->rows[t]);
		if (err)
			break;
		sql_bind(plain->rows[t], "u", thread);
		err = step_table(plain, (enum table_id)t);
	}
	if (err) {
		plain_close(plain);
		return err;
	}
	*ret_plain = plain;
	return 0;
}

void plain_close(struct plain_tables *plain)
{
	if (!plain)
		return;
	for (int t = 0; t < TABLES_OF_EVENTS; t++)
		sqlite3_finalize(plain->rows[t]);
	free(plain);
}

static uint64_t read_number(struct plain_tables *plain, enum table_id table, int column)
{
	return (uint64_t)sqlite3_column_int64(plain->rows[table], column);
}

static bool is_null(struct plain_tables *plain, enum table_id table, int column)
{
	return sqlite3_column_type(plain->rows[table], column) == SQLITE_NULL;
}

/* Add @n consecutive columns of a row to the block, from column @from on. */
static int add_row(struct plain_tables *plain, struct block *block, enum table_id table, int from,
		   const enum column_id *columns, int n)
{
	int err = 0;

	for (int i = 0; i < n && !err; i++)
		err = block_add(block, columns[i], read_number(plain, table, from + i));
	return err;
}

/* Is the current row before (@n, @i)? Then no event has this row, and it is skipped. */
static bool is_before(struct plain_tables *plain, enum table_id table, uint64_t n, uint64_t i)
{
	uint64_t its = read_number(plain, table, 0);

	return its < n || (its == n && read_number(plain, table, 1) < i);
}

static int add_sges(struct plain_tables *plain, struct block *block, uint64_t n, uint64_t i,
		    uint32_t *ret_count)
{
	int err = 0;

	*ret_count = 0;
	while (!err && plain->there[TABLE_sge] && is_before(plain, TABLE_sge, n, i))
		err = step_table(plain, TABLE_sge);
	while (!err && plain->there[TABLE_sge] && read_number(plain, TABLE_sge, 0) == n &&
	       read_number(plain, TABLE_sge, 1) == i) {
		err = add_row(plain, block, TABLE_sge, 3, sge_columns, SGE_FIELDS);
		++*ret_count;
		if (!err)
			err = step_table(plain, TABLE_sge);
	}
	return err;
}

/* Which parts does the request have? A part is present if one of its columns is not NULL. */
static unsigned int present_parts(struct plain_tables *plain)
{
	unsigned int there = 0;

	for (int i = 0; i < NPARTS; i++)
		if (!is_null(plain, TABLE_wr, WR_PARTS + i))
			there |= parts[i].part;
	return there;
}

static int add_separate_fields(struct plain_tables *plain, struct block *block)
{
	int err = block_add(block, COLUMN_odd_opcode, read_number(plain, TABLE_wr, WR_OPCODE));

	if (!err)
		err = block_add(block, COLUMN_odd_flags, read_number(plain, TABLE_wr, WR_FLAGS));
	if (!err)
		err = block_add(block, COLUMN_odd_num_sge,
				read_number(plain, TABLE_wr, WR_NUM_SGE));
	return err;
}

static int add_wr(struct plain_tables *plain, struct block *block, uint64_t n)
{
	static const enum column_id columns[] = { COLUMN_wr_id, COLUMN_send_flags, COLUMN_imm,
						  COLUMN_opcode };
	unsigned int there = present_parts(plain);
	uint32_t nsge;
	int err = add_sges(plain, block, n, read_number(plain, TABLE_wr, 1), &nsge);

	if (!err)
		err = add_row(plain, block, TABLE_wr, 2, columns, 4);
	if (nsge != read_number(plain, TABLE_wr, WR_NUM_SGE))
		there |= WR_ODD;
	if (!err)
		err = block_add(block, COLUMN_nsge, nsge);
	if (!err)
		err = block_add(block, COLUMN_parts, there);
	for (int i = 0; i < NPARTS && !err; i++)
		if (there & parts[i].part)
			err = block_add(block, parts[i].column,
					read_number(plain, TABLE_wr, WR_PARTS + i));
	return !err && there & WR_ODD ? add_separate_fields(plain, block) : err;
}

static int add_wrs(struct plain_tables *plain, struct block *block, uint64_t n, uint32_t *ret_count)
{
	int err = 0;

	*ret_count = 0;
	while (!err && plain->there[TABLE_wr] && read_number(plain, TABLE_wr, 0) < n)
		err = step_table(plain, TABLE_wr);
	while (!err && plain->there[TABLE_wr] && read_number(plain, TABLE_wr, 0) == n) {
		err = add_wr(plain, block, n);
		++*ret_count;
		if (!err)
			err = step_table(plain, TABLE_wr);
	}
	return err;
}

/* Add the fields of a completion that struct ibv_wc does not have. */
static int add_extra(struct plain_tables *plain, struct block *block)
{
	unsigned int there = 0;

	for (int i = 0; i < EXTRA_FIELDS; i++)
		if (!is_null(plain, TABLE_wc, WC_EXTRAS + i))
			there |= extra_part(extra_columns[i]);
	if (block_add(block, COLUMN_wc_parts, there))
		return -ENOMEM;
	return add_row(plain, block, TABLE_wc, WC_EXTRAS, extra_columns, EXTRA_FIELDS);
}

static int add_wcs(struct plain_tables *plain, struct block *block, uint64_t n, bool extra,
		   uint32_t *ret_count)
{
	int err = 0;

	*ret_count = 0;
	while (!err && plain->there[TABLE_wc] && read_number(plain, TABLE_wc, 0) < n)
		err = step_table(plain, TABLE_wc);
	while (!err && plain->there[TABLE_wc] && read_number(plain, TABLE_wc, 0) == n) {
		err = add_row(plain, block, TABLE_wc, 2, wc_columns, WC_FIELDS);
		if (!err && extra)
			err = add_extra(plain, block);
		++*ret_count;
		if (!err)
			err = step_table(plain, TABLE_wc);
	}
	return err;
}

static int add_event(struct plain_tables *plain, struct block *block, enum table_id table,
		     uint64_t kind)
{
	static const enum column_id columns[] = { COLUMN_n, COLUMN_time };
	int err = add_row(plain, block, table, 0, columns, 2);

	if (read_number(plain, table, 2))
		kind |= KIND_INNER;
	return err ? err : block_add(block, COLUMN_kind, kind);
}

/* The kind of the current row; 0 after log_err() if its verb does not fit the table. */
static uint32_t kind_at(struct plain_tables *plain, enum table_id table, enum verb usual)
{
	const char *verb = (const char *)sqlite3_column_text(plain->rows[table], 3);
	int id = verb ? verb_find(verb) : (int)usual;
	uint32_t kind = id < 0 ? 0 : kind_of_verb((enum verb)id);

	if (kind && kind_is_post(kind) == (table == TABLE_post))
		return kind;
	log_why(-EINVAL, "%s in column verb of table %s is not a verb that %s", verb,
		tables[table].name, table == TABLE_post ? "posts" : "polls");
	return 0;
}

static int add_post(struct plain_tables *plain, struct block *block)
{
	static const enum column_id columns[] = { COLUMN_post_handle, COLUMN_post_ret,
						  COLUMN_post_bad, COLUMN_post_stack };
	uint32_t kind = kind_at(plain, TABLE_post, VERB_post_send), nwr;
	int err = kind ? add_event(plain, block, TABLE_post, kind) : -EINVAL;

	if (!err)
		err = add_row(plain, block, TABLE_post, 4, columns, 4);
	if (!err)
		err = add_wrs(plain, block, read_number(plain, TABLE_post, 0), &nwr);
	return err ? err : block_add(block, COLUMN_nwr, nwr);
}

/* Add a poll. Only a poll of an extended CQ has fields that struct ibv_wc lacks. */
static int add_poll(struct plain_tables *plain, struct block *block)
{
	static const enum column_id columns[] = { COLUMN_poll_handle, COLUMN_poll_ret, COLUMN_empty,
						  COLUMN_poll_stack };
	uint32_t kind = kind_at(plain, TABLE_poll, VERB_poll_cq), nwc;
	bool extra = kind != KIND_POLL, filled = read_number(plain, TABLE_poll, POLL_FILLED);
	int err = kind ? add_event(plain, block, TABLE_poll,
				   kind | (extra    ? KIND_EXTRA
					   : filled ? KIND_FILLED
						    : 0))
		       : -EINVAL;

	if (!err)
		err = add_row(plain, block, TABLE_poll, 4, columns, 4);
	if (!err)
		err = add_wcs(plain, block, read_number(plain, TABLE_poll, 0), extra, &nwc);
	return err ? err : block_add(block, COLUMN_nwc, nwc);
}

static int add_notify(struct plain_tables *plain, struct block *block)
{
	static const enum column_id columns[] = { COLUMN_notify_handle, COLUMN_solicited,
						  COLUMN_notify_ret };
	int err = add_event(plain, block, TABLE_notify, KIND_NOTIFY);

	return err ? err : add_row(plain, block, TABLE_notify, 3, columns, 3);
}

/* The table that has the next event; TABLES at the end. */
static enum table_id next_table(struct plain_tables *plain)
{
	static const enum table_id events[] = { TABLE_post, TABLE_poll, TABLE_notify };
	enum table_id best = TABLES;

	for (int i = 0; i < 3; i++)
		if (plain->there[events[i]] &&
		    (best == TABLES ||
		     read_number(plain, events[i], 0) < read_number(plain, best, 0)))
			best = events[i];
	return best;
}

static bool is_full(const struct block *block)
{
	return block_count(block, COLUMN_n) >= EVENTS ||
	       block_count(block, COLUMN_wr_id) >= BATCH_ROWS ||
	       block_count(block, COLUMN_addr) >= BATCH_ROWS ||
	       block_count(block, COLUMN_wc_wr_id) >= BATCH_ROWS;
}

int plain_load(struct plain_tables *plain, struct block *block)
{
	int err = 0;

	block_clear(block);
	while (!err && !is_full(block)) {
		enum table_id table = next_table(plain);

		if (table == TABLES)
			break;
		err = table == TABLE_post   ? add_post(plain, block)
		      : table == TABLE_poll ? add_poll(plain, block)
					    : add_notify(plain, block);
		if (!err)
			err = step_table(plain, table);
	}
	if (err == -EBADMSG)
		return log_why(-EINVAL, "event %" PRIu64 " has more rows than any post or poll",
			       block_get(block, COLUMN_n, block_count(block, COLUMN_n) - 1));
	return err ? err : block_count(block, COLUMN_n) > 0;
}
