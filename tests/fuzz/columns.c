/*
 * One integer column of one table at a time
 *
 * A cell may be an id of another table, an index, a count, a time, an address: each column gets
 * each of a few values, in one row, some or all. The columns come from the trace, so a new one is
 * covered at once.
 */
#include <sqlite3.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/fuzz/mutate.h"

/* @ stands for the column: an SQL expression, except for another row's value. */
static const char *const values[] = {
	"@ + 1", "@ - 1", "0", "-1", "2147483647", "4294967296", "9223372036854775807",
	NULL,    "NULL",
};

enum rows { ONE_ROW, SOME_ROWS, ALL_ROWS, ROWS };

enum { VALUES = sizeof(values) / sizeof(*values) };

struct column {
	char table[64], name[64], key[256];
	int rows;
	bool in_key;
};

static const char columns_sql[] =
	"SELECT t.name, c.name, c.pk, (SELECT group_concat(name) FROM pragma_table_info(t.name)"
	" WHERE pk) FROM sqlite_master t, pragma_table_info(t.name) c WHERE t.type = 'table'"
	" AND t.name NOT LIKE 'sqlite%' AND c.type = 'INTEGER' ORDER BY t.name, c.cid";

uint64_t columns_count(const char *dir)
{
	sqlite3 *db = mutate_open(dir);
	sqlite3_stmt *stmt = NULL;
	uint64_t n = 0;

	if (db && !sqlite3_prepare_v2(db, columns_sql, -1, &stmt, NULL))
		while (sqlite3_step(stmt) == SQLITE_ROW)
			n++;
	sqlite3_finalize(stmt);
	sqlite3_close(db);
	return n * VALUES * ROWS;
}

static void exec_sql(sqlite3 *db, char *sql)
{
	sqlite3_exec(db, sql, NULL, NULL, NULL);
	sqlite3_free(sql);
}

static int count_rows(sqlite3 *db, const char *table)
{
	char *sql = sqlite3_mprintf("SELECT count(*) FROM \"%w\"", table);
	sqlite3_stmt *stmt = NULL;
	int n = 0;

	if (!sqlite3_prepare_v2(db, sql, -1, &stmt, NULL) && sqlite3_step(stmt) == SQLITE_ROW)
		n = sqlite3_column_int(stmt, 0);
	sqlite3_finalize(stmt);
	sqlite3_free(sql);
	return n;
}

/* Column @i of the trace; false: there are fewer. */
static bool find_column(sqlite3 *db, uint64_t i, struct column *ret)
{
	sqlite3_stmt *stmt = NULL;
	bool found = false;

	if (!sqlite3_prepare_v2(db, columns_sql, -1, &stmt, NULL))
		while (sqlite3_step(stmt) == SQLITE_ROW && !(found = !i--))
			;
	if (found) {
		const char *key = (const char *)sqlite3_column_text(stmt, 3);

		snprintf(ret->table, sizeof(ret->table), "%s", sqlite3_column_text(stmt, 0));
		snprintf(ret->name, sizeof(ret->name), "%s", sqlite3_column_text(stmt, 1));
		snprintf(ret->key, sizeof(ret->key), "%s", key ? key : "rowid");
		ret->in_key = sqlite3_column_int(stmt, 2);
	}
	sqlite3_finalize(stmt);
	if (found)
		ret->rows = count_rows(db, ret->table);
	return found;
}

/* A row of ones in a table that has none. */
static void need_row(sqlite3 *db, struct column *column)
{
	char *sql = sqlite3_mprintf("SELECT * FROM \"%w\"", column->table), *ones;
	sqlite3_stmt *stmt = NULL;

	if (!column->rows && !sqlite3_prepare_v2(db, sql, -1, &stmt, NULL)) {
		ones = sqlite3_mprintf("INSERT INTO \"%w\" VALUES(1", column->table);
		for (int i = 1; i < sqlite3_column_count(stmt); i++)
			ones = sqlite3_mprintf("%z, 1", ones);
		exec_sql(db, sqlite3_mprintf("%z)", ones));
		column->rows = count_rows(db, column->table);
	}
	sqlite3_finalize(stmt);
	sqlite3_free(sql);
}

