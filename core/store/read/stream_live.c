/*
 * The events of one thread of a trace that is still being written
 *
 * Each source is queried for the row after the last one read, and the statement is reset at once:
 * an open statement would prevent a restart of the write-ahead log. A row is read again when its
 * event is returned, since a call may have returned meanwhile. Events up to `settled` are in the
 * tables and do not change, except that calls return. Later events may be in the tables although
 * earlier ones are not: a call of a new shape becomes a row before the calls around it are written
 * in a block.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "core/store/read/live.h"
#include "core/store/read/stream_priv.h"
#include "core/wire/log.h"

static const char calls_sql[] =
	"SELECT " STREAM_CALL_COLUMNS " FROM call WHERE thread = ?1 AND n > ?2 ORDER BY n LIMIT 1";

/* Chunks of table `unread`, which cut.c has moved there from `chunk`, come first. */
static const char chunks_sql[] =
	"SELECT * FROM (SELECT first_n, begin, data FROM unread"
	"  WHERE thread = ?1 AND first_n > ?2 ORDER BY first_n LIMIT 1)"
	" UNION ALL SELECT * FROM (SELECT first_n, begin, data FROM chunk"
	"  WHERE thread = ?1 AND first_n > ?2 ORDER BY first_n LIMIT 1) LIMIT 1";

/*
 * number, time, kind (enum trace_event_kind), process, stack, text; then, for a fork: child, pid,
 * error and descriptors that remain open; for memory: address and length; for a misuse handle,
 * status, other thread, field, verb, verb of the other thread and the other object
 */
static const char rares_sql[] =
	"SELECT n, time, ?3, process, stack, how, child, pid, error, staying, NULL, NULL, 0"
	"  FROM fork WHERE thread = ?1 AND n > ?2"
	" UNION ALL SELECT n, start, ?5, id, 0, NULL, 0, 0, 0, NULL, NULL, NULL, 0 FROM process"
	"  WHERE thread = ?1 AND n > ?2"
	" UNION ALL SELECT n, time, ?4, process, 0, NULL, 0, 0, 0, NULL, NULL, NULL, 0 FROM mark"
	"  WHERE thread = ?1 AND n > ?2"
	" UNION ALL SELECT n, time, ?6, process, stack, what, addr, length, 0, NULL, NULL, NULL,"
	"  0 FROM memory WHERE thread = ?1 AND n > ?2"
	" UNION ALL SELECT n, time, ?7, process, stack, what, handle, status, other, field, verb,"
	"  other_verb, of FROM misuse WHERE thread = ?1 AND n > ?2"
	" ORDER BY 1 LIMIT 1";

static int open_live(struct stream *s, bool data)
{
	int err = sql_prepare(s->db, calls_sql, &s->calls);

	(void)data; /* a live reader always reads the data plane */
	if (!err)
		err = sql_prepare(s->db, chunks_sql, &s->chunks);
	if (!err)
		err = sql_prepare(s->db, rares_sql, &s->rares);
	return err;
}

/* Find the first row after the last one read: 1, 0 if there is none, or -errno. */
static int find_next_row(struct stream *s, enum source_id id, sqlite3_stmt *stmt)
{
	sqlite3_reset(stmt);
	if (id == RARE)
		sql_bind(stmt, "uiddddd", s->thread, s->last[id], TRACE_FORK, TRACE_MARK,
			 TRACE_PROCESS, TRACE_MEMORY, TRACE_MISUSE);
	else
		sql_bind(stmt, "ui", s->thread, s->last[id]);
	return sql_step(stmt);
}

static int peek_next_row(struct stream *s, enum source_id id, sqlite3_stmt *stmt, int time_column)
{
	int more = find_next_row(s, id, stmt);

	s->due[id] = stream_never;
	if (more > 0)
		s->due[id] = (struct due_event){ (uint64_t)sqlite3_column_int64(stmt, 0),
						 sql_time(stmt, time_column) };
	sqlite3_reset(stmt);
	return more < 0 ? more : 0;
}

/* Read the same row again, as it is now; the caller resets @stmt. */
static int read_next_row(struct stream *s, enum source_id id, sqlite3_stmt *stmt)
{
	int more = find_next_row(s, id, stmt);

	if (more <= 0)
		return more < 0 ? more
				: log_why(-EINVAL, "thread %u: an event is missing", s->thread);
	s->last[id] = (uint64_t)sqlite3_column_int64(stmt, 0);
	return 0;
}

/* due_...() finds the next row of a source, and stores its number and time in s->due. */
static int due_call(struct stream *s)
{
	return peek_next_row(s, CALL, s->calls, 2);
}

static int read_call(struct stream *s)
{
	int err = read_next_row(s, CALL, s->calls);

	if (!err)
		err = stream_read_call(s, &s->current);
	sqlite3_reset(s->calls);
	return err;
}

static int due_rare_event(struct stream *s)
{
	return peek_next_row(s, RARE, s->rares, 1);
}

