#pragma once
/*
 * Calls of SQLite, as this room makes them.
 *
 * All functions print what went wrong and return -errno: -ENOSPC disk full,
 * -EINVAL damaged file, -EBUSY locked by another, -EACCES not writable.
 */
#include <stdint.h>

#include "core/store/db/sqlite.h"

/* The -errno of the last error of @db, after log_err() with @what. */
int sql_fail(sqlite3 *db, const char *what);

/* @path as SQLite must have it: ":memory:" and "file:x" are names of files to us. */
void sql_path(const char *path, char name[4096]);

/* Open what is there at @path; @flags SQLITE_OPEN_READONLY or READWRITE. 0 or -errno. */
int sql_open(const char *path, int flags, sqlite3 **ret_db);

/*
 * For a file that is not trusted: nothing that its schema says is run, no other
 * database is attached, and statements have bounds. Views but temporary ones
 * are off. 0 or -errno.
 */
int sql_distrust(sqlite3 *db);

int sql_exec(sqlite3 *db, const char *sql);

int sql_prepare(sqlite3 *db, const char *sql, sqlite3_stmt **ret_stmt);

/*
 * Bind from the first parameter on, by the letters of @types: d int, u unsigned
 * int, i 64 bits, z 64 bits or NULL where 0, t text or NULL, b blob and its
 * size_t, n NULL (no argument). Texts and blobs must live until the step.
 */
void sql_bind(sqlite3_stmt *stmt, const char *types, ...);

/* Bind, step to the end and reset: for statements that give no rows. */
int sql_run(sqlite3_stmt *stmt, const char *types, ...);

/* Next row: 1, 0 at the end, -errno. */
int sql_step(sqlite3_stmt *stmt);

/* The first column of the first row, or @fallback. */
int64_t sql_int(sqlite3 *db, const char *sql, int64_t fallback);

/*
 * The largest id of @table, into whose rows arrays are made: ids are given out one after the
 * other, so one far above the number of rows is refused. 0 or -errno after log_err().
 */
int sql_max_id(sqlite3 *db, const char *table, uint32_t *ret_max);

/*
 * Cells as the C types of this project. Anybody may have written them, and
 * SQLite lets any column hold anything: so these never fail, and what they give
 * is always of the type. A number out of range is 0, which names nothing.
 */
static inline uint32_t sql_u32(sqlite3_stmt *stmt, int column)
{
	int64_t n = sqlite3_column_int64(stmt, column);

	return n < 0 || n > UINT32_MAX ? 0 : (uint32_t)n;
}

/* Nanoseconds of which any two can be subtracted: 36 years at most, to either side. */
static inline int64_t sql_to_time(int64_t ns)
{
	const int64_t most = (int64_t)1 << 60;

	return ns > most ? most : ns < -most ? -most : ns;
}

static inline int64_t sql_time(sqlite3_stmt *stmt, int column)
{
	return sql_to_time(sqlite3_column_int64(stmt, column));
}

static inline int64_t sql_time_or(sqlite3_stmt *stmt, int column, int64_t if_null)
{
	return sqlite3_column_type(stmt, column) == SQLITE_NULL ? if_null : sql_time(stmt, column);
}

/* Owned by the caller; NULL for NULL, or without memory. */
char *sql_strdup(sqlite3_stmt *stmt, int column);

/*
 * The same for a text that must not be NULL: 0, -ENOMEM, or -EINVAL after log_err() with @what
 * and the row's @id.
 */
int sql_need_text(sqlite3_stmt *stmt, int column, const char *what, int64_t id,
		  const char **ret_text);