static char *choose_rows(const struct column *c, enum rows rows, struct dice *dice)
{
	if (rows == ALL_ROWS)
		return sqlite3_mprintf("1");
	if (rows == ONE_ROW)
		return sqlite3_mprintf("(%s) = (SELECT %s FROM \"%w\" LIMIT 1 OFFSET %u)", c->key,
				       c->key, c->table, dice_roll(dice, (uint32_t)c->rows));
	return sqlite3_mprintf("(%s) IN (SELECT %s FROM (SELECT %s, row_number() OVER () AS r"
			       " FROM \"%w\") WHERE r %% %u = %u)",
			       c->key, c->key, c->key, c->table, 2 + dice_roll(dice, 2),
			       dice_roll(dice, 2));
}

/* In two steps, if rows would replace others that are still to be changed. */
static void shift_column(sqlite3 *db, const struct column *c, int by, const char *where)
{
	const char *far = c->in_key ? "1099511627776" : "0";

	exec_sql(db, sqlite3_mprintf("UPDATE OR REPLACE \"%w\" SET \"%w\" = \"%w\" + %s WHERE %s",
				     c->table, c->name, c->name, far, where));
	exec_sql(db, sqlite3_mprintf("UPDATE OR REPLACE \"%w\" SET \"%w\" = \"%w\" - %s + %d"
				     " WHERE %s",
				     c->table, c->name, c->name, far, by, c->in_key ? "1" : where));
}

static void alter_column(sqlite3 *db, struct column *c, unsigned int value, enum rows rows,
			 struct dice *dice)
{
	char *where, *to;

	need_row(db, c);
	where = choose_rows(c, rows, dice);
	to = values[value] ? sqlite3_mprintf("%s", values[value])
			   : sqlite3_mprintf("(SELECT \"%w\" FROM \"%w\" LIMIT 1 OFFSET %u)",
					     c->name, c->table, dice_roll(dice, (uint32_t)c->rows));
	if (*to == '@')
		shift_column(db, c, value ? -1 : 1, where);
	else
		exec_sql(db, sqlite3_mprintf("UPDATE OR REPLACE \"%w\" SET \"%w\" = %s WHERE %s",
					     c->table, c->name, to, where));
	sqlite3_free(to);
	sqlite3_free(where);
}

bool columns_has_rows(const char *dir, uint64_t which)
{
	sqlite3 *db = mutate_open(dir);
	struct column column;
	bool has = db && find_column(db, which / (VALUES * ROWS), &column) && column.rows;

	sqlite3_close(db);
	return has;
}

void columns_alter(const char *dir, uint64_t which, struct dice *dice, char what[COLUMNS_WHAT])
{
	static const char *const how_many[ROWS] = { "one row", "some rows", "all rows" };
	unsigned int value = (unsigned int)(which / ROWS % VALUES);
	enum rows rows = (enum rows)(which % ROWS);
	sqlite3 *db = mutate_open(dir);
	struct column column;

	if (db && find_column(db, which / (VALUES * ROWS), &column)) {
		alter_column(db, &column, value, rows, dice);
		snprintf(what, COLUMNS_WHAT, "%s.%s = %s in %s", column.table, column.name,
			 values[value] ? values[value] : "another row's", how_many[rows]);
		sqlite3_exec(db, "COMMIT", NULL, NULL, NULL);
	}
	sqlite3_close(db);
}

void mutate_columns(const char *dir, struct dice *dice)
{
	char what[COLUMNS_WHAT];
	uint64_t n = columns_count(dir);

	columns_alter(dir, dice_roll(dice, (uint32_t)n), dice, what);
}