/* Copy the text of the row: reading the next row invalidates it. */
static const char *copy_row_text(struct stream *s)
{
	const char *text = (const char *)sqlite3_column_text(s->rares, 9);

	if (!text)
		return NULL;
	snprintf(s->staying, sizeof(s->staying), "%s", text);
	return s->staying;
}

static struct writer_note_misuse read_misuse(sqlite3_stmt *stmt)
{
	return (struct writer_note_misuse){
		.what = trace_misuse_what((const char *)sqlite3_column_text(stmt, 5)),
		.handle = (uint64_t)sqlite3_column_int64(stmt, 6),
		.status = sqlite3_column_int(stmt, 7),
		.other = sql_u32(stmt, 8),
		.field = trace_misuse_field((const char *)sqlite3_column_text(stmt, 9)),
		.verb = trace_misuse_verb((const char *)sqlite3_column_text(stmt, 10)),
		.other_verb = trace_misuse_verb((const char *)sqlite3_column_text(stmt, 11)),
		.of = (uint64_t)sqlite3_column_int64(stmt, 12),
		.stack = sql_u32(stmt, 4),
	};
}

static int read_rare_event(struct stream *s)
{
	struct rare_event *rare = &s->rare_now;
	const char *text;
	int err = read_next_row(s, RARE, s->rares);

	if (err)
		return err;
	rare->kind = (enum trace_event_kind)sqlite3_column_int(s->rares, 2);
	rare->id = (struct event_id){ s->thread, s->last[RARE] };
	text = (const char *)sqlite3_column_text(s->rares, 5);
	if (rare->kind == TRACE_MARK)
		rare->mark = (struct mark_event){ TRACE_MARK_POINT, "" };
	else if (rare->kind == TRACE_MEMORY)
		rare->memory =
			(struct memory_event){ .what = trace_memory_what(text),
					       .addr = (uint64_t)sqlite3_column_int64(s->rares, 6),
					       .length =
						       (uint64_t)sqlite3_column_int64(s->rares, 7),
					       .stack = sql_u32(s->rares, 4) };
	else if (rare->kind == TRACE_MISUSE)
		rare->misuse = read_misuse(s->rares);
	else
		rare->fork = (struct fork_event){ .child = sql_u32(s->rares, 6),
						  .stack = sql_u32(s->rares, 4),
						  .how = trace_fork_how(text),
						  .kind = trace_fork_kind(text),
						  .pid = sqlite3_column_int(s->rares, 7),
						  .error = sqlite3_column_int(s->rares, 8),
						  .staying = copy_row_text(s) };
	sqlite3_reset(s->rares);
	s->rare = rare;
	return 0;
}

static int due_chunk(struct stream *s)
{
	return peek_next_row(s, DATA, s->chunks, 1);
}

static int read_chunk(struct stream *s)
{
	int err = read_next_row(s, DATA, s->chunks);

	if (!err)
		err = stream_load_chunk(s);
	sqlite3_reset(s->chunks);
	return err || s->sought ? err : live_read_chunk(s->trace->live, s->thread, s->last[DATA]);
}

const struct sources sources_live = {
	.of = {
		[CALL] = { .due = due_call, .row = read_call },
		[RARE] = { .due = due_rare_event, .row = read_rare_event },
		[DATA] = { .due = due_chunk, .row = read_chunk },
	},
	.open = open_live,
	.grows = true,
};

/* Read the calls again that had not returned when they were read. */
static int read_new_returns(struct stream *s)
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
		if (err < 0) {
			args_unref(now.call.args);
			args_unref(now.call.out);
			return err;
		}
		args_unref(open->call.args);
		args_unref(open->call.out);
		*open = now;
	}
	stream_find_due_return(s);
	return 0;
}

int stream_more(struct stream *s, uint64_t settled)
{
	uint64_t before = s->settled;
	int err = 0;

	s->settled = settled;
	s->process = s->trace->threads[s->thread - 1].process;
	for (int i = 0; i < SOURCES && !err; i++)
		if (s->sources->of[i].due && s->due[i].n > before)
			err = s->sources->of[i].due(s);
	if (!err)
		err = read_new_returns(s);
	stream_choose(s);
	return err;
}

int stream_seek(struct stream *s, uint64_t n)
{
	static const char sql[] =
		"SELECT max(first_n) FROM chunk WHERE thread = ? AND first_n <= ?";
	sqlite3_stmt *stmt;
	int err = sql_prepare(s->db, sql, &stmt);

	if (err)
		return err;
	sql_bind(stmt, "ui", s->thread, n);
	err = sql_step(stmt);
	s->sought = true;
	s->last[CALL] = s->last[RARE] = n;
	s->last[DATA] = err > 0 ? (uint64_t)sqlite3_column_int64(stmt, 0) - 1 : n;
	sqlite3_finalize(stmt);
	return err < 0 ? err : stream_more(s, n);
}
