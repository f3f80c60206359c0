#pragma once
/*
 * The data plane as tables wr, sge, wc, poll, post and notify; the tables of derived.h; and
 * functions for SQL: name(object), which returns "qp3", and the functions of functions.h.
 */
#include "core/store/db/sql.h"

struct trace;

/*
 * Add the tables and functions to a connection. @trace is the trace of that connection, or NULL:
 * then the first use of a table opens a trace on the database.
 */
int vtab_register(sqlite3 *db, struct trace *trace);
