#pragma once
/*
 * The tables, views and functions for queries. One thread.
 */
#include <sqlite3.h>

/* Print each with its columns and its description. Returns an exit status. */
int sql_tables(sqlite3 *db);
