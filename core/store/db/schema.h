#pragma once
/*
 * The list of the tables of a trace. docs/TRACE-FORMAT.md describes each.
 */
#include "core/store/db/sql.h"

enum {
	SCHEMA_APPLICATION = 0x56726274, /* "Vrbt", at byte 68 of the file */
	SCHEMA_VERSION = 14,             /* at byte 60 */
	/* oldest readable format: newer_tables[] lists later tables */
	SCHEMA_OLDEST = 6,
};

/* Create all tables in an empty database. */
int schema_create(sqlite3 *db);

/*
 * The same for a file that becomes a trace only when it is complete, and has a temporary name until
 * then: nothing is synced, and the file is not recognized as a trace. Begins the transaction that
 * fills it, with an empty table `meta`.
 */
int schema_create_part(sqlite3 *db);

/*
 * Check that the file has exactly the tables of this build: reading a table runs the triggers,
 * views and generated columns of its schema, which a stranger may have written. Builds between two
 * releases have the same version but may have other tables. Call it before anything else is read.
 * Returns 0 or -errno after log_err(): -EPROTO it has others.
 */
int schema_check(sqlite3 *db);

/*
 * The declaration of the first column of a table, which starts with its name; and that of the next
 * column, after a comma and a blank. Only for columns that the table has.
 */
const char *schema_columns(const char *table);
const char *schema_next_column(const char *column);

/* Create the indexes of a finished trace. */
int schema_complete(sqlite3 *db);

/* Create the indexes for finding the forks of many processes. */
int schema_index_processes(sqlite3 *db);

/* Create the indexes for reading a trace while it is being written. */
int schema_follow(sqlite3 *db);

/* Set a row of table meta. */
int schema_set_meta(sqlite3 *db, const char *key, const char *value);
int schema_set_meta_int(sqlite3 *db, const char *key, int64_t value);
