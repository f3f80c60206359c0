/*
 * libverbatim-sqlite.so: the virtual tables, views and functions for any sqlite3, but for those
 * that take the model
 *
 *	$ sqlite3 trace.db ".load libverbatim-sqlite" "SELECT count(*) FROM wc"
 */
#ifdef STORE_EXTENSION
#include <sqlite3ext.h>
#include <stddef.h>

#include "core/store/vtab/views.h"
#include "core/store/vtab/vtab.h"

SQLITE_EXTENSION_INIT1

/* The name that SQLite looks for first. */
__attribute__((visibility("default"))) int sqlite3_extension_init(sqlite3 *db, char **ret_error,
								  const sqlite3_api_routines *api);

int sqlite3_extension_init(sqlite3 *db, char **ret_error, const sqlite3_api_routines *api)
{
	SQLITE_EXTENSION_INIT2(api);
	if (vtab_register(db, NULL) || views_create(db, false)) {
		*ret_error = sqlite3_mprintf("cannot add the tables and views of verbatim");
		return SQLITE_ERROR;
	}
	return SQLITE_OK;
}
#else
typedef int extension_is_empty_without_it;
#endif
