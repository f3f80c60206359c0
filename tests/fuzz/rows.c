/*
 * Values of a trace's tables, altered
 *
 * Most are values that SQLite accepts in a column of any type: NULL, a blob, a text, a huge or a
 * negative number; or the value of another row. The names of tables come from the trace.
 */
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/fuzz/mutate.h"

struct sqlite3 *mutate_open(const char *dir)
{
	sqlite3 *db;

	if (sqlite3_open(mutate_path(dir, "t.db"), &db)) {
		sqlite3_close(db);
		return NULL;
	}
	sqlite3_db_config(db, SQLITE_DBCONFIG_DEFENSIVE, 0, NULL);
	sqlite3_exec(db,
		     "PRAGMA journal_mode = MEMORY; PRAGMA synchronous = OFF;"
		     "PRAGMA writable_schema = ON; BEGIN",
		     NULL, NULL, NULL);
	return db;
}

/* One of the texts that @sql selects: static, of @slot. */
static const char *pick_value(sqlite3 *db, struct dice *dice, const char *sql, int slot)
{
	static char names[2][128];
	char *name = names[slot];
	sqlite3_stmt *stmt;
	int n = 0;

	name[0] = '\0';
	if (sqlite3_prepare_v2(db, sql, -1, &stmt, NULL))
		return name;
	while (sqlite3_step(stmt) == SQLITE_ROW)
		n++;
	sqlite3_reset(stmt);
	for (int i = (int)dice_roll(dice, (uint32_t)n); n && i >= 0; i--)
		sqlite3_step(stmt);
	if (n && sqlite3_column_text(stmt, 0))
		snprintf(name, sizeof(names[0]), "%s", (const char *)sqlite3_column_text(stmt, 0));
	sqlite3_finalize(stmt);
	return name;
}

const char *mutate_table(sqlite3 *db, struct dice *dice)
{
	return pick_value(db, dice, "SELECT name FROM sqlite_master WHERE type = 'table'", 0);
}

const char *mutate_column(sqlite3 *db, struct dice *dice, const char *table)
{
	char sql[256];

	sqlite3_snprintf(sizeof(sql), sql, "SELECT name FROM pragma_table_info(%Q)", table);
	return pick_value(db, dice, sql, 1);
}

/* The key of a row: the primary key's columns, or rowid. */
static void key_of(sqlite3 *db, const char *table, char key[512])
{
	char *sql = sqlite3_mprintf("SELECT group_concat(name) FROM pragma_table_info(%Q) WHERE pk",
				    table);
	sqlite3_stmt *stmt;

	strcpy(key, "rowid");
	if (!sqlite3_prepare_v2(db, sql, -1, &stmt, NULL)) {
		if (sqlite3_step(stmt) == SQLITE_ROW && sqlite3_column_text(stmt, 0))
			snprintf(key, 512, "%s", (const char *)sqlite3_column_text(stmt, 0));
		sqlite3_finalize(stmt);
	}
	sqlite3_free(sql);
}

static int count_rows(sqlite3 *db, const char *table)
{
	char *sql = sqlite3_mprintf("SELECT count(*) FROM \"%w\"", table);
	sqlite3_stmt *stmt;
	int n = 0;

	if (!sqlite3_prepare_v2(db, sql, -1, &stmt, NULL)) {
		if (sqlite3_step(stmt) == SQLITE_ROW)
			n = sqlite3_column_int(stmt, 0);
		sqlite3_finalize(stmt);
	}
	sqlite3_free(sql);
	return n;
}

static void bind_value(sqlite3_stmt *stmt, struct dice *dice)
{
	const char *text;
	size_t n;

	switch (dice_roll(dice, 8)) {
	case 0:
		sqlite3_bind_null(stmt, 1);
		break;
	case 1:
		text = dice_text(dice, &n);
		sqlite3_bind_blob(stmt, 1, text, (int)n, SQLITE_STATIC);
		break;
	case 2:
	case 3:
		text = dice_text(dice, &n);
		sqlite3_bind_text(stmt, 1, text, (int)n, SQLITE_STATIC);
		break;
	case 4:
		sqlite3_bind_double(stmt, 1, dice_roll(dice, 2) ? 1e300 : -0.5);
		break;
	default:
		sqlite3_bind_int64(stmt, 1, (sqlite3_int64)dice_number(dice));
	}
}

