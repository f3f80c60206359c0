/* How long the recorder made threads wait */
#include "core/store/read/waited.h"

#include <errno.h>
#include <stdlib.h>

#include "core/store/db/sql.h"
#include "core/store/read/trace.h"
#include "core/wire/log.h"

struct waited {
	sqlite3_stmt *stmt;
};

int waited_open(struct trace *trace, struct waited **ret_waited)
{
	/* without waits that the previous trace also contains */
	static const char sql[] =
		"SELECT w.thread, w.n, w.process, w.time, w.ns, w.times, w.why = 'full' FROM"
		" waited w LEFT JOIN carried c ON c.thread = w.thread WHERE w.n > coalesce(c.n, 0)"
		" ORDER BY w.time";
	struct waited *waited = calloc(1, sizeof(*waited));
	int err = waited ? sql_prepare(trace_db(trace), sql, &waited->stmt)
			 : log_err(-ENOMEM, "read the waits for the recorder");

	if (err)
		free(waited);
	else
		*ret_waited = waited;
	return err;
}

int waited_next(struct waited *waited, struct waited_row *ret_row)
{
	sqlite3_stmt *stmt = waited->stmt;
	int found = sql_step(stmt);

	if (found > 0)
		*ret_row = (struct waited_row){
			.id = { sql_u32(stmt, 0), (uint64_t)sqlite3_column_int64(stmt, 1) },
			.process = sql_u32(stmt, 2),
			.time = sql_time(stmt, 3),
			.ns = sql_time(stmt, 4),
			.times = sql_u32(stmt, 5),
			.full = sqlite3_column_int(stmt, 6),
		};
	return found;
}

void waited_close(struct waited *waited)
{
	if (!waited)
		return;
	sqlite3_finalize(waited->stmt);
	free(waited);
}
