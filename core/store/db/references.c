/*
 * Checking the references of the rows of a trace
 *
 * They are not trusted. The numbers of a table's rows are bounded by the number of rows
 * (sql_max_id()); references to the table are checked against the same bound, once, when the trace
 * is opened. A reference within the bound but without a row is unknown to readers.
 *
 * Not here: the data plane, whose readers find their objects by address and time.
 */
#include "core/store/db/references.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "core/base/text.h"
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
	{ "chunk", "_t__TT" },
	{ "payload_chunk", "_t__TT" },
	{ NULL, NULL },
};

static const struct target {
	char letter;
	const char *table;
} targets[] = {
	{ 'p', "process" }, { 't', "thread" }, { 'o', "object" },
	{ 's', "stack" },   { 'm', "module" }, { 'd', "device" },
	{ 'P', "process" },
};
/* clang-format on */

enum { TARGETS = sizeof(targets) / sizeof(*targets) };

/* The target table of column @i; -1: none. */
static int find_target(const struct references *from, int i)
{
	if (i >= (int)strlen(from->columns))
		return -1;
	for (int t = 0; t < TARGETS; t++)
		if (targets[t].letter == from->columns[i])
			return t;
	return -1;
}

static int read_bounds(sqlite3 *db, uint32_t most[TARGETS])
{
	int err = 0;

	for (int t = 0; t < TARGETS && !err; t++)
		if (targets[t].letter == 'P')
			err = sql_max_id(db, targets[t].table, &most[t]);
		else
			most[t] = sql_id_bound(db, targets[t].table);
	return err;
}

/* The names are those of the schema, and need no quotes. */
static void add_conditions(const struct references *from, sqlite3_stmt *columns,
			   const uint32_t *most, struct text *sql)
{
	const char *word = " WHERE";

	for (int i = 0, t; i < sqlite3_column_count(columns); i++) {
		t = find_target(from, i);
		if (t < 0)
			continue;
		text_addf(sql, "%s %s NOT BETWEEN 0 AND %u", word, sqlite3_column_name(columns, i),
			  most[t]);
		word = " OR";
	}
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

static int check_table(sqlite3 *db, const struct references *from, const uint32_t *most)
{
	sqlite3_stmt *columns = NULL, *row = NULL;
	struct text sql = { 0 };
	int err;

	text_addf(&sql, "SELECT * FROM %s", from->table);
	err = sql.failed ? log_err(-ENOMEM, "read the trace") : sql_prepare(db, sql.at, &columns);
	if (!err) {
		add_conditions(from, columns, most, &sql);
		text_addf(&sql, " LIMIT 1");
		err = sql.failed ? log_err(-ENOMEM, "read the trace")
				 : sql_prepare(db, sql.at, &row);
	}
	if (!err)
		err = sql_step(row);
	if (err > 0)
		err = refuse_row(from, row, most);
	sqlite3_finalize(columns);
	sqlite3_finalize(row);
	text_fini(&sql);
	return err;
}

/* An older format does not have all of them: schema_check(). */
static bool has_table(sqlite3 *db, const char *table)
{
	return !sqlite3_table_column_metadata(db, NULL, table, NULL, NULL, NULL, NULL, NULL, NULL);
}

int references_check(sqlite3 *db)
{
	uint32_t most[TARGETS];
	int err = read_bounds(db, most);

	for (const struct references *from = references; from->table && !err; from++)
		if (has_table(db, from->table))
			err = check_table(db, from, most);
	return err;
}
