#pragma once
/*
 * SQLite, as this folder uses it: the only door to it.
 *
 * The loadable extension is compiled with STORE_EXTENSION and then calls the
 * SQLite that loaded it, never one of its own.
 *
 * All functions print what went wrong and return -errno: -ENOSPC disk full,
 * -EINVAL damaged file, -EBUSY locked by another, -EACCES not writable.
 */
#include <stdint.h>

#ifdef STORE_EXTENSION
#include <sqlite3ext.h>
extern const sqlite3_api_routines *sqlite3_api;
#else
#include <sqlite3.h>
#endif

/* The -errno of the last error of @db, after log_err() with @what. */
int sql_fail(sqlite3 *db, const char *what);

/* @path as SQLite must have it: ":memory:" and "file:x" are names of files to us. */
void sql_path(const char *path, char name[4096]);

/* Open what is there at @path; @flags SQLITE_OPEN_READONLY or READWRITE. 0 or -errno. */
int sql_open(const char *path, int flags, sqlite3 **ret_db);

/*
 * The file may be anybody's: nothing that its schema says is run, no other
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

/* Columns as the C types of this project; a text is owned by the caller, NULL for NULL. */
static inline uint32_t sql_u32(sqlite3_stmt *stmt, int column)
{
	return (uint32_t)sqlite3_column_int64(stmt, column);
}

char *sql_strdup(sqlite3_stmt *stmt, int column);
