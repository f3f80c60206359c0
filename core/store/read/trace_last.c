/*
 * When a process had its last event
 *
 * A finished trace has the times of its chunks, an unpacked one those of its events.
 */
#include "core/store/db/sql.h"
#include "core/store/read/trace.h"

/* The first column of the first row; INT64_MIN: none. */
static int64_t ask_time(struct trace *trace, const char *sql, uint32_t process)
{
	int64_t time = INT64_MIN;
	sqlite3_stmt *stmt;

	if (sqlite3_prepare_v2(trace_db(trace), sql, -1, &stmt, NULL))
		return time;
	sqlite3_bind_int64(stmt, 1, process);
	if (sqlite3_step(stmt) == SQLITE_ROW && sqlite3_column_type(stmt, 0) != SQLITE_NULL)
		time = sqlite3_column_int64(stmt, 0);
	sqlite3_finalize(stmt);
	return time;
}

int64_t trace_last_time(struct trace *trace, uint32_t process)
{
	static const char *const all[] = {
		"SELECT max(max(begin, end)) FROM call WHERE process = ?",
		"SELECT max(end) FROM chunk WHERE thread IN (SELECT id FROM thread"
		" WHERE process = ?)",
		"SELECT max(time) FROM post WHERE process = ?",
		"SELECT max(time) FROM poll WHERE process = ?",
		"SELECT max(time) FROM notify WHERE process = ?",
	};
	int64_t last = INT64_MIN + 1;
	bool chunks = false;

	for (size_t i = 0; i < sizeof(all) / sizeof(*all); i++) {
		int64_t time = i > 1 && chunks ? INT64_MIN : ask_time(trace, all[i], process);

		chunks |= i == 1 && time != INT64_MIN;
		last = time > last ? time : last;
	}
	return last;
}
