#pragma once
/*
 * What a query may do: read the trace, and nothing else that SQLite can do.
 */
#include <sqlite3.h>

enum { SQL_REFUSED = 128 };

/* From now on. @refused gets the name of what was refused, and must live as long as @db. */
void sql_guard(sqlite3 *db, char refused[SQL_REFUSED]);
