#pragma once
/*
 * What a query may do: read the trace, and use nothing else of SQLite.
 */
#include <sqlite3.h>

enum { SQL_REFUSED = 128 };

/*
 * From now on. @refused gets the name of the operation that was refused, and must live as long as
 * @db.
 */
void sql_guard(sqlite3 *db, char refused[SQL_REFUSED]);
