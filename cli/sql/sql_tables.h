#pragma once
/*
 * The tables, views and functions that a query has. One thread.
 */
#include <sqlite3.h>

/* Print each with its columns and what it is. Returns an exit status. */
int sql_tables(sqlite3 *db);
