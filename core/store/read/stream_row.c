/*
 * Shared by the sources of a stream: calls from rows, and loading the next chunk
 *
 * Not here: which row is next (stream_whole.c, stream_live.c).
 */
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "core/store/read/stream_priv.h"
#include "core/wire/log.h"

const struct due_event stream_never = { UINT64_MAX, INT64_MAX };

/* Find the next return: of open calls, only the innermost one can return. */
void stream_find_due_return(struct stream *s)
{
	s->due[RETURN] = stream_never;
	for (size_t i = 0; i < s->nopen; i++)
		if (s->open[i].end_n < s->due[RETURN].n)
			s->due[RETURN] =
				(struct due_event){ s->open[i].end_n, s->open[i].call.end };
}

/*
 * ibv_query_port() is the name of two verbs: the exported one, for programs built before 2016, and
 * the one of struct verbs_context, which has one more argument, a length.
 */
static bool is_newer_verb(int verb, const struct args *args)
{
	return verb == VERB_query_port_compat && args_find(args, ARG(port_attr_len));
}

enum verb stream_verb_of(int verb, const struct args *args)
{
	return is_newer_verb(verb, args) ? VERB_query_port : (enum verb)verb;
}

static int read_args(sqlite3_stmt *stmt, int column, int verb, enum args_side side,
		     struct args **ret_args)
{
	const char *json = (const char *)sqlite3_column_text(stmt, column);

	*ret_args = json ? args_new_of((enum verb)verb, side, json, strlen(json)) : NULL;
	return json && !*ret_args ? log_err(-ENOMEM, "read calls") : 0;
}

int stream_read_call(struct stream *s, struct open_call *open)
{
	sqlite3_stmt *stmt = s->calls;
	struct call *call = &open->call;
	const char *name = (const char *)sqlite3_column_text(stmt, 1);
	int verb, err;

	open->id = (struct event_id){ s->thread, (uint64_t)sqlite3_column_int64(stmt, 0) };
	if (sqlite3_column_bytes(stmt, 11) > CALL_ARGS_MAX ||
	    sqlite3_column_bytes(stmt, 12) > CALL_ARGS_MAX)
		return log_why(-EINVAL, "call %u:%" PRIu64 " has longer arguments than any event",
			       s->thread, open->id.n);
	verb = name ? verb_find(name) : -1;
	if (verb < 0)
		return log_why(-EINVAL, "call %u:%" PRIu64 " has an unknown verb", s->thread,
			       open->id.n);
	err = read_args(stmt, 11, verb, ARGS_IN, &call->args)
		      ?: read_args(stmt, 12, verb, ARGS_OUT, &call->out);
	if (err)
		return err;
	call->verb = stream_verb_of(verb, call->args);
	call->begin = sql_time(stmt, 2);
	call->end = sql_time_or(stmt, 3, -1);
	call->ret = sqlite3_column_int64(stmt, 4);
	call->error = sqlite3_column_int(stmt, 5);
	call->failed = sqlite3_column_int(stmt, 6);
	call->depth = sql_u32(stmt, 7);
	call->ours = sqlite3_column_int(stmt, 8);
	call->stack = sql_u32(stmt, 9);
	call->object = sql_u32(stmt, 10);
	if (!trace_object(s->trace, call->object)) /* not in this trace */
		call->object = 0;
	call->handle = (uint64_t)sqlite3_column_int64(stmt, 13);
	open->end_n = call->end < 0 ? UINT64_MAX : (uint64_t)sqlite3_column_int64(stmt, 14);
	return 0;
}

static int refuse_chunk(struct stream *s, int err)
{
	return log_err(err == -ENOMEM ? err : -EINVAL,
		       "thread %u: the chunk at event %lld is damaged; events before it can be "
		       "read with `verbatim dump`",
		       s->thread, (long long)sqlite3_column_int64(s->chunks, 0));
}

int stream_load_chunk(struct stream *s)
{
	int err = block_load_all(&s->block, sqlite3_column_blob(s->chunks, 2),
				 (size_t)sqlite3_column_bytes(s->chunks, 2));

	if (err)
		return refuse_chunk(s, err);
	err = stream_note_block(s);
	stream_count_held(s);
	return err;
}
