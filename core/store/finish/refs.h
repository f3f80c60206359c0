#pragma once
/*
 * Resolving the handles in other tables to objects: column `object` of call, ref,
 * event, coverage, and `cq` of poll_count.
 */
#include "core/store/finish/objects.h"

int refs_resolve(sqlite3 *db, const struct objects *objects);
