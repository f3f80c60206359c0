/*
 * A query may read the trace, and nothing else
 */
#include "cli/sql/sql_guard.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

static bool is_one_of(const char *const *list, const char *name)
{
	while (*list && sqlite3_stricmp(*list, name))
		list++;
	return *list;
}

/* Does @pragma only read: does it take the name of a table, or has it no value to set? */
static bool is_reading_pragma(const char *pragma, const char *value)
{
	static const char *const tell[] = {
		"collation_list",  "compile_options", "database_list", "foreign_key_list",
		"function_list",   "index_info",      "index_list",    "index_xinfo",
		"integrity_check", "module_list",     "pragma_list",   "quick_check",
		"table_info",      "table_list",      "table_xinfo",   NULL
	};
	static const char *const tell_or_set[] = { "application_id", "data_version",
						   "encoding",       "freelist_count",
						   "journal_mode",   "page_count",
						   "page_size",      "schema_version",
						   "user_version",   NULL };

	return is_one_of(tell, pragma) || (!value && is_one_of(tell_or_set, pragma));
}

/* A query may read the trace, and do nothing else that SQLite can do. */
static int authorize_action(void *arg, int action, const char *name, const char *value,
			    const char *schema, const char *from)
{
	static const char *const outside[] = { "load_extension", "fts3_tokenizer", "readfile",
					       "writefile",      "edit",           NULL };
	char *refused = arg;

	(void)schema;
	(void)from;
	switch (action) {
	case SQLITE_SELECT:
	case SQLITE_READ:
	case SQLITE_RECURSIVE:
		return SQLITE_OK;
	case SQLITE_FUNCTION:
		if (!is_one_of(outside, value))
			return SQLITE_OK;
		snprintf(refused, SQL_REFUSED, "%s()", value);
		return SQLITE_DENY;
	case SQLITE_PRAGMA:
		if (is_reading_pragma(name, value))
			return SQLITE_OK;
		snprintf(refused, SQL_REFUSED, "PRAGMA %s", name);
		return SQLITE_DENY;
	case SQLITE_ATTACH:
		snprintf(refused, SQL_REFUSED, "ATTACH");
		return SQLITE_DENY;
	default:
		/*
		 * SQLite writes to sqlite_master when a virtual table is first used, to declare its
		 * columns; it refuses direct writes itself
		 */
		if ((action == SQLITE_INSERT || action == SQLITE_UPDATE) &&
		    !strcmp(name, "sqlite_master"))
			return SQLITE_OK;
		snprintf(refused, SQL_REFUSED, "not a query");
		return SQLITE_DENY;
	}
}

void sql_guard(sqlite3 *db, char refused[SQL_REFUSED])
{
	sqlite3_set_authorizer(db, authorize_action, refused);
}
