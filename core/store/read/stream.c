/*
 * The events of one thread in order
 *
 * Three sources, each sorted by event number, are merged: table `call` (a call is two events, its
 * begin and its return), the small tables, and the data plane. One chunk of the data plane is
 * decoded at a time, and only when its first event is the next one to return; before that, only the
 * number and time of this event are read.
 *
 * Not here: reading a source (stream_whole.c, stream_live.c), creating calls from rows
 * (stream_row.c), and posts and polls from columns (stream_data.c).
 */
#include "core/base/vec.h"
#include "core/store/read/stream_priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/wire/event.h"
#include "core/wire/log.h"

static void free_chunk(struct stream *s)
{
	block_fini(&s->block);
	free(s->wrs);
	free(s->sges);
	free(s->wcs);
	s->wrs = NULL;
	s->sges = NULL;
	s->wcs = NULL;
	s->wrs_size = s->sges_size = s->wcs_size = 0;
	stream_count_held(s);
}

void stream_release(struct stream *stream)
{
	/*
	 * the source is still at this chunk, and the iterator at the event, so it can be read again
	 */
	if (stream->sources->of[DATA].again && stream->own) {
		free_chunk(stream);
		stream->loaded = false;
	}
	if (!stream->sources->grows)
		stream_release_calls(stream);
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
	stream_close_calls(stream);
	plain_close(stream->plain);
	free_chunk(stream);
	free(stream);
}

int stream_time(const struct stream *stream, int64_t *ret_time)
{
	const struct due_event *due = &stream->due[stream->next];

	*ret_time = due->time;
	return due->n != UINT64_MAX && due->n <= stream->settled;
}

static int store_open_call(struct stream *s)
{
	if (vec_reserve(s->open, s->open_size, s->nopen + 1))
		return log_err(-ENOMEM, "read calls");
	s->open[s->nopen++] = s->current;
	s->current = (struct open_call){ 0 };
	return 0;
}

static int return_call_begin(struct stream *s, struct trace_event *event)
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
		err = store_open_call(s);
		if (err)
			return err;
		event->call = &s->open[s->nopen - 1].call;
		stream_find_due_return(s);
	}
	return s->sources->of[CALL].due(s);
}

static int return_call_end(struct stream *s, struct trace_event *event)
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
	stream_find_due_return(s);
	return 0;
}

static int return_rare_event(struct stream *s, struct trace_event *event)
{
	const struct rare_event *rare;
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

/* Go to the next block; if it is a chunk, read only its head. */
static int next_block(struct stream *s)
{
	s->loaded = false;
	memset(&s->position, 0, sizeof(s->position));
	return s->sources->of[DATA].due(s);
}

static int return_data_event(struct stream *s, struct trace_event *event)
{
	uint32_t kind;
	int err = s->loaded ? 0 : s->sources->of[DATA].row(s);

	if (err)
		return err;
	s->loaded = true;
	kind = (uint32_t)s->block.views[COLUMN_kind].values[s->position.at[FAMILY_EVENT]];
	event->inner = kind & KIND_INNER;
	event->id = (struct event_id){ s->thread, s->due[DATA].n };
	if (kind_is_post(kind & KIND_MASK))
		err = stream_post(s, event, kind);
	else if (kind_is_poll(kind & KIND_MASK))
		err = stream_poll(s, event, kind);
	else
		err = stream_notify(s, event);
	block_skip_known_event(&s->position, kind);
	if (err)
		return err;
	if (s->position.at[FAMILY_EVENT] == block_count(&s->block, COLUMN_n))
		return next_block(s);
	stream_find_due_data(s);
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
	event->inner = event->again = false;
	event->carried = s->due[s->next].n <= s->carried;
	event->call = NULL;
	switch (s->next) {
	case CALL:
		err = return_call_begin(s, event);
		break;
	case RETURN:
		err = return_call_end(s, event);
		break;
	case RARE:
		err = return_rare_event(s, event);
		break;
	default:
		err = return_data_event(s, event);
		if (__builtin_expect(s->due[DATA].n < s->others && !err, 1))
			return 0; /* the current row remains the next one */
	}
	stream_choose(s);
	return err;
}
