/*
 * Calls of SQLite
 *
 * Not here: the contents of the file (schema.c).
 */
#include "core/store/db/sql.h"

#include <errno.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/base/text.h"
#include "core/store/db/deadline.h"
#include "core/store/db/vfs.h"
#include "core/wire/log.h"

static pthread_once_t once = PTHREAD_ONCE_INIT;

/* Disable SQLite's memory statistics: they are not used, and take a lock for each allocation. */
static void set_up(void)
{
	sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
}

static int error_of(sqlite3 *db)
{
	switch (sqlite3_errcode(db) & 0xff) {
	case SQLITE_FULL:
		return vfs_error() == EDQUOT ? -EDQUOT : -ENOSPC;
	case SQLITE_CORRUPT:
	case SQLITE_NOTADB:
	case SQLITE_TOOBIG:
	case SQLITE_CONSTRAINT:
	case SQLITE_ERROR: /* such as a missing table */
		return -EINVAL;
	case SQLITE_BUSY:
	case SQLITE_LOCKED:
		return -EBUSY;
	case SQLITE_READONLY:
	case SQLITE_PERM:
	case SQLITE_AUTH:
		return -EACCES;
	case SQLITE_CANTOPEN:
		return sqlite3_system_errno(db) ? -sqlite3_system_errno(db) : -EACCES;
	case SQLITE_NOMEM:
		return -ENOMEM;
	case SQLITE_INTERRUPT:
		return -ETIME;
	default:
		return sqlite3_system_errno(db) == ENOSPC ? -ENOSPC : -EIO;
	}
}

static bool is_file_damaged(sqlite3 *db)
{
	int code = sqlite3_errcode(db) & 0xff;

	return code == SQLITE_CORRUPT || code == SQLITE_NOTADB || code == SQLITE_TOOBIG;
}

int sql_fail(sqlite3 *db, const char *what)
{
	const char *path = sqlite3_db_filename(db, "main");
	int err = error_of(db);

	if (sqlite3_extended_errcode(db) == SQLITE_CORRUPT_VTAB) /* logged by vtab.c */
		return err;
	if (err == -ETIME)
		return deadline_fail();
	if (err == -ENOSPC || err == -EDQUOT)
		return log_err(err, "%s: %s (free some space there)", path ? path : "trace", what);
	if (is_file_damaged(db))
		return log_why(err, "%s is damaged (%s); copy it again, or record again",
			       path ? path : "trace", sqlite3_errmsg(db));
	if ((sqlite3_errcode(db) & 0xff) == SQLITE_IOERR && vfs_error())
		return log_why(err, "%s: %s: %s (%s)", path ? path : "trace", what,
			       sqlite3_errmsg(db), strerror(vfs_error()));
	return (err == -EINVAL ? log_why : log_err)(err, "%s: %s: %s", path ? path : "trace", what,
						    sqlite3_errmsg(db));
}

void sql_path(const char *path, char name[4096])
{
	snprintf(name, 4096, "%s%s", *path == '/' ? "" : "./", path);
}

int sql_open(const char *path, int flags, sqlite3 **ret_db)
{
	sqlite3 *db = NULL;
	char name[4096];
	int err;

	pthread_once(&once, set_up);
	sql_path(path, name);
	if (!sqlite3_open_v2(name, &db, flags, vfs_name())) {
		*ret_db = db;
		return 0;
	}
	err = db ? error_of(db) : -ENOMEM;
	if (err == -ENOENT && !access(path, F_OK)) /* SQLite's limit: 512 bytes from the root */
		err = -ENAMETOOLONG;
	sqlite3_close(db);
	return log_err(err, "open %s", path);
}

