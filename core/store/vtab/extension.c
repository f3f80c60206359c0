/*
 * libverbatim-sqlite.so: the virtual tables, views and functions for any sqlite3, except those that
 * need the model
 *
 *	$ sqlite3 trace.db ".load libverbatim-sqlite" "SELECT count(*) FROM wc"
 *
 * An extension calls the SQLite that loaded it, never its own copy. The store is compiled once, for
 * the command, and calls SQLite by name; so this file defines each such function, which calls the
 * function of the SQLite that loaded the extension. If a definition is missing, the extension does
 * not link.
 */
#define SQLITE_CORE /* for sqlite3ext.h: no macros for the names that this file defines */
#include <sqlite3ext.h>
#include <stdarg.h>
#include <stddef.h>

#include "core/store/db/call_tables.h"
#include "core/store/db/row_tables.h"
#include "core/store/vtab/views.h"
#include "core/store/vtab/vtab.h"

static const sqlite3_api_routines *api;

/* clang-format off */
#define PASS(type, name, params, ...)			\
	type sqlite3_##name params			\
	{						\
		return api->name(__VA_ARGS__);		\
	}

#define DB    sqlite3 *db
#define STMT  sqlite3_stmt *stmt
#define VALUE sqlite3_value *value
#define CTX   sqlite3_context *ctx
#define FREE  void (*free)(void *)
#define CALL  void (*step)(sqlite3_context *, int, sqlite3_value **)
#define FINAL void (*final)(sqlite3_context *)

PASS(int, open_v2, (const char *path, sqlite3 **ret, int flags, const char *vfs),
     path, ret, flags, vfs)
PASS(int, close, (DB), db)
PASS(int, exec, (DB, const char *sql, int (*row)(void *, int, char **, char **), void *data,
		 char **error), db, sql, row, data, error)
PASS(int, changes, (DB), db)
PASS(int, total_changes, (DB), db)
PASS(int, errcode, (DB), db)
PASS(int, extended_errcode, (DB), db)
PASS(int, system_errno, (DB), db)
PASS(const char *, errmsg, (DB), db)
PASS(int, get_autocommit, (DB), db)
PASS(sqlite3_int64, last_insert_rowid, (DB), db)
PASS(const char *, db_filename, (DB, const char *name), db, name)
PASS(int, limit, (DB, int which, int most), db, which, most)
PASS(void, progress_handler, (DB, int every, int (*ask)(void *), void *data),
     db, every, ask, data)
PASS(int, table_column_metadata, (DB, const char *schema, const char *table, const char *column,
				  char const **type, char const **collation, int *not_null,
				  int *is_key, int *counts),
     db, schema, table, column, type, collation, not_null, is_key, counts)
PASS(sqlite3_backup *, backup_init, (sqlite3 *to, const char *to_name, DB, const char *name),
     to, to_name, db, name)
PASS(int, backup_step, (sqlite3_backup *backup, int pages), backup, pages)
PASS(void *, wal_hook, (DB, int (*committed)(void *, sqlite3 *, const char *, int), void *data),
     db, committed, data)
PASS(int, wal_autocheckpoint, (DB, int pages), db, pages)
PASS(int, backup_finish, (sqlite3_backup *backup), backup)
PASS(const char *, libversion, (void))
PASS(void, free, (void *at), at)
PASS(sqlite3_vfs *, vfs_find, (const char *name), name)
PASS(int, vfs_register, (sqlite3_vfs *vfs, int is_default), vfs, is_default)

PASS(int, prepare_v2, (DB, const char *sql, int bytes, sqlite3_stmt **ret, const char **tail),
     db, sql, bytes, ret, tail)
PASS(int, step, (STMT), stmt)
PASS(int, reset, (STMT), stmt)
PASS(int, finalize, (STMT), stmt)
PASS(sqlite3 *, db_handle, (STMT), stmt)
PASS(const char *, sql, (STMT), stmt)
PASS(int, bind_blob64, (STMT, int i, const void *at, sqlite3_uint64 bytes, FREE),
     stmt, i, at, bytes, free)
PASS(int, bind_double, (STMT, int i, double number), stmt, i, number)
PASS(int, bind_int, (STMT, int i, int number), stmt, i, number)
PASS(int, bind_int64, (STMT, int i, sqlite3_int64 number), stmt, i, number)
PASS(int, bind_null, (STMT, int i), stmt, i)
PASS(int, bind_text, (STMT, int i, const char *text, int bytes, FREE),
     stmt, i, text, bytes, free)
