/* The data that the recorder could not observe */
#include "core/store/read/coverage.h"

#include "core/store/db/sql.h"
#include "core/store/read/trace.h"

int coverage_visit_sums(struct trace *trace,
			void (*each)(void *arg, const struct coverage_sum *sum), void *arg)
{
	static const char sql[] =
		"SELECT what, sum(times), CASE WHEN what GLOB 'direct*' THEN detail END AS"
		" name FROM coverage WHERE what NOT NULL GROUP BY what, name ORDER BY what, name";
	sqlite3_stmt *stmt;
	int err = sql_prepare(trace_db(trace), sql, &stmt);

	while (!err && (err = sql_step(stmt)) > 0) {
		each(arg, &(struct coverage_sum){
				  .what = (const char *)sqlite3_column_text(stmt, 0),
				  .function = (const char *)sqlite3_column_text(stmt, 2),
				  .times = (uint64_t)sqlite3_column_int64(stmt, 1),
			  });
		err = 0;
	}
	sqlite3_finalize(stmt);
	return err;
}

int coverage_visit_direct_calls(struct trace *trace,
				void (*each)(void *arg, const struct coverage_direct *direct),
				void *arg)
{
	static const char sql[] =
		"SELECT process, detail, sum(times), min(time), thread, n FROM coverage"
		" WHERE what = 'direct' GROUP BY process, detail ORDER BY min(time)";
	sqlite3_stmt *stmt;
	int err = sql_prepare(trace_db(trace), sql, &stmt);

	while (!err && (err = sql_step(stmt)) > 0) {
		each(arg,
		     &(struct coverage_direct){
			     .process = sql_u32(stmt, 0),
			     .function = (const char *)sqlite3_column_text(stmt, 1),
			     .times = (uint64_t)sqlite3_column_int64(stmt, 2),
			     .first = { sql_u32(stmt, 4), (uint64_t)sqlite3_column_int64(stmt, 5) },
			     .time = sql_time(stmt, 3),
		     });
		err = 0;
	}
	sqlite3_finalize(stmt);
	return err;
}

bool coverage_hides_data(struct trace *trace)
{
	return sql_int(trace_db(trace),
		       "SELECT count(*) FROM coverage WHERE what GLOB 'direct*' OR what IN"
		       " ('extended-qp', 'extended-cq', 'wq', 'providers', 'imports', 'thread',"
		       " 'vfork')",
		       0);
}
