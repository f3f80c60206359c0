#pragma once
/*
 * The result of a query: columns between bars, CSV, a JSON array, or JSON lines. Not thread-safe.
 */
#include <sqlite3.h>
#include <stdbool.h>

/* In the order of --format. */
enum sql_format { SQL_PLAIN, SQL_CSV, SQL_JSON, SQL_JSON_LINES };

/*
 * Print the rows of @stmt, with @header after the columns' names. Returns SQLITE_DONE or SQLite's
 * error.
 */
int sql_print(sqlite3_stmt *stmt, enum sql_format format, bool header);
