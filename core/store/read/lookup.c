/*
 * Queries in the tables of a trace
 *
 * They are in the store so that only the store depends on the tables.
 */
#include "core/store/read/lookup.h"

#include <stdio.h>

#include "core/store/db/schema.h"
#include "core/store/db/sql.h"

/*
 * Prepare a statement. If the trace lacks the table, or is damaged, it finds nothing and no error
 * is printed.
 */
static sqlite3_stmt *try_statement(struct trace *trace, const char *sql)
{
	sqlite3_stmt *stmt = NULL;

	sqlite3_prepare_v2(trace_db(trace), sql, -1, &stmt, NULL);
	return stmt;
}

static bool has_row(sqlite3_stmt *stmt)
{
	return stmt && sqlite3_step(stmt) == SQLITE_ROW;
}

int lookup_time(struct trace *trace, struct event_id id, int64_t *ret_time)
{
	static const char sql[] =
		"SELECT begin FROM call WHERE thread = ?1 AND n = ?2"
		" UNION ALL SELECT end FROM call WHERE thread = ?1 AND end_n = ?2"
		" UNION ALL SELECT time FROM post WHERE thread = ?1 AND n = ?2"
		" UNION ALL SELECT time FROM poll WHERE thread = ?1 AND n = ?2"
		" UNION ALL SELECT time FROM notify WHERE thread = ?1 AND n = ?2"
		" UNION ALL SELECT time FROM mark WHERE thread = ?1 AND n = ?2"
		" UNION ALL SELECT time FROM memory WHERE thread = ?1 AND n = ?2"
		" UNION ALL SELECT time FROM misuse WHERE thread = ?1 AND n = ?2"
		" UNION ALL SELECT time FROM fork WHERE thread = ?1 AND n = ?2 LIMIT 1";
	sqlite3_stmt *stmt;
	int found = sql_prepare(trace_db(trace), sql, &stmt);

	if (found < 0)
		return found;
	sql_bind(stmt, "ui", id.thread, id.n);
	found = sql_step(stmt);
	if (found > 0)
		*ret_time = sqlite3_column_int64(stmt, 0);
	sqlite3_finalize(stmt);
	return found;
}

int lookup_completion(struct trace *trace, struct event_id id, int status, bool any, uint32_t index,
		      uint32_t *ret_index)
{
	static const char sql[] = "SELECT i FROM wc WHERE thread = ?1 AND n = ?2 AND status = ?3"
				  " AND (?4 OR i = ?5) ORDER BY i LIMIT 1";
	sqlite3_stmt *stmt;
	int found = sql_prepare(trace_db(trace), sql, &stmt);

	if (found < 0)
		return found;
	sql_bind(stmt, "uiddu", id.thread, id.n, status, (int)any, index);
	found = sql_step(stmt);
	if (found > 0)
		*ret_index = sql_u32(stmt, 0);
	sqlite3_finalize(stmt);
	return found;
}

int lookup_waited(struct trace *trace, struct lookup_waited *ret_waited)
{
	sqlite3_stmt *stmt;
	int err = sql_prepare(trace_db(trace), "SELECT sum(times), sum(ns), max(ns) FROM waited",
			      &stmt);

	*ret_waited = (struct lookup_waited){ 0 };
	if (err)
		return err;
	err = sql_step(stmt);
	if (err > 0) {
		ret_waited->times = (uint64_t)sqlite3_column_int64(stmt, 0);
		ret_waited->ns = sqlite3_column_int64(stmt, 1);
		ret_waited->longest = sqlite3_column_int64(stmt, 2);
	}
	sqlite3_finalize(stmt);
	return err < 0 ? err : 0;
}

int lookup_polls(struct trace *trace, uint32_t cq, struct lookup_polls *ret_polls)
{
	static const char sql[] = "SELECT sum(empty), sum(completions), count(DISTINCT thread)"
				  " FROM poll_count WHERE cq = ?1";
	sqlite3_stmt *stmt;
	int err = sql_prepare(trace_db(trace), sql, &stmt);

	*ret_polls = (struct lookup_polls){ 0 };
	if (err)
		return err;
	sql_bind(stmt, "u", cq);
	err = sql_step(stmt);
	if (err > 0) {
		ret_polls->empty = (uint64_t)sqlite3_column_int64(stmt, 0);
		ret_polls->completions = (uint64_t)sqlite3_column_int64(stmt, 1);
		ret_polls->threads = sql_u32(stmt, 2);
	}
	sqlite3_finalize(stmt);
	return err < 0 ? err : 0;
}

