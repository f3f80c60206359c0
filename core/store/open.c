/*
 * Opening a trace: checking it, and completing it if its recorder died
 *
 * Not here: loading it (core/store/read/trace_load.c).
 */
#include "core/store/open.h"

#include <errno.h>
#include <unistd.h>

#include "core/store/db/file.h"
#include "core/store/db/schema.h"
#include "core/store/db/vfs.h"
#include "core/store/finish/complete.h"
#include "core/store/read/trace_priv.h"
#include "core/store/vtab/vtab.h"
#include "core/wire/log.h"
#include "core/wire/session.h"

/* Is the recorder of this trace still running? */
static bool is_recorder_alive(sqlite3 *db)
{
	int64_t pid = sql_int(db, "SELECT value FROM meta WHERE key = 'recorder'", 0);
	int64_t start = sql_int(db, "SELECT value FROM meta WHERE key = 'recorder_start'", 0);
	char boot[64];
	sqlite3_stmt *stmt = NULL;
	bool same = true;

	file_boot_id(boot);
	if (!sqlite3_prepare_v2(db, "SELECT value = ? FROM meta WHERE key = 'recorder_boot'", -1,
				&stmt, NULL)) {
		sqlite3_bind_text(stmt, 1, boot, -1, SQLITE_STATIC);
		if (sqlite3_step(stmt) == SQLITE_ROW)
			same = sqlite3_column_int(stmt, 0);
	}
	sqlite3_finalize(stmt);
	return same && pid > 0 && session_process_alive((pid_t)pid, (uint64_t)start);
}

/* The state in table meta. 1: being recorded; 0: complete; or -errno. */
static int get_state(sqlite3 *db, const char *path)
{
	sqlite3_stmt *stmt;
	int err = sql_prepare(db,
			      "SELECT value = 'recording', value = 'unpacking' FROM meta"
			      " WHERE key = 'state'",
			      &stmt);

	if (err)
		return err;
	err = sql_step(stmt);
	if (!err)
		err = log_why(-EINVAL,
			      "%s is incomplete: the process that wrote it was killed; "
			      "write it again",
			      path);
	else if (err > 0 && sqlite3_column_int(stmt, 1))
		err = log_why(-EINVAL,
			      "%s is an incomplete unpacked trace: `verbatim unpack` was killed; "
			      "unpack again",
			      path);
	else if (err > 0)
		err = sqlite3_column_int(stmt, 0);
	sqlite3_finalize(stmt);
	return err;
}

/* Complete a trace whose recorder did not finish it. */
static int recover_db(sqlite3 *db, const char *path)
{
	int err;

	sqlite3_exec(db, "PRAGMA locking_mode=EXCLUSIVE", NULL, NULL, NULL);
	if ((sqlite3_exec(db, "SELECT 1 FROM sqlite_master", NULL, NULL, NULL) & 0xff) ==
	    SQLITE_BUSY)
		return log_why(-EBUSY, "%s is still being written; wait until it is complete",
			       path);
	err = schema_check(db);
	if (!err)
		err = get_state(db, path);
	if (err < 0)
		return err;
	if (!err) /* complete; but its recorder died before it removed the WAL */
		return complete_file(db);
	if (is_recorder_alive(db))
		return log_why(-EBUSY,
			       "%s is still being recorded; wait for the end of the "
			       "recording",
			       path);
	log_info("%s: its recorder died; completing the trace", path);
	return complete_trace(db, COMPLETE_INTERRUPTED);
}

/* Open a file without trusting its schema: nothing in the schema is run. */
static int open_untrusted(const char *path, int flags, sqlite3 **ret_db)
{
	int err = sql_open(path, SQLITE_OPEN_FULLMUTEX | flags, ret_db);

	return err ? err : sql_distrust(*ret_db);
}

static int open_unfinished(const char *path, sqlite3 **ret_db)
{
	int err;

	if (access(path, W_OK))
		return log_err(-errno,
			       "%s must be completed, since its recorder died: open it "
			       "once as its owner",
			       path);
	err = vfs_check(path);
	if (!err)
		err = open_untrusted(path, SQLITE_OPEN_READWRITE, ret_db);
	return err ? err : recover_db(*ret_db, path);
}

static int open_db(const char *path, sqlite3 **ret_db)
{
	bool unfinished = false;
	int err = file_check(path, &unfinished);

	if (!err && !unfinished)
		err = open_untrusted(path, SQLITE_OPEN_READONLY, ret_db);
	if (!err && !unfinished)
		err = sql_hold(*ret_db);
	if (!err && !unfinished)
		err = schema_check(*ret_db);
	if (err)
		return err;
	if (!unfinished) {
		if (!sql_int(*ret_db,
			     "SELECT value IN ('recording', 'unpacking') FROM"
			     " meta WHERE key = 'state'",
			     0))
			return 0;
		/* no WAL: the recorder died before it created one */
		sqlite3_close(*ret_db);
		*ret_db = NULL;
	}
	return open_unfinished(path, ret_db);
}

int trace_open(const char *path, struct trace **ret_trace)
{
	struct trace *trace = NULL;
	sqlite3 *db = NULL;
	int err = open_db(path, &db);

	if (!err)
		err = trace_borrow(db, true, &trace);
	if (!err)
		err = vtab_register(db, trace);
	if (err) {
		trace_close(trace);
		sqlite3_close(db);
		return err;
	}
	trace->borrowed = false;
	*ret_trace = trace;
	return 0;
}

int trace_unlock(struct trace *trace)
{
	return sql_release(trace_db(trace));
}
