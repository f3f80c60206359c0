/*
 * The size of a recording
 *
 * The events of a thread are numbered from 1. Of the events 1 to the last one,
 *
 *	1 ... carried		are in the previous trace, after a rotation: table `carried`
 *	`late` of them		came before the recording, and count as lost
 *	`overwritten` of them	were deleted; after a rotation they are among the carried ones
 *
 * and the remaining events are in this trace.
 */
#include "core/store/db/totals.h"

#include <stddef.h>

#include "core/store/db/sql.h"

/* clang-format off */
static const char totals_sql[] =
	"WITH late AS MATERIALIZED (SELECT thread, sum(times) AS times FROM coverage"
	"  WHERE what = 'late' GROUP BY thread),"
	" own AS (SELECT t.events AS all_of, coalesce(c.n, 0) AS carried,"
	"  coalesce(l.overwritten, 0) + coalesce(late.times, 0) AS absent FROM thread t"
	"  LEFT JOIN carried c ON c.thread = t.id LEFT JOIN loss l ON l.thread = t.id"
	"  LEFT JOIN late ON late.thread = t.id)"
	" SELECT (SELECT sum(max(0, all_of - max(carried, absent))) FROM own),"
	" (SELECT sum(events - overwritten) FROM loss),"
	" (SELECT sum(times) FROM coverage WHERE what = 'unwritten'),"
	" (SELECT sum(overwritten) FROM loss WHERE NOT EXISTS"
	"  (SELECT 1 FROM meta WHERE key = 'carried')),"
	" (SELECT value FROM meta WHERE key = 'duration'),"
	/* a process whose threads ended earlier than its row says: complete.c */
	" (SELECT max(max(p.end, coalesce(t.end, p.end))) FROM process p"
	"  LEFT JOIN thread t ON t.process = p.id WHERE p.end NOT NULL),"
	" (SELECT count(*) FROM process), (SELECT count(*) FROM thread)";
/* clang-format on */

static uint64_t read_count(sqlite3_stmt *stmt, int column)
{
	int64_t n = sqlite3_column_int64(stmt, column);

	return n > 0 ? (uint64_t)n : 0;
}

struct totals totals_read(struct sqlite3 *db)
{
	struct totals totals = { 0 };
	sqlite3_stmt *stmt = NULL;
	int64_t end;

	if (!sqlite3_prepare_v2(db, totals_sql, -1, &stmt, NULL) &&
	    sqlite3_step(stmt) == SQLITE_ROW) {
		totals.events = read_count(stmt, 0);
		totals.lost = read_count(stmt, 1) + read_count(stmt, 2);
		totals.overwritten = read_count(stmt, 3);
		totals.duration = sql_time_or(stmt, 4, 0);
		end = sql_time_or(stmt, 5, 0);
		totals.duration = end > totals.duration ? end : totals.duration;
		totals.processes = sql_u32(stmt, 6);
		totals.threads = sql_u32(stmt, 7);
	}
	sqlite3_finalize(stmt);
	return totals;
}