int sql_distrust(sqlite3 *db)
{
	static const struct {
		int what, on;
	} configs[] = {
		{ SQLITE_DBCONFIG_DEFENSIVE, 1 },
		{ SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0 },
		{ SQLITE_DBCONFIG_ENABLE_TRIGGER, 0 },
		{ SQLITE_DBCONFIG_ENABLE_VIEW, 0 },
		{ SQLITE_DBCONFIG_WRITABLE_SCHEMA, 0 },
		{ SQLITE_DBCONFIG_ENABLE_FTS3_TOKENIZER, 0 },
		{ SQLITE_DBCONFIG_ENABLE_LOAD_EXTENSION, 0 },
	};
	static const struct {
		int what, most;
	} limits[] = {
		{ SQLITE_LIMIT_LENGTH, 256 << 20 },
		{ SQLITE_LIMIT_SQL_LENGTH, 1 << 20 },
		{ SQLITE_LIMIT_COLUMN, 1000 },
		{ SQLITE_LIMIT_EXPR_DEPTH, 500 },
		{ SQLITE_LIMIT_COMPOUND_SELECT, 100 },
		{ SQLITE_LIMIT_VDBE_OP, 1 << 20 },
		{ SQLITE_LIMIT_ATTACHED, 0 },
		{ SQLITE_LIMIT_TRIGGER_DEPTH, 1 },
		{ SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 4096 },
	};

	for (size_t i = 0; i < sizeof(configs) / sizeof(*configs); i++)
		sqlite3_db_config(db, configs[i].what, configs[i].on, NULL);
	for (size_t i = 0; i < sizeof(limits) / sizeof(*limits); i++)
		sqlite3_limit(db, limits[i].what, limits[i].most);
	deadline_watch(db);
	return sql_exec(db, "PRAGMA cell_size_check = ON");
}

int sql_exec(sqlite3 *db, const char *sql)
{
	return sqlite3_exec(db, sql, NULL, NULL, NULL) ? sql_fail(db, sql) : 0;
}

int sql_hold(sqlite3 *db)
{
	return sql_exec(db, "BEGIN");
}

int sql_release(sqlite3 *db)
{
	return sqlite3_get_autocommit(db) ? 0 : sql_exec(db, "COMMIT");
}

int sql_prepare(sqlite3 *db, const char *sql, sqlite3_stmt **ret_stmt)
{
	return sqlite3_prepare_v2(db, sql, -1, ret_stmt, NULL) ? sql_fail(db, sql) : 0;
}

static void bind_list(sqlite3_stmt *stmt, const char *types, va_list args)
{
	const void *blob;
	int64_t number;

	for (int i = 1; *types; i++) {
		switch (*types++) {
		case 'd':
			sqlite3_bind_int64(stmt, i, va_arg(args, int));
			break;
		case 'u':
			sqlite3_bind_int64(stmt, i, va_arg(args, unsigned int));
			break;
		case 'i':
			sqlite3_bind_int64(stmt, i, va_arg(args, int64_t));
			break;
		case 'z':
			number = va_arg(args, int64_t);
			if (number)
				sqlite3_bind_int64(stmt, i, number);
			else
				sqlite3_bind_null(stmt, i);
			break;
		case 't':
			sqlite3_bind_text(stmt, i, va_arg(args, const char *), -1, SQLITE_STATIC);
			break;
		case 'b':
			blob = va_arg(args, const void *);
			sqlite3_bind_blob64(stmt, i, blob, va_arg(args, size_t), SQLITE_STATIC);
			break;
		default:
			sqlite3_bind_null(stmt, i);
		}
	}
}

void sql_bind(sqlite3_stmt *stmt, const char *types, ...)
{
	va_list args;

	va_start(args, types);
	bind_list(stmt, types, args);
	va_end(args);
}

int sql_run(sqlite3_stmt *stmt, const char *types, ...)
{
	va_list args;
	int err;

	va_start(args, types);
	bind_list(stmt, types, args);
	va_end(args);
	err = sql_step(stmt);
	sqlite3_reset(stmt);
	return err < 0 ? err : 0;
}

