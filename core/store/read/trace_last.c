/*
 * The last events of processes
 */
#include "core/store/db/sql.h"
#include "core/store/read/trace.h"

/* Run @sql, whose rows are a process and a time, and note the times. Returns the number of rows. */
static int note_times(struct trace *trace, const char *sql, int64_t *last, uint32_t nprocesses)
{
	sqlite3_stmt *stmt;
	int rows = 0;

	if (sqlite3_prepare_v2(trace_db(trace), sql, -1, &stmt, NULL))
		return 0;
	for (; sqlite3_step(stmt) == SQLITE_ROW; rows++) {
		int64_t process = sqlite3_column_int64(stmt, 0);
		int64_t time = sqlite3_column_int64(stmt, 1);

		if (process > 0 && process < nprocesses && time > last[process])
			last[process] = time;
	}
	sqlite3_finalize(stmt);
	return rows;
}

void trace_last_times(struct trace *trace, int64_t *last, uint32_t nprocesses)
{
	static const char *const plain[] = {
		"SELECT process, max(time) FROM post GROUP BY process",
		"SELECT process, max(time) FROM poll GROUP BY process",
		"SELECT process, max(time) FROM notify GROUP BY process",
	};
	int chunks;

	for (uint32_t i = 0; i < nprocesses; i++)
		last[i] = INT64_MIN;
	note_times(trace, "SELECT process, max(max(begin, end)) FROM call GROUP BY process", last,
		   nprocesses);
	chunks = note_times(trace,
			    "SELECT t.process, max(c.end) FROM chunk c JOIN thread t"
			    " ON t.id = c.thread GROUP BY t.process",
			    last, nprocesses);
	for (size_t i = 0; !chunks && i < sizeof(plain) / sizeof(*plain); i++)
		note_times(trace, plain[i], last, nprocesses);
}
