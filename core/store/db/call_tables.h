#pragma once
/*
 * Tables `call` and `ref` with the calls in the blocks of table `call_chunk`.
 *
 * Calls that repeat are in blocks, all others are rows. For the connection of a reader, temporary
 * tables of the same names have both; main.call and main.ref have the rows only.
 *
 * Not thread-safe.
 */
#include "core/store/chunk/call_row.h"
#include "core/store/db/sql.h"

/* If there are blocks, show them. 0 or -errno after log_err(). */
int call_tables_show(sqlite3 *db);

/* Show them even if there are none yet: the trace is being written. */
int call_tables_follow(sqlite3 *db);
