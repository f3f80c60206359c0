/*
 * The events of one thread of a trace that is still written
 *
 * Each source is asked for its next row after the last one that was read, and
 * the statement is reset at once: an open one would keep the write-ahead log
 * from starting over. A row is read again when its event is due, since a call
 * may have returned meanwhile. What is numbered up to `settled` is in the
 * tables and will not change, but for the returns.
 */
#include <errno.h>
#include <stdlib.h>

#include "core/store/read/stream_priv.h"
#include "core/wire/log.h"

static const char calls_sql[] =
	"SELECT n, verb, begin, end, ret, error, failed, depth, ours, stack, object, args, out,"
	" handle, end_n FROM call WHERE thread = ?1 AND n > ?2 ORDER BY n LIMIT 1";

/* What was to be forgotten before it was read comes first: keep.c. */
static const char chunks_sql[] =
	"SELECT * FROM (SELECT first_n, begin, data, events FROM unread"
	"  WHERE thread = ?1 AND first_n > ?2 ORDER BY first_n LIMIT 1)"
	" UNION ALL SELECT * FROM (SELECT first_n, begin, data, events FROM chunk"
	"  WHERE thread = ?1 AND first_n > ?2 ORDER BY first_n LIMIT 1) LIMIT 1";

/* number, time, kind (enum trace_event_kind), process, child, stack, how */
static const char rares_sql[] =
	"SELECT n, time, ?3, process, child, stack, how FROM fork WHERE thread = ?1 AND n > ?2"
	" UNION ALL SELECT n, start, ?5, id, 0, 0, NULL FROM process WHERE thread = ?1 AND n > ?2"
	" UNION ALL SELECT n, time, ?4, process, 0, 0, NULL FROM mark WHERE thread = ?1 AND n > ?2"
	" ORDER BY 1 LIMIT 1";

int stream_live_open(struct stream *s)
{
	int err = sql_prepare(s->trace->db, calls_sql, &s->calls);

	if (!err)
		err = sql_prepare(s->trace->db, chunks_sql, &s->chunks);
	if (!err)
		err = sql_prepare(s->trace->db, rares_sql, &s->rares);
	for (int i = 0; i < SOURCES; i++)
		s->due[i] = stream_never;
	s->next = DATA;
	return err;
}

int stream_live_row(struct stream *s, enum source source)
{
	sqlite3_stmt *stmt = source == CALL ? s->calls : source == DATA ? s->chunks : s->rares;
	uint64_t *last = source == CALL ? &s->call_n : source == DATA ? &s->chunk_n : &s->rare_n;
	int more;

	sqlite3_reset(stmt);
	if (source == RARE)
		sql_bind(stmt, "uiddd", s->thread, *last, TRACE_FORK, TRACE_MARK, TRACE_PROCESS);
	else
		sql_bind(stmt, "ui", s->thread, *last);
	more = sql_step(stmt);
	if (more <= 0)
		return more < 0 ? more : log_err(-EINVAL, "thread %u: an event is gone", s->thread);
	*last = (uint64_t)sqlite3_column_int64(stmt, 0);
	return 1;
}

int stream_live_due(struct stream *s, enum source source)
{
	static const int time_column[] = { [CALL] = 2, [DATA] = 1, [RARE] = 1 };
	sqlite3_stmt *stmt = source == CALL ? s->calls : source == DATA ? s->chunks : s->rares;
	uint64_t last = source == CALL ? s->call_n : source == DATA ? s->chunk_n : s->rare_n;
	int more;

	s->due[source] = stream_never;
	sqlite3_reset(stmt);
	if (source == RARE)
		sql_bind(stmt, "uiddd", s->thread, last, TRACE_FORK, TRACE_MARK, TRACE_PROCESS);
	else
		sql_bind(stmt, "ui", s->thread, last);
	more = sql_step(stmt);
	if (more > 0)
		s->due[source] = (struct due){ (uint64_t)sqlite3_column_int64(stmt, 0),
					       sql_time(stmt, time_column[source]) };
	sqlite3_reset(stmt);
	return more < 0 ? more : 0;
}

int stream_live_rare(struct stream *s, struct trace_event *event)
{
	struct rare *rare = &s->rare_now;
	int err = stream_live_row(s, RARE);

	if (err < 0)
		return err;
	rare->kind = (enum trace_event_kind)sqlite3_column_int(s->rares, 2);
	event->kind = rare->kind;
	event->id = (struct event_id){ s->thread, s->rare_n };
	if (rare->kind == TRACE_MARK) {
		rare->mark = (struct mark_event){ TRACE_MARK_POINT, "" };
		event->mark = &rare->mark;
	} else {
		rare->fork = (struct fork_event){
			.child = sql_u32(s->rares, 4),
			.stack = sql_u32(s->rares, 5),
			.kind = trace_fork_kind((const char *)sqlite3_column_text(s->rares, 6))
		};
		event->fork = &rare->fork;
	}
	sqlite3_reset(s->rares);
	return stream_live_due(s, RARE);
}

/* Those that had not returned when they were read. */
static int look_for_returns(struct stream *s)
{
	for (size_t i = 0; i < s->nopen; i++) {
		struct open_call *open = &s->open[i], now = { 0 };
		int err;

		if (open->end_n != UINT64_MAX)
			continue;
		sqlite3_reset(s->calls);
		sql_bind(s->calls, "ui", s->thread, open->id.n - 1);
		err = sql_step(s->calls);
		if (err > 0)
			err = stream_read_call(s, &now);
		sqlite3_reset(s->calls);
		if (err < 0)
			return err;
		args_unref(open->call.args);
		args_unref(open->call.out);
		*open = now;
	}
	stream_due_returns(s);
	return 0;
}

int stream_more(struct stream *s, uint64_t settled)
{
	int err = 0;

	s->settled = settled;
	s->process = s->trace->threads[s->thread - 1].process;
	if (s->due[CALL].n == UINT64_MAX)
		err = stream_live_due(s, CALL);
	if (!err && s->due[RARE].n == UINT64_MAX)
		err = stream_live_due(s, RARE);
	if (!err && s->due[DATA].n == UINT64_MAX)
		err = stream_live_due(s, DATA);
	if (!err)
		err = look_for_returns(s);
	stream_choose(s);
	return err;
}

int stream_seek(struct stream *s, uint64_t n)
{
	static const char sql[] =
		"SELECT max(first_n) FROM chunk WHERE thread = ? AND first_n <= ?";
	sqlite3_stmt *stmt;
	int err = sql_prepare(s->trace->db, sql, &stmt);

	if (err)
		return err;
	sql_bind(stmt, "ui", s->thread, n);
	err = sql_step(stmt);
	s->sought = true;
	s->call_n = s->rare_n = n;
	s->chunk_n = err > 0 ? (uint64_t)sqlite3_column_int64(stmt, 0) - 1 : n;
	sqlite3_finalize(stmt);
	return err < 0 ? err : stream_more(s, n);
}
