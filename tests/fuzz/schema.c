/*
 * A trace's schema, altered: code that SQLite would run, or that changes what it reads
 */
#include <sqlite3.h>
#include <stdio.h>
#include <string.h>

#include "tests/fuzz/mutate.h"

/* $T a table, $C a column of it, $E an expression, $N a number */
/* clang-format off */
static const char *const statements[] = {
	"CREATE TRIGGER x AFTER UPDATE ON $T BEGIN DELETE FROM $T; END",
	"CREATE TRIGGER x BEFORE INSERT ON meta BEGIN SELECT $E; END",
	"CREATE TRIGGER x AFTER INSERT ON object BEGIN INSERT INTO $T($C) VALUES($E); END",
	"ALTER TABLE $T RENAME TO was; CREATE VIEW $T AS SELECT * FROM was",
	"ALTER TABLE $T RENAME TO was; CREATE VIEW $T AS SELECT *, $E FROM was, was",
	"ALTER TABLE $T RENAME TO was; CREATE VIEW $T AS WITH RECURSIVE r(i) AS (SELECT 1 UNION ALL"
	" SELECT i + 1 FROM r) SELECT was.* FROM was, r",
	"CREATE VIEW wr AS SELECT * FROM $T", "CREATE VIEW x AS SELECT $E",
	"ALTER TABLE $T ADD COLUMN g AS ($E)", "ALTER TABLE $T ADD COLUMN g DEFAULT ($N)",
	"ALTER TABLE $T RENAME COLUMN $C TO g", "ALTER TABLE $T DROP COLUMN $C",
	"CREATE INDEX x ON $T($E)", "CREATE INDEX x ON $T($C) WHERE $E",
	"CREATE UNIQUE INDEX x ON $T($C)",
	"DROP TABLE $T", "DROP INDEX call_begin", "DROP INDEX chunk_thread", "CREATE TABLE x(y)",
	"CREATE TABLE wr(x)", "CREATE TABLE payload(x)", "CREATE TABLE sge(thread, n, i)",
	"PRAGMA user_version = $N", "PRAGMA application_id = $N", "PRAGMA schema_version = $N",
	"PRAGMA default_cache_size = $N",
	"ANALYZE; UPDATE sqlite_stat1 SET stat = '$N $N unordered'",
	"UPDATE sqlite_master SET rootpage = $N WHERE name = '$T'",
	"UPDATE sqlite_master SET rootpage = (SELECT rootpage FROM sqlite_master WHERE name = '$T')"
	" WHERE name = 'call'",
	"UPDATE sqlite_master SET sql = NULL WHERE name = '$T'",
	"UPDATE sqlite_master SET type = 'view' WHERE name = '$T'",
	"UPDATE sqlite_master SET tbl_name = 'call' WHERE name = '$T'",
	"UPDATE sqlite_master SET name = 'sqlite_sequence' WHERE name = '$T'",
	"UPDATE sqlite_master SET sql = replace(sql, 'INTEGER', 'TEXT COLLATE x')"
	" WHERE name = '$T'",
	"UPDATE sqlite_master SET sql = replace(sql, 'WITHOUT ROWID', '') WHERE name = '$T'",
	"UPDATE sqlite_master SET sql = replace(sql, ' TEXT', ' TEXT CHECK ($E)')"
	" WHERE name = '$T'",
	"UPDATE sqlite_master SET sql = replace(sql, ' TEXT', ' TEXT AS ($E)') WHERE name = '$T'",
	"UPDATE sqlite_master SET sql = sql || ' STRICT' WHERE name = '$T'",
	"UPDATE sqlite_master SET sql = substr(sql, 1, $N) WHERE name = '$T'",
	"INSERT INTO sqlite_master VALUES('table', 'wr', 'wr', 0,"
	" 'CREATE VIRTUAL TABLE wr USING fts5(x)')",
	"INSERT INTO sqlite_master VALUES('table', 'x', 'x', 0,"
	" 'CREATE VIRTUAL TABLE x USING dbstat')",
	"INSERT INTO sqlite_master VALUES('table', 'x', 'x', 0, 'CREATE VIRTUAL TABLE x USING wr')",
	"INSERT INTO sqlite_master VALUES('table', 'x', 'x', 0, 'CREATE VIRTUAL TABLE x USING"
	" fts3tokenize($E)')",
	"INSERT INTO sqlite_master SELECT * FROM sqlite_master WHERE name = '$T'",
};
/* clang-format on */

