#pragma once
/*
 * The data plane as tables: wr, sge, wc, poll, post, notify, and the SQL
 * function event(thread, n), which gives "3:1042".
 */
#include "core/store/db/sql.h"

struct trace;

/*
 * Add them to a connection. @trace is the trace of that connection, or NULL: then
 * the first table used opens one on the database.
 */
int vtab_register(sqlite3 *db, struct trace *trace);
