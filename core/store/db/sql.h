#pragma once
/*
 * Calls of SQLite.
 *
 * All functions log errors and return -errno: -ENOSPC disk full, -EINVAL damaged file, -EBUSY
 * locked by another, -EACCES not writable.
 */
#include <stdbool.h>
#include <stdint.h>

#include "core/base/span.h"
#include "core/store/db/sqlite.h"

/* The -errno of the last error of @db, after log_err() with @what. */
int sql_fail(sqlite3 *db, const char *what);

/* Write @path so that SQLite takes it for a file name, even ":memory:" and "file:x". */
void sql_path(const char *path, char name[4096]);

/* Open the existing file @path; @flags SQLITE_OPEN_READONLY or READWRITE. 0 or -errno. */
int sql_open(const char *path, int flags, sqlite3 **ret_db);

/*
 * Settings for a file that is not trusted: no code in its schema runs, no other database can be
 * attached, statements have limits, and only temporary views are allowed. 0 or -errno.
 */
int sql_distrust(sqlite3 *db);

/*
 * JSON of a trace as an expression: NULL if it is damaged, or nested deeper than SQLite reads.
 * Without this, a JSON function would make the whole statement fail.
 */
#define SQL_SOUND(json) "CASE WHEN json_valid(" json ") THEN " json " END"

int sql_exec(sqlite3 *db, const char *sql);

/*
 * Hold the file's lock until sql_release(). Without this, each statement takes the lock and checks
 * whether the file has changed: some ten system calls. Releasing a lock that is not held does
 * nothing. 0 or -errno.
 */
int sql_hold(sqlite3 *db);
int sql_release(sqlite3 *db);

int sql_prepare(sqlite3 *db, const char *sql, sqlite3_stmt **ret_stmt);

/*
 * Bind the parameters from the first on, by the letters of @types: d: int, u: unsigned int, i: 64
 * bits, z: 64 bits with NULL for 0, t: text or NULL, b: blob and its size_t, n: NULL (no argument).
 * Texts and blobs must stay valid until the step.
 */
void sql_bind(sqlite3_stmt *stmt, const char *types, ...);

/* Bind, step to the end and reset: for statements without rows. */
int sql_run(sqlite3_stmt *stmt, const char *types, ...);

/* Go to the next row: 1, 0 at the end, -errno. */
int sql_step(sqlite3_stmt *stmt);

/* Does the file have a table, not a view, named @table? Runs no statement. */
bool sql_has_table(sqlite3 *db, const char *table);

/* The integer in the first column of the first row, or @fallback if there is none. */
int64_t sql_int(sqlite3 *db, const char *sql, int64_t fallback);

/*
 * The largest valid id in @table. Ids are consecutive, so an id far above the number of rows is an
 * error: it must not make a reader allocate an array of that length.
 */
uint32_t sql_id_bound(sqlite3 *db, const char *table);

/* The bounds of @n tables, with one statement. */
void sql_id_bounds(sqlite3 *db, const char *const *tables, int n, uint32_t *ret_bounds);

/* The largest id of @table, for the length of an array. 0, or -errno after log_err(): too large. */
int sql_max_id(sqlite3 *db, const char *table, uint32_t *ret_max);

/*
 * Columns of the current row as C types. Files are not trusted, and a column of SQLite may hold any
 * type; so these functions never fail, and always return a value of their type. A number out of
 * range becomes 0, which refers to no row.
 */
static inline uint32_t sql_u32(sqlite3_stmt *stmt, int column)
{
	int64_t n = sqlite3_column_int64(stmt, column);

	return n < 0 || n > UINT32_MAX ? 0 : (uint32_t)n;
}

static inline int64_t sql_time(sqlite3_stmt *stmt, int column)
{
	return span_limit(sqlite3_column_int64(stmt, column));
}

static inline int64_t sql_time_or(sqlite3_stmt *stmt, int column, int64_t if_null)
{
	return sqlite3_column_type(stmt, column) == SQLITE_NULL ? if_null : sql_time(stmt, column);
}

/* A copy owned by the caller; NULL if the column is NULL, or if out of memory. */
char *sql_strdup(sqlite3_stmt *stmt, int column);