int sql_step(sqlite3_stmt *stmt)
{
	if (!stmt) /* reported when it was prepared */
		return -EIO;
	switch (sqlite3_step(stmt)) {
	case SQLITE_ROW:
		return 1;
	case SQLITE_DONE:
		return 0;
	default:
		return sql_fail(sqlite3_db_handle(stmt), sqlite3_sql(stmt));
	}
}

bool sql_has_table(sqlite3 *db, const char *table)
{
	return !sqlite3_table_column_metadata(db, "main", table, NULL, NULL, NULL, NULL, NULL,
					      NULL);
}

int64_t sql_int(sqlite3 *db, const char *sql, int64_t fallback)
{
	sqlite3_stmt *stmt = NULL;
	int64_t value = fallback;

	if (!sqlite3_prepare_v2(db, sql, -1, &stmt, NULL) && sqlite3_step(stmt) == SQLITE_ROW)
		value = sqlite3_column_int64(stmt, 0);
	sqlite3_finalize(stmt);
	return value;
}

/* Row numbers may have gaps: rows that a user has deleted, or --flight, which counts them. */
enum { GAPS = 1 << 16, GONE_MOST = 1 << 24 };

static uint32_t bound_of(sqlite3_stmt *stmt, int column)
{
	int64_t rows = sqlite3_column_int64(stmt, column);
	int64_t gone = sqlite3_column_int64(stmt, column + 1);

	gone = gone < 0 || gone > GONE_MOST ? 0 : gone;
	return rows < (UINT32_MAX / 2 - GAPS - GONE_MOST) / 16 ? (uint32_t)(GAPS + 16 * rows + gone)
							       : UINT32_MAX / 2;
}

uint32_t sql_id_bound(sqlite3 *db, const char *table)
{
	uint32_t bound = GAPS;
	char sql[160];
	sqlite3_stmt *stmt = NULL;

	sqlite3_snprintf(sizeof(sql), sql,
			 "SELECT count(*), (SELECT value FROM meta WHERE key = 'gone_%s') FROM %s",
			 table, table);
	if (!sqlite3_prepare_v2(db, sql, -1, &stmt, NULL) && sqlite3_step(stmt) == SQLITE_ROW)
		bound = bound_of(stmt, 0);
	sqlite3_finalize(stmt);
	return bound;
}

void sql_id_bounds(sqlite3 *db, const char *const *tables, int n, uint32_t *ret_bounds)
{
	struct text sql = { 0 };
	sqlite3_stmt *stmt = NULL;
	bool found;

	for (int i = 0; i < n; i++)
		text_addf(&sql,
			  "%s(SELECT count(*) FROM %s),"
			  " (SELECT value FROM meta WHERE key = 'gone_%s')",
			  i ? ", " : "SELECT ", tables[i], tables[i]);
	found = !sql.failed && !sqlite3_prepare_v2(db, sql.at, -1, &stmt, NULL) &&
		sqlite3_step(stmt) == SQLITE_ROW;
	for (int i = 0; i < n; i++) /* an older format may lack the table */
		ret_bounds[i] = found ? bound_of(stmt, 2 * i) : sql_id_bound(db, tables[i]);
	sqlite3_finalize(stmt);
	text_fini(&sql);
}

int sql_max_id(sqlite3 *db, const char *table, uint32_t *ret_max)
{
	char sql[96];
	int64_t max;

	sqlite3_snprintf(sizeof(sql), sql, "SELECT max(id) FROM %s", table);
	max = sql_int(db, sql, 0);
	/* no bound is lower than GAPS: most tables need not be counted */
	if (max < 0 || (max > GAPS && max > sql_id_bound(db, table)))
		return log_why(-EINVAL,
			       "table %s has invalid numbers: %lld is far above its number of "
			       "rows",
			       table, (long long)max);
	*ret_max = (uint32_t)max;
	return 0;
}

char *sql_strdup(sqlite3_stmt *stmt, int column)
{
	const char *text = (const char *)sqlite3_column_text(stmt, column);

	return text ? strdup(text) : NULL;
}
