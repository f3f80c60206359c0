/*
 * The events of one thread in order
 *
 * Three sources, each sorted by event number, are merged: table `call` (a call is
 * two events, its begin and its return), the small tables, and the data plane. One
 * chunk of the data plane is decoded at a time, and only when its first event is
 * the next; before that only its number and time are read.
 *
 * Not here: reading a source (stream_whole.c, stream_live.c), making posts and
 * polls from columns (stream_data.c).
 */
#include "core/base/vec.h"
#include "core/store/read/stream_priv.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "core/wire/event.h"
#include "core/wire/log.h"

_Static_assert(VERB_COUNT <= UINT8_MAX, "struct stream: verbs");

/* Bytes of JSON. Parsed, it takes many times that; an event has at most 65,535 words. */
enum { ARGS_MAX = 4 << 20 };

const struct due stream_never = { UINT64_MAX, INT64_MAX };

void stream_choose(struct stream *s)
{
	s->next = DATA;
	for (int i = 0; i < DATA; i++)
		if (s->due[i].n < s->due[s->next].n)
			s->next = (enum source_id)i;
}

/* The next return is that of the innermost open call that has one. */
void stream_due_returns(struct stream *s)
{
	s->due[RETURN] = stream_never;
	for (size_t i = 0; i < s->nopen; i++)
		if (s->open[i].end_n < s->due[RETURN].n)
			s->due[RETURN] = (struct due){ s->open[i].end_n, s->open[i].call.end };
}

static int bad_chunk(struct stream *s, int err)
{
	return log_err(err == -ENOMEM ? err : -EINVAL,
		       "thread %u: the chunk at event %lld is damaged; what comes before it can be "
		       "read with `verbatim dump`",
		       s->thread, (long long)sqlite3_column_int64(s->chunks, 0));
}

void stream_due_data(struct stream *s)
{
	uint32_t at = s->walk.at[FAMILY_EVENT];

	s->due[DATA].n = block_get(&s->block, COLUMN_n, at);
	s->due[DATA].time = sql_to_time((int64_t)block_get(&s->block, COLUMN_time, at));
}

void stream_hold(struct stream *s)
{
	size_t now = block_bytes(&s->block) + s->wrs_size * sizeof(*s->wrs) +
		     s->sges_size * sizeof(*s->sges) + s->wcs_size * sizeof(*s->wcs);

	*s->held += now - s->own;
	s->own = now;
}

static void give_back(struct stream *s)
{
	block_fini(&s->block);
	free(s->wrs);
	free(s->sges);
	free(s->wcs);
	s->wrs = NULL;
	s->sges = NULL;
	s->wcs = NULL;
	s->wrs_size = s->sges_size = s->wcs_size = 0;
	stream_hold(s);
}

void stream_rest(struct stream *stream)
{
	/* the source is still at this chunk, and the walk at the event */
	if (stream->sources->of[DATA].again && stream->own) {
		give_back(stream);
		stream->loaded = false;
	}
}

int stream_load_chunk(struct stream *s)
{
	int err = block_load_all(&s->block, sqlite3_column_blob(s->chunks, 2),
				 (size_t)sqlite3_column_bytes(s->chunks, 2));

	if (err)
		return bad_chunk(s, err);
	stream_note_block(s);
	stream_hold(s);
	return 0;
}

/* Find the first event of each source. */
static int start_sources(struct stream *s)
{
	int err = 0;

	for (int i = 0; i < SOURCES; i++)
		s->due[i] = stream_never;
	for (int i = 0; i < SOURCES && !err && !s->sources->grows; i++)
		if (s->sources->of[i].due)
			err = s->sources->of[i].due(s);
	stream_choose(s);
	return err;
}

int stream_open(struct trace *trace, sqlite3 *db, uint32_t thread, bool data, size_t *held,
		struct stream **ret_stream)
{
	struct stream *s = calloc(1, sizeof(*s));
	int err;

