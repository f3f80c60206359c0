/*
 * Checking the references of the rows of a trace
 *
 * References are not trusted. Row numbers of a table are bounded by its number of rows
 * (sql_max_id()); references to the table are checked against the same bound, once, when the trace
 * is opened. Readers treat a reference within the bound whose row is missing as unknown.
 *
 * Not here: the data plane, whose readers find their objects by address and time.
 */
#include "core/store/db/references.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "core/base/text.h"
#include "core/store/chunk/call_block.h"
#include "core/store/db/schema.h"
#include "core/store/db/sql.h"
#include "core/wire/log.h"

/* clang-format off */
const struct references references[] = {
	{ "process", "p__Pt_TTT___t" },
	{ "environ", "p" },
	{ "thread", "tP___TT" },
	{ "module", "mp______T" },
	{ "stack", "sp" },
	{ "frame", "s__m" },
	{ "device", "d" },
	{ "port", "d" },
	{ "gid", "d" },
	{ "object", "oP______ot_t_TT" },
	{ "call", "t_p_TT_____so" },
	{ "call_chunk", "t__TT__oo" },
	{ "connection", "t_pTToo" },
	{ "queue", "t_pTTo_oo" },
	{ "ref", "t____o" },
	{ "event", "t_pT___o" },
	{ "fork", "t_pT_ps" },
	{ "memory", "t_pT___so" },
	{ "misuse", "t_pT______ts" },
	{ "mark", "t_pT" },
	{ "finding", "____t_Tp" },
	{ "loss", "tp_TT" },
	{ "carried", "t" },
	{ "waited", "t_pT" },
	{ "coverage", "t_pT__o" },
	{ "poll_count", "t__po___T" },
	{ "sample", "tT" },
	{ "chunk", "_t__TT" },
	{ "payload_chunk", "_t__TT" },
	{ NULL, NULL },
};

static const struct reference_target {
	char letter;
	const char *table;
} targets[REFERENCES_LETTERS] = {
	{ 'p', "process" }, { 't', "thread" }, { 'o', "object" },
	{ 's', "stack" },   { 'm', "module" }, { 'd', "device" },
	{ 'P', "process" },
};
/* clang-format on */

#define OUTSIDE "verbatim_outside"

/* The target table of column @i; -1: none. */
static int find_target(const struct references *from, int i)
{
	if (i >= (int)strlen(from->columns))
		return -1;
	for (int t = 0; t < REFERENCES_LETTERS; t++)
		if (targets[t].letter == from->columns[i])
			return t;
	return -1;
}

static int read_bounds(sqlite3 *db, uint32_t most[REFERENCES_LETTERS])
{
	const char *tables[REFERENCES_LETTERS];
	int err = 0;

	for (int t = 0; t < REFERENCES_LETTERS; t++)
		tables[t] = targets[t].table;
	sql_id_bounds(db, tables, REFERENCES_LETTERS, most);
	for (int t = 0; t < REFERENCES_LETTERS && !err; t++)
		if (targets[t].letter == 'P')
			err = sql_max_id(db, targets[t].table, &most[t]);
	return err;
}

/*
 * SQL function OUTSIDE(bound, reference, bound, reference...): is a reference out of its bound? One
 * call checks a whole row, in half of the time of an expression for each reference.
 */
static void is_outside(sqlite3_context *ctx, int n, sqlite3_value **values)
{
	for (int i = 0; i + 1 < n; i += 2) {
		int type = sqlite3_value_type(values[i + 1]);
		int64_t value = sqlite3_value_int64(values[i + 1]);

		if (type == SQLITE_NULL || (type == SQLITE_INTEGER && value >= 0 &&
					    value <= sqlite3_value_int64(values[i])))
			continue;
		sqlite3_result_int(ctx, 1);
		return;
	}
	sqlite3_result_int(ctx, 0);
}

/* Add an OUTSIDE() for the table. Names of the schema need no quotes. */
static void add_condition(const struct references *from, const uint32_t *most, struct text *sql)
{
	const char *column = schema_columns(from->table);
	const char *word = " WHERE " OUTSIDE "(";

	for (int i = 0; from->columns[i]; i++, column = schema_next_column(column)) {
		int t = find_target(from, i);

		if (t < 0)
			continue;
		text_addf(sql, "%s%u, %.*s", word, most[t], (int)strcspn(column, " "), column);
		word = ", ";
	}
	text_char(sql, ')');
}

static int refuse_row(const struct references *from, sqlite3_stmt *row, const uint32_t *most)
{
	for (int i = 0, t; i < sqlite3_column_count(row); i++) {
		int64_t value = sqlite3_column_int64(row, i);

		t = find_target(from, i);
		if (t < 0 || sqlite3_column_type(row, i) == SQLITE_NULL ||
		    (sqlite3_column_type(row, i) == SQLITE_INTEGER && value >= 0 &&
		     value <= most[t]))
			continue;
		return log_why(-EINVAL,
			       "%s is damaged: table %s has no row '%.32s', but column %s of "
			       "table %s refers to it; copy it again, or record again",
			       sqlite3_db_filename(sqlite3_db_handle(row), "main"),
			       targets[t].table, (const char *)sqlite3_column_text(row, i),
			       sqlite3_column_name(row, i), from->table);
	}
	return 0;
}