/* Pass the counts of threads @from to @to to @each, of @process only; 0: of any process. */
static int each_count(sqlite3_stmt *stmt, uint32_t from, uint32_t to, uint32_t process,
		      void (*each)(void *arg, const struct lookup_count *count), void *arg)
{
	int err;

	sqlite3_reset(stmt);
	sql_bind(stmt, "uuu", from, to, process);
	while ((err = sql_step(stmt)) > 0)
		each(arg, &(struct lookup_count){
				  .thread = sql_u32(stmt, 0),
				  .process = sql_u32(stmt, 1),
				  .object = sql_u32(stmt, 2),
				  .polls = (uint64_t)sqlite3_column_int64(stmt, 3),
				  .empty = (uint64_t)sqlite3_column_int64(stmt, 4),
				  .last = sql_time(stmt, 5),
				  .cq = (uint64_t)sqlite3_column_int64(stmt, 6),
				  .life = sql_u32(stmt, 7),
			  });
	return err;
}

int lookup_counts(struct trace *trace, uint32_t process, enum lookup_poll_rows by,
		  void (*each)(void *arg, const struct lookup_count *count), void *arg)
{
	static const char *const sql[] = {
		[LOOKUP_BY_LIFE] = "SELECT thread, process, coalesce(cq, 0), polls, empty, last,"
				   " handle, life FROM poll_count WHERE thread BETWEEN ?1 AND ?2"
				   " AND ?3 IN (0, process) ORDER BY thread, handle, life",
		[LOOKUP_BY_CQ] = "SELECT thread, process, coalesce(cq, 0), sum(polls), sum(empty),"
				 " max(last), 0, 0 FROM poll_count WHERE thread BETWEEN ?1 AND ?2"
				 " AND ?3 IN (0, process)"
				 " GROUP BY thread, process, cq ORDER BY thread, cq",
	};
	const struct thread *thread;
	sqlite3_stmt *stmt;
	int err = sql_prepare(trace_db(trace), sql[by], &stmt);

	if (err)
		return err;
	/*
	 * find by process is slow: the table's index is by thread, and callers may look up all
	 * processes one by one
	 */
	if (!process || trace_is_live(trace))
		err = each_count(stmt, 0, UINT32_MAX, process, each, arg);
	else
		for (uint32_t id = 1; !err && (thread = trace_thread(trace, id)); id++)
			if (thread->process == process)
				err = each_count(stmt, id, id, process, each, arg);
	sqlite3_finalize(stmt);
	return err;
}

bool lookup_has_phase(struct trace *trace, const char *phase, uint32_t process)
{
	sqlite3_stmt *stmt = try_statement(trace, "SELECT 1 FROM mark WHERE kind = 'begin' AND"
						  " text = ?1 AND (?2 = 0 OR process = ?2)"
						  " LIMIT 1");
	bool has;

	if (stmt)
		sql_bind(stmt, "tu", phase, process);
	has = has_row(stmt);
	sqlite3_finalize(stmt);
	return has;
}

void lookup_phases(struct trace *trace, void (*each)(void *arg, const char *text, size_t bytes),
		   void *arg)
{
	sqlite3_stmt *stmt = try_statement(trace, "SELECT text FROM mark WHERE kind = 'begin'"
						  " GROUP BY text ORDER BY min(time) LIMIT 8");

	while (has_row(stmt)) {
		const char *text = (const char *)sqlite3_column_text(stmt, 0);

		if (text)
			each(arg, text, (size_t)sqlite3_column_bytes(stmt, 0));
	}
	sqlite3_finalize(stmt);
}