	if (!s)
		return log_err(-ENOMEM, "read thread %u", thread);
	s->trace = trace;
	s->db = db;
	s->thread = thread;
	s->held = held;
	s->process = trace->threads[thread - 1].process;
	s->sources = trace->live ? &sources_live : trace->plain ? &sources_plain : &sources_chunks;
	err = s->sources->open(s, data);
	if (!err)
		err = start_sources(s);
	if (err)
		stream_close(s);
	else
		*ret_stream = s;
	return err;
}

static void call_free(struct open_call *open)
{
	args_unref(open->call.args);
	args_unref(open->call.out);
	*open = (struct open_call){ 0 };
}

void stream_close(struct stream *stream)
{
	if (!stream)
		return;
	call_free(&stream->current);
	for (size_t i = 0; i < stream->nopen; i++)
		call_free(&stream->open[i]);
	free(stream->open);
	sqlite3_finalize(stream->calls);
	sqlite3_finalize(stream->chunks);
	sqlite3_finalize(stream->rares);
	plain_close(stream->plain);
	give_back(stream);
	free(stream);
}

int stream_time(const struct stream *stream, int64_t *ret_time)
{
	const struct due *due = &stream->due[stream->next];

	*ret_time = due->time;
	return due->n != UINT64_MAX && due->n <= stream->settled;
}

/*
 * ibv_query_port() is the name of two verbs: the exported one, for programs built
 * before 2016, and the one of struct verbs_context, which has a length argument.
 */
static int find_verb(struct stream *s, sqlite3_stmt *stmt, const struct args *args)
{
	const char *name = (const char *)sqlite3_column_text(stmt, 1);
	uint8_t *same = &s->verbs[sqlite3_column_bytes(stmt, 1) & (sizeof(s->verbs) - 1)];
	int verb = *same;

	if (name && strcmp(verb_infos[verb].name, name))
		verb = verb_find(name);
	if (!name || verb < 0)
		return -1;
	*same = (uint8_t)verb;
	if (verb == VERB_query_port_compat && args_find(args, ARG(port_attr_len)))
		return VERB_query_port;
	return verb;
}

static int read_args(sqlite3_stmt *stmt, int column, struct args **ret_args)
{
	const char *json = (const char *)sqlite3_column_text(stmt, column);

	*ret_args = json ? args_new(json, strlen(json)) : NULL;
	return json && !*ret_args ? log_err(-ENOMEM, "read calls") : 0;
}

int stream_read_call(struct stream *s, struct open_call *open)
{
	sqlite3_stmt *stmt = s->calls;
	struct call *call = &open->call;
	int verb, err;

	open->id = (struct event_id){ s->thread, (uint64_t)sqlite3_column_int64(stmt, 0) };
	if (sqlite3_column_bytes(stmt, 11) > ARGS_MAX || sqlite3_column_bytes(stmt, 12) > ARGS_MAX)
		return log_err(-EINVAL, "call %u:%" PRIu64 " has longer arguments than any event",
			       s->thread, open->id.n);
	err = read_args(stmt, 11, &call->args) ?: read_args(stmt, 12, &call->out);
	if (err)
		return err;
	verb = find_verb(s, stmt, call->args);
	if (verb < 0)
		return log_err(-EINVAL, "call %u:%" PRIu64 " is of a verb that is not known",
			       s->thread, open->id.n);
	call->verb = (enum verb)verb;
	call->begin = sql_time(stmt, 2);
	call->end = sql_time_or(stmt, 3, -1);
	call->ret = sqlite3_column_int64(stmt, 4);
	call->error = sqlite3_column_int(stmt, 5);
	call->failed = sqlite3_column_int(stmt, 6);
	call->depth = sql_u32(stmt, 7);
	call->ours = sqlite3_column_int(stmt, 8);
	call->stack = sql_u32(stmt, 9);
	call->object = sql_u32(stmt, 10);
	if (!trace_object(s->trace, call->object)) /* not in this trace: unknown */
		call->object = 0;
	call->handle = (uint64_t)sqlite3_column_int64(stmt, 13);
	open->end_n = call->end < 0 ? UINT64_MAX : (uint64_t)sqlite3_column_int64(stmt, 14);
	return 0;
}

