#pragma once
/*
 * Tables `connection` and `queue`, which are derived from the calls of a trace and table `object`.
 */
#include "core/store/db/sql.h"

/* Rebuild the derived tables. 0 or -errno after log_err(). */
int derive_tables(sqlite3 *db);
