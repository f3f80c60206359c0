#pragma once
/*
 * Tables `call` and `ref` with the calls in the blocks of table `call_chunk`.
 *
 * Calls that repeat are in blocks, all others are rows. In a reader's connection, temporary tables
 * named `call` and `ref` show both kinds; main.call and main.ref have the rows only.
 *
 * Not thread-safe.
 */
#include "core/store/chunk/call_row.h"
#include "core/store/db/sql.h"

/* Add the temporary tables if the trace has blocks. 0 or -errno after log_err(). */
int call_tables_create(sqlite3 *db);

/* Add the virtual tables even if the trace has no blocks yet: it is still being written. */
int call_tables_follow(sqlite3 *db);