PASS(int, bind_value, (STMT, int i, const sqlite3_value *value), stmt, i, value)
PASS(int, bind_zeroblob, (STMT, int i, int bytes), stmt, i, bytes)
PASS(const void *, column_blob, (STMT, int i), stmt, i)
PASS(int, column_bytes, (STMT, int i), stmt, i)
PASS(int, column_count, (STMT), stmt)
PASS(double, column_double, (STMT, int i), stmt, i)
PASS(int, column_int, (STMT, int i), stmt, i)
PASS(sqlite3_int64, column_int64, (STMT, int i), stmt, i)
PASS(const char *, column_name, (STMT, int i), stmt, i)
PASS(const unsigned char *, column_text, (STMT, int i), stmt, i)
PASS(int, column_type, (STMT, int i), stmt, i)
PASS(sqlite3_value *, column_value, (STMT, int i), stmt, i)

PASS(double, value_double, (VALUE), value)
PASS(sqlite3_value *, value_dup, (const sqlite3_value *value), value)
PASS(void, value_free, (VALUE), value)
PASS(sqlite3_int64, value_int64, (VALUE), value)
PASS(int, value_numeric_type, (VALUE), value)
PASS(const unsigned char *, value_text, (VALUE), value)
PASS(int, value_type, (VALUE), value)

PASS(int, declare_vtab, (DB, const char *sql), db, sql)
PASS(int, create_module_v2, (DB, const char *name, const sqlite3_module *module, void *data, FREE),
     db, name, module, data, free)
PASS(int, create_function, (DB, const char *name, int n, int flags, void *data, CALL,
			    void (*each)(sqlite3_context *, int, sqlite3_value **), FINAL),
     db, name, n, flags, data, step, each, final)
PASS(int, create_function_v2, (DB, const char *name, int n, int flags, void *data, CALL,
			       void (*each)(sqlite3_context *, int, sqlite3_value **), FINAL, FREE),
     db, name, n, flags, data, step, each, final, free)
PASS(void *, aggregate_context, (CTX, int bytes), ctx, bytes)
PASS(void *, user_data, (CTX), ctx)
PASS(sqlite3 *, context_db_handle, (CTX), ctx)
PASS(void, result_blob64, (CTX, const void *at, sqlite3_uint64 bytes, FREE), ctx, at, bytes, free)
PASS(void, result_double, (CTX, double number), ctx, number)
PASS(void, result_error, (CTX, const char *text, int bytes), ctx, text, bytes)
PASS(void, result_error_nomem, (CTX), ctx)
PASS(void, result_int, (CTX, int number), ctx, number)
PASS(void, result_int64, (CTX, sqlite3_int64 number), ctx, number)
PASS(void, result_text, (CTX, const char *text, int bytes, FREE), ctx, text, bytes, free)
PASS(void, result_value, (CTX, sqlite3_value *value), ctx, value)
/* clang-format on */

char *sqlite3_mprintf(const char *format, ...)
{
	va_list args;
	char *text;

	va_start(args, format);
	text = api->vmprintf(format, args);
	va_end(args);
	return text;
}

char *sqlite3_snprintf(int size, char *text, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	api->xvsnprintf(size, text, format, args);
	va_end(args);
	return text;
}

/* Does nothing: the settings of the host's SQLite library must not change. */
int sqlite3_config(int what, ...)
{
	(void)what;
	return SQLITE_MISUSE;
}

/*
 * The store uses only options that it sets on or off, without reading the result: an int and a
 * pointer.
 */
int sqlite3_db_config(sqlite3 *db, int what, ...)
{
	va_list args;
	int on, *ret;

	va_start(args, what);
	on = va_arg(args, int);
	ret = va_arg(args, int *);
	va_end(args);
	return api->db_config(db, what, on, ret);
}

/* SQLite looks for this name first. */
__attribute__((visibility("default"))) int
sqlite3_extension_init(sqlite3 *db, char **ret_error, const sqlite3_api_routines *given);

int sqlite3_extension_init(sqlite3 *db, char **ret_error, const sqlite3_api_routines *given)
{
	api = given;
	if (call_tables_create(db) || row_tables_create(db) || vtab_register(db, NULL) ||
	    views_create(db, false, NULL)) {
		*ret_error = sqlite3_mprintf("cannot add the tables and views of verbatim");
		return SQLITE_ERROR;
	}
	return SQLITE_OK;
}
