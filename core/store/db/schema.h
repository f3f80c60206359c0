#pragma once
/*
 * The tables of a trace: the one list of them. docs/TRACE-FORMAT.md describes
 * each.
 */
#include "core/store/db/sql.h"

enum {
	SCHEMA_APPLICATION = 0x56726274, /* "Vrbt", at byte 68 of the file */
	SCHEMA_VERSION = 3,              /* at byte 60 */
};

/* Make all tables in an empty database. */
int schema_create(sqlite3 *db);

/*
 * Are all tables there, and is nothing there but what this build makes? What a
 * schema says is run by who reads the tables: a stranger's triggers, views and
 * generated columns. Builds between two releases have the same version and may
 * have other tables. -EPROTO after log_err(); before anything else is read.
 */
int schema_check(sqlite3 *db);

/* What is only worth having in a whole trace. */
int schema_complete(sqlite3 *db);

/* What finding the forks of many processes takes. */
int schema_index_processes(sqlite3 *db);

/* What is needed to read it while it is written. */
int schema_follow(sqlite3 *db);

/* Table meta. */
int schema_set_meta(sqlite3 *db, const char *key, const char *value);
int schema_set_meta_int(sqlite3 *db, const char *key, int64_t value);
