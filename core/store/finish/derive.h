#pragma once
/*
 * Tables that are derived of the calls of a trace, beside `object`: `connection`, `queue`.
 */
#include "core/store/db/sql.h"

/* Build them anew. 0 or -errno after log_err(). */
int derive_tables(sqlite3 *db);
