#pragma once
/*
 * The data plane as tables: wr, sge, wc, poll, post, notify, and the SQL
 * function event(thread, n), which gives "3:1042".
 */
#include "core/store/db/sql.h"

struct trace;

/*
 * Add them to a connection. @trace is the one that has it open, or NULL: then
 * each table reads the database's own when it is first used.
 */
int vtab_register(sqlite3 *db, struct trace *trace);
