#pragma once
/*
 * Packing the calls of a trace that is written row by row: calls that repeat go into blocks, except
 * the first ones of each shape, as in a recording.
 *
 * Between begin and end, `call` and `ref` of the connection are temporary tables, which any
 * statement may fill and change.
 */
#include "core/store/db/sql.h"

/* Both return 0 or -errno after log_err(). */
int call_pack_begin(sqlite3 *db);
int call_pack_end(sqlite3 *db);