/* Queue pairs of unknown type are not included. */
void lookup_datagram_qps(struct trace *trace, bool (*each)(void *arg, uint32_t qp), void *arg)
{
	sqlite3_stmt *stmt = try_statement(trace, "SELECT o.id FROM object o JOIN call c"
						  " ON c.thread = o.created_thread AND"
						  " c.n = o.created_n WHERE o.kind = 'qp' AND"
						  " c.out LIKE '%\"qp_type\":\"IBV_QPT_UD\"%'");

	while (has_row(stmt) && each(arg, sql_u32(stmt, 0)))
		;
	sqlite3_finalize(stmt);
}

/* Does @sql, which has the parameter @text, find a row? */
static bool has_text(struct trace *trace, const char *sql, const char *text)
{
	sqlite3_stmt *stmt = try_statement(trace, sql);
	bool has;

	if (stmt)
		sql_bind(stmt, "t", text);
	has = has_row(stmt);
	sqlite3_finalize(stmt);
	return has;
}

bool lookup_has_call(struct trace *trace, const char *glob)
{
	return has_text(trace, "SELECT 1 FROM call WHERE verb GLOB ?1 LIMIT 1", glob);
}

bool lookup_has_module(struct trace *trace, const char *like)
{
	return has_text(trace, "SELECT 1 FROM module WHERE path LIKE ?1 LIMIT 1", like);
}

int lookup_modules(struct trace *trace,
		   void (*each)(void *arg, const char *path, const char *build_id), void *arg)
{
	sqlite3_stmt *stmt;
	int err = sql_prepare(trace_db(trace),
			      "SELECT DISTINCT path, build_id FROM module WHERE path NOT NULL"
			      " ORDER BY path",
			      &stmt);

	while (!err && (err = sql_step(stmt)) > 0) {
		each(arg, (const char *)sqlite3_column_text(stmt, 0),
		     (const char *)sqlite3_column_text(stmt, 1));
		err = 0;
	}
	sqlite3_finalize(stmt);
	return err;
}

int lookup_format(struct trace *trace)
{
	return (int)sql_int(trace_db(trace), "PRAGMA user_version", SCHEMA_VERSION);
}

bool lookup_has_ethernet(struct trace *trace)
{
	sqlite3_stmt *stmt = try_statement(trace, "SELECT 1 FROM call WHERE verb ="
						  " 'ibv_query_port' AND NOT failed AND"
						  " json_extract(out, '$.port_attr.link_layer')"
						  " = 2 LIMIT 1");
	bool has = has_row(stmt);

	sqlite3_finalize(stmt);
	return has;
}

uint64_t lookup_payload_bytes(struct trace *trace)
{
	int64_t bytes = sql_int(trace_db(trace), "SELECT sum(bytes) FROM payload_chunk", 0);

	if (!bytes) /* an unpacked trace */
		bytes = sql_int(trace_db(trace), "SELECT sum(captured) FROM main.payload", 0);
	return (uint64_t)bytes;
}

void lookup_visit_unobserved(struct trace *trace,
			     void (*each)(void *arg, const struct lookup_unobserved *unseen),
			     void *arg)
{
	sqlite3_stmt *stmt =
		try_statement(trace, "SELECT c.what, sum(c.times), coalesce(min(o.name),"
				     " min(c.detail), '-'), min(c.process) FROM coverage c"
				     " LEFT JOIN object o ON o.id = c.object WHERE c.what NOT IN"
				     " ('filtered', 'unwritten') GROUP BY c.what");

	while (has_row(stmt))
		each(arg, &(struct lookup_unobserved){
				  .what = (const char *)sqlite3_column_text(stmt, 0),
				  .times = (uint64_t)sqlite3_column_int64(stmt, 1),
				  .first = (const char *)sqlite3_column_text(stmt, 2),
				  .process = sql_u32(stmt, 3),
			  });
	sqlite3_finalize(stmt);
}

/* An older format lacks the table: schema_check(). */
bool lookup_has_counter_samples(struct trace *trace)
{
	return sql_has_table(trace_db(trace), "counter_sample");
}

#define COUNTERS_IN_ORDER                                            \
	" WHERE typeof(device) = 'text' AND typeof(folder) = 'text'" \
	" AND typeof(name) = 'text' GROUP BY 1, 2, 3, 4, 5"          \
	" ORDER BY merged, device, port, folder, name"

