#pragma once
/* Restricts queries: they may read the trace, and use nothing else of SQLite. */
#include <sqlite3.h>

enum { SQL_REFUSED = 128 };

/*
 * Restrict the queries of @db from now on. @refused gets the name of a refused operation, and must
 * live as long as @db.
 */
void sql_guard(sqlite3 *db, char refused[SQL_REFUSED]);
