/*
 * Loading the large tables of a trace
 *
 *	connection of the caller	-> `object`
 *	another one, in a thread	-> references of `call` and `ref`, which are only checked
 *
 * Both take time in proportion to the tables, and nothing can be read before both have finished.
 * The other connection has no locks, since only one thread uses it. A trace that has few objects,
 * or cannot be opened again, is loaded by one connection.
 *
 * Not here: the other tables (trace_load.c).
 */
#include <pthread.h>
#include <unistd.h>

#include "core/store/db/call_tables.h"
#include "core/store/db/references.h"
#include "core/store/db/row_tables.h"
#include "core/store/db/sql.h"
#include "core/store/read/trace_priv.h"

enum { MANY = 1 << 18 }; /* upper bound of ids, which 12,000 objects or so have (sql_id_bound()) */

int trace_open_again(const struct trace *trace, sqlite3 **ret_db)
{
	const char *path = trace->again ? sqlite3_db_filename(trace->db, "main") : NULL;
	sqlite3 *db = NULL;

	if (!path || !*path || access(path, R_OK) ||
	    sql_open(path, SQLITE_OPEN_READONLY | SQLITE_OPEN_NOMUTEX, &db))
		return -1;
	if (sql_distrust(db) || sqlite3_exec(db, "BEGIN; SELECT 1 FROM meta", NULL, NULL, NULL) ||
	    call_tables_create(db) || row_tables_create(db)) {
		sqlite3_close(db); /* the trace's own connection may hold the file exclusively */
		return -1;
	}
	*ret_db = db;
	return 0;
}

struct calls {
	sqlite3 *db;
	const struct references_bounds *bounds;
};

static void *check_calls(void *arg)
{
	const struct calls *calls = arg;

	return (void *)(intptr_t)references_check_calls(calls->db, calls->bounds);
}

/* Load and check at the same time. */
static int load_apart(struct trace *trace, const struct references_bounds *bounds, sqlite3 *db)
{
	struct calls calls = { db, bounds };
	pthread_t thread;
	bool started = !pthread_create(&thread, NULL, check_calls, &calls);
	int err = objects_load(trace->db, bounds, &trace->objects);
	void *refused = NULL;

	if (started)
		pthread_join(thread, &refused);
	else if (!err)
		refused = check_calls(&calls);
	return err ? err : (int)(intptr_t)refused;
}

int trace_load_large(struct trace *trace, const struct references_bounds *bounds)
{
	sqlite3 *calls = NULL;
	int err;

	if (bounds->object >= MANY && !trace_open_again(trace, &calls))
		err = load_apart(trace, bounds, calls);
	else
		err = references_check_calls(trace->db, bounds)
			      ?: objects_load(trace->db, bounds, &trace->objects);
	sqlite3_close(calls);
	return err;
}