void lookup_counters(struct trace *trace,
		     void (*each)(void *arg, const struct lookup_counter *counter), void *arg)
{
	sqlite3_stmt *stmt;

	/* an older format lacks the table: schema_check() */
	if (!sql_has_table(trace_db(trace), "counter"))
		return;
	stmt = try_statement(
		trace, lookup_has_counter_samples(trace)
			       ? "SELECT merged, device, port, folder, name, first,"
				 " last, min(time), max(time) FROM counter"
				 " LEFT JOIN counter_sample"
				 " USING (merged, device, port, folder, name)" COUNTERS_IN_ORDER
			       : "SELECT merged, device, port, folder, name, first,"
				 " last, NULL, NULL FROM counter" COUNTERS_IN_ORDER);
	while (has_row(stmt))
		each(arg, &(struct lookup_counter){
				  .merged = sql_u32(stmt, 0),
				  .device = (const char *)sqlite3_column_text(stmt, 1),
				  .port = sql_u32(stmt, 2),
				  .folder = (const char *)sqlite3_column_text(stmt, 3),
				  .name = (const char *)sqlite3_column_text(stmt, 4),
				  .first = (uint64_t)sqlite3_column_int64(stmt, 5),
				  .last = (uint64_t)sqlite3_column_int64(stmt, 6),
				  .since = sql_time_or(stmt, 7, INT64_MIN),
				  .until = sql_time_or(stmt, 8, INT64_MIN),
			  });
	sqlite3_finalize(stmt);
}

void lookup_last_samples(struct trace *trace,
			 void (*each)(void *arg, const struct lookup_sample *sample), void *arg)
{
	sqlite3_stmt *stmt;

	/* an older format lacks the table: schema_check() */
	if (!sql_has_table(trace_db(trace), "sample"))
		return;
	stmt = try_statement(trace, "SELECT thread, max(time), doing, state, wchan FROM sample"
				    " GROUP BY thread");
	while (has_row(stmt))
		each(arg, &(struct lookup_sample){
				  .thread = sql_u32(stmt, 0),
				  .time = sql_time(stmt, 1),
				  .doing = (const char *)sqlite3_column_text(stmt, 2),
				  .state = (const char *)sqlite3_column_text(stmt, 3),
				  .wchan = (const char *)sqlite3_column_text(stmt, 4),
			  });
	sqlite3_finalize(stmt);
}

bool lookup_is_polling_at(struct trace *trace, uint32_t thread, int64_t time)
{
	sqlite3_stmt *stmt = NULL;
	bool polls;

	if (sql_has_table(trace_db(trace), "sample"))
		stmt = try_statement(trace, "SELECT doing = 'polls' FROM sample WHERE thread = ?1"
					    " AND time <= ?2 ORDER BY time DESC LIMIT 1");
	if (!stmt)
		return false;
	sqlite3_bind_int64(stmt, 1, thread);
	sqlite3_bind_int64(stmt, 2, time);
	polls = has_row(stmt) && sqlite3_column_int(stmt, 0);
	sqlite3_finalize(stmt);
	return polls;
}

int64_t lookup_stopped_since(struct trace *trace, uint32_t thread)
{
	sqlite3_stmt *stmt = NULL;
	int64_t since = INT64_MAX;

	if (sql_has_table(trace_db(trace), "sample"))
		stmt = try_statement(trace, "SELECT time, state IN ('T', 't') FROM sample"
					    " WHERE thread = ?1 ORDER BY time DESC LIMIT 1");
	if (!stmt)
		return since;
	sqlite3_bind_int64(stmt, 1, thread);
	if (has_row(stmt) && sqlite3_column_int(stmt, 1))
		since = sql_time(stmt, 0);
	sqlite3_finalize(stmt);
	return since;
}

void lookup_unwritten(struct trace *trace, char *why, size_t size)
{
	sqlite3_stmt *stmt =
		try_statement(trace, "SELECT detail FROM coverage WHERE what = 'unwritten'");
	const char *detail = has_row(stmt) ? (const char *)sqlite3_column_text(stmt, 0) : NULL;

	snprintf(why, size, "%s", detail ? detail : "");
	sqlite3_finalize(stmt);
}
