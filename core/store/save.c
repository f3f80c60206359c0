/*
 * Writing findings into a finished trace
 *
 * If this process is killed, the next opening of the trace rolls back its journal (open.c), as
 * after a killed recorder.
 */
#include "core/store/save.h"

#include <errno.h>
#include <stdbool.h>
#include <unistd.h>

#include "core/store/db/file.h"
#include "core/store/db/schema.h"
#include "core/store/db/vfs.h"
#include "core/wire/log.h"

static bool is_whole(sqlite3 *db)
{
	return !sql_int(db,
			"SELECT value IN ('recording', 'unpacking') FROM meta"
			" WHERE key = 'state'",
			1);
}

static int replace_findings(sqlite3 *db, const struct stored_finding *findings, size_t n)
{
	sqlite3_stmt *stmt = NULL;
	int err = sql_exec(db, "BEGIN IMMEDIATE; DELETE FROM finding");

	if (!err)
		err = sql_prepare(db, FINDING_INSERT, &stmt);
	for (size_t i = 0; i < n && !err; i++)
		err = finding_insert(stmt, &findings[i]);
	sqlite3_finalize(stmt);
	if (!err)
		return sql_exec(db, "COMMIT");
	sqlite3_exec(db, "ROLLBACK", NULL, NULL, NULL);
	return err;
}

int trace_save_findings(const char *path, const struct stored_finding *findings, size_t n)
{
	bool unfinished; /* whether the journal of a killed process exists; the commit removes it */
	sqlite3 *db = NULL;
	int err = file_check(path, &unfinished);

	if (!err && access(path, W_OK))
		err = log_err(-errno, "write findings into %s", path);
	if (!err)
		err = vfs_check(path);
	if (!err)
		err = sql_open(path, SQLITE_OPEN_FULLMUTEX | SQLITE_OPEN_READWRITE, &db);
	if (!err)
		err = sql_distrust(db);
	if (!err)
		err = schema_check(db);
	if (!err && !is_whole(db))
		err = log_why(-EBUSY, "%s is still being written", path);
	if (!err)
		err = replace_findings(db, findings, n);
	sqlite3_close(db);
	return err;
}