static int keep_open(struct stream *s)
{
	if (vec_reserve(s->open, s->open_size, s->nopen + 1))
		return log_err(-ENOMEM, "read calls");
	s->open[s->nopen++] = s->current;
	s->current = (struct open_call){ 0 };
	return 0;
}

static int give_call(struct stream *s, struct trace_event *event)
{
	struct open_call *open = &s->current;
	int err = s->sources->of[CALL].row(s);

	if (err)
		return err;
	event->kind = TRACE_CALL;
	event->id = open->id;
	event->inner = open->call.depth;
	event->call = &open->call;
	if (s->sources->grows || open->end_n != UINT64_MAX) {
		err = keep_open(s);
		if (err)
			return err;
		event->call = &s->open[s->nopen - 1].call;
		stream_due_returns(s);
	}
	return s->sources->of[CALL].due(s);
}

static int give_return(struct stream *s, struct trace_event *event)
{
	size_t i = 0;

	while (s->open[i].end_n != s->due[RETURN].n)
		i++;
	s->current = s->open[i];
	s->nopen--;
	memmove(&s->open[i], &s->open[i + 1], (s->nopen - i) * sizeof(*s->open));
	event->kind = TRACE_RETURN;
	event->id = s->current.id;
	event->inner = s->current.call.depth;
	event->call = &s->current.call;
	stream_due_returns(s);
	return 0;
}

static int give_rare(struct stream *s, struct trace_event *event)
{
	const struct rare *rare;
	int err = s->sources->of[RARE].row(s);

	if (err)
		return err;
	rare = s->rare;
	event->kind = rare->kind;
	event->id = rare->id;
	if (rare->kind == TRACE_MARK)
		event->mark = &rare->mark;
	else if (rare->kind == TRACE_MEMORY)
		event->memory = &rare->memory;
	else if (rare->kind == TRACE_MISUSE)
		event->misuse = &rare->misuse;
	else
		event->fork = &rare->fork;
	return s->sources->of[RARE].due(s);
}

/* Go to the next block, or only to its head. */
static int next_block(struct stream *s)
{
	s->loaded = false;
	memset(&s->walk, 0, sizeof(s->walk));
	return s->sources->of[DATA].due(s);
}

static int give_data(struct stream *s, struct trace_event *event)
{
	uint32_t kind;
	int err = s->loaded ? 0 : s->sources->of[DATA].row(s);

	if (err)
		return err;
	s->loaded = true;
	kind = walk_kind(&s->block, &s->walk);
	event->inner = kind & KIND_INNER;
	event->id = (struct event_id){ s->thread, s->due[DATA].n };
	if (kind_is_post(kind & KIND_MASK))
		err = stream_post(s, event, kind & KIND_MASK);
	else if (kind_is_poll(kind & KIND_MASK))
		err = stream_poll(s, event, kind);
	else
		err = stream_notify(s, event);
	walk_next_event(&s->block, &s->walk, false);
	if (err)
		return err;
	if (s->walk.at[FAMILY_EVENT] == block_count(&s->block, COLUMN_n))
		return next_block(s);
	stream_due_data(s);
	return 0;
}

int stream_next(struct stream *s, struct room *room, struct trace_event *event)
{
	int err;

	s->room = room;
	if (s->current.call.args || s->current.call.out)
		call_free(&s->current);
	event->process = s->process;
	event->time = s->due[s->next].time;
	event->inner = false;
	event->carried = s->due[s->next].n <= s->carried;
	event->call = NULL;
	switch (s->next) {
	case CALL:
		err = give_call(s, event);
		break;
	case RETURN:
		err = give_return(s, event);
		break;
	case RARE:
		err = give_rare(s, event);
		break;
	default:
		err = give_data(s, event);
	}
	stream_choose(s);
	return err;
}
