/* The data of a trace that identify its owner */
#include "core/store/anonymise/personal.h"

#include "core/store/db/sql.h"
#include "core/store/read/trace.h"

/* @count and @example are SQL queries: for a number, and for a text or NULL. */
static const struct {
	const char *what, *count, *example;
} kinds[] = {
	{ "host names",
	  "SELECT count(DISTINCT value) FROM (SELECT value FROM meta WHERE key = 'host'"
	  " UNION SELECT host FROM merged)",
	  "SELECT value FROM meta WHERE key = 'host'" },
	{ "programs with their arguments", "SELECT count(*) FROM process WHERE exe NOT NULL",
	  "SELECT value FROM meta WHERE key = 'command'" },
	{ "paths of files", "SELECT count(DISTINCT path) FROM module",
	  "SELECT exe FROM process WHERE exe <> '' LIMIT 1" },
	{ "variables of RDMA libraries", "SELECT count(*) FROM environ",
	  "SELECT name || '=' || shown(name, value) FROM environ LIMIT 1" },
	{ "names of devices", "SELECT count(*) FROM device", "SELECT name FROM device LIMIT 1" },
	{ "GUIDs of devices", "SELECT count(DISTINCT guid) FROM device WHERE guid <> 0", NULL },
	{ "GIDs", "SELECT count(DISTINCT gid) FROM gid", "SELECT gid FROM gid LIMIT 1" },
	{ "calls with network addresses",
	  "SELECT count(*) FROM call WHERE args LIKE '%addr\":\"%' OR out LIKE '%addr\":\"%'"
	  " OR verb = 'rdma_getaddrinfo'",
	  NULL },
	{ "calls with private data of connections",
	  "SELECT count(*) FROM call WHERE args LIKE '%\"private_data\":\"%'"
	  " OR out LIKE '%\"private_data\":\"%'",
	  NULL },
	{ "marks of the program", "SELECT count(*) FROM mark", "SELECT text FROM mark LIMIT 1" },
};

/*
 * Set the example of @personal: the first text of @sql. The caller finalizes the statement, which
 * may be NULL.
 */
static sqlite3_stmt *find_example(struct trace *trace, const char *sql, struct personal *personal)
{
	sqlite3_stmt *stmt = NULL;

	if (!sql || sqlite3_prepare_v2(trace_db(trace), sql, -1, &stmt, NULL) ||
	    sqlite3_step(stmt) != SQLITE_ROW)
		return stmt;
	personal->example = (const char *)sqlite3_column_text(stmt, 0);
	personal->bytes = (size_t)sqlite3_column_bytes(stmt, 0);
	return stmt;
}

void personal_each(struct trace *trace, void (*each)(void *arg, const struct personal *personal),
		   void *arg)
{
	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		struct personal personal = { .what = kinds[i].what };
		int64_t n = sql_int(trace_db(trace), kinds[i].count, 0);
		sqlite3_stmt *stmt;

		if (n <= 0)
			continue;
		personal.count = (uint64_t)n;
		stmt = find_example(trace, kinds[i].example, &personal);
		each(arg, &personal);
		sqlite3_finalize(stmt);
	}
}