/* A new value: ours, that of another row, or the old one slightly changed. */
static char *make_expression(struct dice *dice, const char *table, const char *column, int rows)
{
	uint32_t other = dice_roll(dice, (uint32_t)rows), byte = dice_roll(dice, 64);

	switch (dice_roll(dice, 6)) {
	case 0:
		return sqlite3_mprintf("(SELECT \"%w\" FROM \"%w\" LIMIT 1 OFFSET %u)", column,
				       table, other);
	case 1:
		return sqlite3_mprintf("\"%w\" + %d", column, (int)dice_roll(dice, 5) - 2);
	case 2:
		return sqlite3_mprintf("substr(\"%w\", 1, %u) || ?1 || substr(\"%w\", %u)", column,
				       byte, column, byte + dice_roll(dice, 8));
	default:
		return sqlite3_mprintf("?1");
	}
}

static void change_row(sqlite3 *db, struct dice *dice)
{
	const char *table = mutate_table(db, dice), *column = mutate_column(db, dice, table);
	int rows = count_rows(db, table);
	char key[512], *value = make_expression(dice, table, column, rows), *sql;
	uint32_t row = dice_roll(dice, (uint32_t)rows);
	sqlite3_stmt *stmt;

	key_of(db, table, key);
	switch (dice_roll(dice, 8)) {
	case 0:
		sql = sqlite3_mprintf("UPDATE OR REPLACE \"%w\" SET \"%w\" = %s", table, column,
				      value);
		break;
	case 1:
		sql = sqlite3_mprintf(
			"DELETE FROM \"%w\" WHERE (%s) IN (SELECT %s FROM \"%w\" LIMIT %u"
			" OFFSET %u)",
			table, key, key, table, 1 + dice_roll(dice, 9), row);
		break;
	case 2:
		sql = sqlite3_mprintf("INSERT OR REPLACE INTO \"%w\"(\"%w\") VALUES(?1)", table,
				      column);
		break;
	default:
		sql = sqlite3_mprintf(
			"UPDATE OR REPLACE \"%w\" SET \"%w\" = %s WHERE (%s) = (SELECT %s FROM"
			" \"%w\" LIMIT 1 OFFSET %u)",
			table, column, value, key, key, table, row);
	}
	if (!sqlite3_prepare_v2(db, sql, -1, &stmt, NULL)) {
		bind_value(stmt, dice);
		sqlite3_step(stmt);
		sqlite3_finalize(stmt);
	}
	sqlite3_free(value);
	sqlite3_free(sql);
}

/* Rows that refer to each other or to themselves. */
static void tie_knot(sqlite3 *db, struct dice *dice)
{
	/* clang-format off */
	static const char *const knots[] = {
		"UPDATE object SET parent = id", "UPDATE process SET parent = id",
		"UPDATE object SET parent = (SELECT max(id) FROM object)",
		"UPDATE process SET forked_from = pid, ppid = pid",
		"UPDATE call SET depth = 1 << 20", "UPDATE frame SET stack = 1 << 24",
		"UPDATE OR REPLACE object SET id = id + (1 << 24)",
		"UPDATE OR REPLACE thread SET id = id + (1 << 24)",
		"UPDATE OR REPLACE process SET id = id + (1 << 24)",
		"UPDATE OR REPLACE stack SET id = id + (1 << 24)",
		"UPDATE call SET begin = end, end = begin", "UPDATE chunk SET thread = thread + 1",
		"UPDATE object SET created_at = destroyed_at, destroyed_at = created_at",
		"UPDATE call SET args = NULL", "UPDATE call SET out = args, args = out",
		"UPDATE object SET name = NULL", "UPDATE call SET handle = 0",
		"UPDATE thread SET events = 1 << 40",
	};
	/* clang-format on */

	sqlite3_exec(db, knots[dice_roll(dice, sizeof(knots) / sizeof(*knots))], NULL, NULL, NULL);
}

void mutate_rows(const char *dir, struct dice *dice)
{
	sqlite3 *db = mutate_open(dir);

	if (!db)
		return;
	for (uint32_t n = 1 + dice_roll(dice, 6); n; n--)
		dice_roll(dice, 6) ? change_row(db, dice) : tie_knot(db, dice);
	sqlite3_exec(db, "COMMIT", NULL, NULL, NULL);
	sqlite3_close(db);
}
