/*
 * Tables that are derived from the calls of a trace
 */
#include "core/store/finish/derive.h"

#include "core/store/finish/connections.h"
#include "core/store/finish/queue_table.h"

int derive_tables(sqlite3 *db)
{
	return connections_build(db) ?: queue_table_build(db);
}
