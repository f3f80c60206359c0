#pragma once
/*
 * What a query gives: columns between bars, CSV, or JSON. One thread.
 */
#include <sqlite3.h>
#include <stdbool.h>

enum sql_format { SQL_PLAIN, SQL_CSV, SQL_JSON };

/* Print the rows of @stmt, with @header the columns' names first. SQLITE_DONE or SQLite's error. */
int sql_print(sqlite3_stmt *stmt, enum sql_format format, bool header);
