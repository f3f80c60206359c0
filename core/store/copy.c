/*
 * A copy of a trace, as it is: page by page, while SQLite holds its lock
 */
#include "core/store/copy.h"

#include "core/store/db/file.h"
#include "core/store/db/sql.h"
#include "core/store/read/trace.h"

static int copy_pages(sqlite3 *from, sqlite3 *to)
{
	sqlite3_backup *backup = sqlite3_backup_init(to, "main", from, "main");

	if (backup)
		sqlite3_backup_step(backup, -1);
	return sqlite3_backup_finish(backup) ? sql_fail(to, "copy a trace") : 0;
}

int trace_copy(struct trace *trace, const char *to)
{
	sqlite3 *db = NULL;
	int err = file_make_way(to);

	if (err)
		return err;
	err = sql_open(to, SQLITE_OPEN_READWRITE, &db);
	if (!err)
		err = sql_exec(db, "PRAGMA synchronous=OFF") ?: copy_pages(trace_db(trace), db);
	sqlite3_close(db);
	if (err)
		file_remove(to);
	return err;
}
