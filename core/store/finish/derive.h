#pragma once
/*
 * Tables that are derived from the calls of a trace, in addition to `object`: `connection`,
 * `queue`.
 */
#include "core/store/db/sql.h"

/* Rebuild them. 0 or -errno after log_err(). */
int derive_tables(sqlite3 *db);