/* clang-format off */
static const char *const expressions[] = {
	"1", "load_extension(''x'')", "zeroblob(1000000000)", "randomblob(100000000)",
	"abs(-9223372036854775808)",
	"writefile(''x'', 1)", "readfile(''/etc/passwd'')", "fts3_tokenizer(''simple'')",
	"raise(ABORT, ''x'')",
	"printf(''%.*c'', 100000000, ''x'')", "json(''['')", "$C",
	"(SELECT count(*) FROM $T, $T, $T)",
	"edit(''x'')", "$C + $C", "hex(zeroblob(100000000))", "no_such_function()",
};
/* clang-format on */

static void put_text(char *sql, size_t size, const char *text)
{
	strncat(sql, text, size - strlen(sql) - 1);
}

static void fill_statement(sqlite3 *db, struct dice *dice, const char *from, char *sql, size_t size)
{
	char table[128], one[2] = "", number[32];

	snprintf(table, sizeof(table), "%s", mutate_table(db, dice));
	for (; *from; from++) {
		if (*from != '$') {
			one[0] = *from;
			put_text(sql, size, one);
			continue;
		}
		switch (*++from) {
		case 'T':
			put_text(sql, size, table);
			break;
		case 'C':
			put_text(sql, size, mutate_column(db, dice, table));
			break;
		case 'E':
			fill_statement(db, dice,
				       expressions[dice_roll(dice, sizeof(expressions) /
									   sizeof(*expressions))],
				       sql, size);
			break;
		default:
			snprintf(number, sizeof(number), "%lld", (long long)dice_number(dice));
			put_text(sql, size, number);
		}
	}
}

/* Quotes are doubled only inside a text in SQL. */
static void single_quotes(char *sql)
{
	char *to = sql;

	if (strstr(sql, "sqlite_master"))
		return;
	for (const char *from = sql; (*to = *from); from++)
		if (!(from[0] == '\'' && from[1] == '\''))
			to++;
}

static void run_one(sqlite3 *db, struct dice *dice)
{
	char sql[4096] = "";

	fill_statement(db, dice,
		       statements[dice_roll(dice, sizeof(statements) / sizeof(*statements))], sql,
		       sizeof(sql));
	single_quotes(sql);
	/* it would use this program's memory now, not the command's */
	sqlite3_limit(db, SQLITE_LIMIT_LENGTH, 1 << 22);
	sqlite3_exec(db, sql, NULL, NULL, NULL);
}

/* Any text of the schema with some bytes changed. */
static void spoil_text(sqlite3 *db, struct dice *dice)
{
	char *sql = sqlite3_mprintf("SELECT rowid, sql FROM sqlite_master WHERE name = %Q",
				    mutate_table(db, dice));
	sqlite3_stmt *stmt;

	if (!sqlite3_prepare_v2(db, sql, -1, &stmt, NULL)) {
		if (sqlite3_step(stmt) == SQLITE_ROW && sqlite3_column_bytes(stmt, 1)) {
			int n = sqlite3_column_bytes(stmt, 1);
			char *text = sqlite3_mprintf("%s", sqlite3_column_text(stmt, 1)), *update;

			dice_spoil(dice, (uint8_t *)text, (size_t)n);
			update = sqlite3_mprintf(
				"UPDATE sqlite_master SET sql = %Q WHERE rowid = %d", text,
				sqlite3_column_int(stmt, 0));
			sqlite3_exec(db, update, NULL, NULL, NULL);
			sqlite3_free(update);
			sqlite3_free(text);
		}
		sqlite3_finalize(stmt);
	}
	sqlite3_free(sql);
}

void mutate_schema(const char *dir, struct dice *dice)
{
	sqlite3 *db = mutate_open(dir);

	if (!db)
		return;
	for (uint32_t n = 1 + dice_roll(dice, 3); n; n--)
		dice_roll(dice, 6) ? run_one(db, dice) : spoil_text(db, dice);
	sqlite3_exec(db, "COMMIT", NULL, NULL, NULL);
	sqlite3_close(db);
}