static int describe_row(sqlite3 *db, const struct references *from, const uint32_t *most)
{
	sqlite3_stmt *row = NULL;
	struct text sql = { 0 };
	int err;

	text_addf(&sql, "SELECT * FROM %s", from->table);
	add_condition(from, most, &sql);
	err = sql.failed ? log_err(-ENOMEM, "read the trace") : sql_prepare(db, sql.at, &row);
	if (!err)
		err = sql_step(row);
	if (err > 0)
		err = refuse_row(from, row, most);
	sqlite3_finalize(row);
	text_fini(&sql);
	return err;
}

enum reference_part { PART_ALL, PART_SMALL, PART_CALLS };

static bool is_in_part(const char *table, enum reference_part part)
{
	bool calls = !strcmp(table, "call") || !strcmp(table, "ref");

	if (part == PART_SMALL)
		return !calls && strcmp(table, "object") != 0;
	return part == PART_ALL || calls;
}

/*
 * Where to read the table: blocks are left to check_blocks(), which needs a tenth of a virtual
 * table's time.
 */
static const char *source_of(const char *table)
{
	return is_in_part(table, PART_CALLS) ? "main." : "";
}

/* One statement for all tables: its result is the table that has an invalid reference. */
static int find_outside(sqlite3 *db, const uint32_t *most, enum reference_part part,
			struct text *sql)
{
	const char *word = "";
	sqlite3_stmt *stmt = NULL;
	int found;

	for (int i = 0; references[i].table; i++) {
		/* an older format does not have all tables: schema_check() */
		if (!is_in_part(references[i].table, part) ||
		    !sql_has_table(db, references[i].table))
			continue;
		text_addf(sql, "%sSELECT %d FROM %s%s", word, i, source_of(references[i].table),
			  references[i].table);
		add_condition(&references[i], most, sql);
		word = " UNION ALL ";
	}
	if (sql->failed)
		return log_err(-ENOMEM, "read the trace");
	found = sql_prepare(db, sql->at, &stmt);
	if (!found)
		found = sql_step(stmt);
	if (found > 0)
		found = describe_row(db, &references[sqlite3_column_int(stmt, 0)], most);
	sqlite3_finalize(stmt);
	return found;
}

static uint32_t bound_of(const uint32_t *most, char letter)
{
	int t = 0;

	while (targets[t].letter != letter)
		t++;
	return most[t];
}

static int describe_calls(sqlite3 *db, const uint32_t *most)
{
	int err = 0;

	for (int i = 0; references[i].table && !err; i++)
		if (is_in_part(references[i].table, PART_CALLS))
			err = describe_row(db, &references[i], most);
	return err;
}

/* Check the calls in blocks, and their references. */
static int check_blocks(sqlite3 *db, const uint32_t *most)
{
	uint32_t stacks = bound_of(most, 's'), objects = bound_of(most, 'o');
	struct call_block block = { 0 };
	sqlite3_stmt *stmt;
	int err;

	if (!sql_has_table(db, "call_chunk")) /* an older format */
		return 0;
	err = sql_prepare(db, "SELECT data FROM main.call_chunk", &stmt);
	while (!err && (err = sql_step(stmt)) > 0) {
		err = call_block_read(&block, sqlite3_column_blob(stmt, 0),
				      (size_t)sqlite3_column_bytes(stmt, 0));
		if (err == -ENOMEM)
			log_err(err, "read calls");
		else if (err || !call_block_is_within(&block, stacks, objects))
			err = describe_calls(db, most);
	}
	sqlite3_finalize(stmt);
	call_block_fini(&block);
	return err;
}

/*
 * If the user of the connection is in the middle of a statement, SQLite cannot remove the function:
 * it stays, and the next check gets SQLITE_BUSY when creating it.
 */
static int check_tables(sqlite3 *db, const uint32_t *most, enum reference_part part)
{
	struct text sql = { 0 };
	int err = sqlite3_create_function(db, OUTSIDE, -1, SQLITE_UTF8 | SQLITE_DIRECTONLY, NULL,
					  is_outside, NULL, NULL);

	err = err && err != SQLITE_BUSY ? sql_fail(db, "check the references") : 0;
	if (!err)
		err = find_outside(db, most, part, &sql);
	if (!err && part != PART_SMALL)
		err = check_blocks(db, most);
	text_fini(&sql);
	/* users of the connection must not see this function */
	sqlite3_create_function(db, OUTSIDE, -1, SQLITE_UTF8, NULL, NULL, NULL, NULL);
	return err;
}

int references_check(sqlite3 *db)
{
	uint32_t most[REFERENCES_LETTERS];
	int err = read_bounds(db, most);

	return err ? err : check_tables(db, most, PART_ALL);
}

int references_check_small(sqlite3 *db, struct references_bounds *ret_bounds)
{
	uint32_t *most = ret_bounds->most;
	int err = read_bounds(db, most);

	if (err)
		return err;
	ret_bounds->process = bound_of(most, 'P');
	ret_bounds->thread = bound_of(most, 't');
	ret_bounds->object = bound_of(most, 'o');
	return check_tables(db, most, PART_SMALL);
}

int references_check_calls(sqlite3 *db, const struct references_bounds *bounds)
{
	return check_tables(db, bounds->most, PART_CALLS);
}
