#pragma once
/*
 * The tables, views and functions for queries. Not thread-safe.
 */
#include <sqlite3.h>
#include <stdbool.h>

/* What a query begins with. */
#define SQL_QUERY "SELECT"

/* Print each table with its columns and its description. Returns an exit status. */
int sql_tables(sqlite3 *db);

/* Print the description, the columns and an example of each table or function of that name. */
bool sql_explain(sqlite3 *db, const char *name);

enum { SQL_NAME = 64 };

/*
 * What to say after SQLite's @error of a query: " (did you mean 'requests'?)" for an unknown name,
 * or why this trace lacks the table; else "". Valid until the next call.
 */
const char *sql_hint(sqlite3 *db, const char *error);

/* Call @take with the name of each table, column and function; names may be repeated. */
typedef void sql_take_name(void *arg, const char *name);
void sql_each_name(sqlite3 *db, sql_take_name *take, void *arg);
