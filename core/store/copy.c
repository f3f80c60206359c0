/*
 * A copy of a trace: page by page, while SQLite holds its lock
 *
 * A trace of an older version may have values of variables that this version does not record. They
 * are replaced in the copy; then all its pages are rewritten, since the free space in them still
 * contains the values.
 */
#include "core/store/copy.h"

#include "core/store/db/file.h"
#include "core/store/db/sql.h"
#include "core/store/read/trace.h"
#include "core/store/vtab/functions.h"

static int copy_pages(sqlite3 *from, sqlite3 *to)
{
	sqlite3_backup *backup = sqlite3_backup_init(to, "main", from, "main");

	if (backup)
		sqlite3_backup_step(backup, -1);
	return sqlite3_backup_finish(backup) ? sql_fail(to, "copy a trace") : 0;
}

#define HIDDEN "value <> shown(name, value)"

static int hide_variables(sqlite3 *from, sqlite3 *to)
{
	if (sql_int(from, "SELECT count(*) FROM environ WHERE " HIDDEN, 0) == 0)
		return 0;
	return functions_add(to)
		       ?: sql_exec(to, "PRAGMA temp_store=MEMORY;"
				       "UPDATE environ SET value = shown(name, value) WHERE " HIDDEN
				       "; VACUUM");
}

int trace_copy(struct trace *trace, const char *to)
{
	sqlite3 *db = NULL;
	int err = file_create_replacing(to);

	if (err)
		return err;
	err = sql_open(to, SQLITE_OPEN_READWRITE, &db);
	if (!err)
		err = sql_exec(db, "PRAGMA synchronous=OFF") ?: copy_pages(trace_db(trace), db);
	if (!err)
		err = hide_variables(trace_db(trace), db);
	sqlite3_close(db);
	if (err)
		file_remove(to);
	return err;
}
