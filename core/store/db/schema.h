#pragma once
/*
 * The list of the tables of a trace. docs/TRACE-FORMAT.md describes each.
 */
#include "core/store/db/sql.h"

enum {
	SCHEMA_APPLICATION = 0x56726274, /* "Vrbt", at byte 68 of the file */
	SCHEMA_VERSION = 15,             /* at byte 60 */
	/* oldest readable format: newer_tables[] lists later tables */
	SCHEMA_OLDEST = 6,
};

/* Create all tables in an empty database. */
int schema_create(sqlite3 *db);

/*
 * The same for a file with a temporary name, which becomes a trace when it is complete: nothing is
 * synced, and the file is not recognized as a trace. Begins the transaction that fills the file,
 * with an empty table `meta`.
 */
int schema_create_part(sqlite3 *db);

/*
 * Check that the file has exactly the tables of this build: reading a table runs the triggers,
 * views and generated columns of its schema, which anybody may have written. Builds between two
 * releases may have the same version and different tables. Call it before anything else is read.
 * Returns 0 or -errno after log_err(): -EPROTO: its tables differ.
 */
int schema_check(sqlite3 *db);

/*
 * The declaration of a table's first column, which starts with the column's name; and the
 * declaration of the column after @column, which must exist. Declarations are separated by a comma
 * and a blank.
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
