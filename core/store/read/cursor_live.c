/*
 * A cursor over a trace that is still being written: cursor_extend() rebuilds the heap from the
 * threads with events up to its time, and objects are created from calls when they are returned
 * (live.h).
 */
#include <errno.h>
#include <stdlib.h>

#include "core/store/read/cursor_priv.h"
#include "core/store/read/live.h"
#include "core/wire/log.h"

static int open_live(struct cursor *cursor)
{
	(void)cursor; /* there is nothing to read before cursor_extend() */
	return 0;
}

static uint32_t object_at(struct cursor *cursor, enum object_kind kind, uint64_t handle)
{
	const struct object *o = live_at(cursor->trace->live, cursor->event.process, kind, handle);

	return o ? o->id : 0;
}

static uint32_t qp_at(struct cursor *cursor, uint32_t number, uint32_t cq)
{
	const struct object *o = live_qp(cursor->trace->live, cursor->event.process, number, cq);

	return o ? o->id : 0;
}

static int take_call(struct cursor *cursor)
{
	/* the call is in the stream's memory, so it may be changed */
	return live_note_call(cursor->trace->live, &cursor->event,
			      (struct call *)cursor->event.call);
}

/*
 * The next process that ended and whose threads have been read completely: no other event of it can
 * follow.
 */
static const struct process *next_exit(struct cursor *cursor)
{
	const struct trace *trace = cursor->trace;

	if (cursor->count)
		return NULL;
	for (uint32_t i = cursor->exit; i < cursor->nexits; i++) {
		const struct process *p = &trace->processes[i];

		if (!p->id || p->end < 0 || p->end > cursor->limit || cursor->exits[i])
			continue;
		cursor->exits[i] = p;
		while (cursor->exit < cursor->nexits && cursor->exits[cursor->exit])
			cursor->exit++;
		live_end_process(trace->live, p->id);
		return p;
	}
	return NULL;
}

const struct cursor_methods reading_live = {
	.open = open_live,
	.object_at = object_at,
	.qp_at = qp_at,
	.take_call = take_call,
	.next_exit = next_exit,
};

static int make_room(struct cursor *cursor)
{
	struct trace *trace = cursor->trace;
	uint32_t n = trace->nthreads;
	void *streams = realloc(cursor->streams, (n + 1) * sizeof(*cursor->streams));
	void *heap, *exits;

	if (streams)
		cursor->streams = streams;
	heap = realloc(cursor->heap, (n + 1) * sizeof(*cursor->heap));
	if (heap)
		cursor->heap = heap;
	exits = realloc(cursor->exits, (trace->nprocesses + 1) * sizeof(*cursor->exits));
	if (exits)
		cursor->exits = exits;
	if (!streams || !heap || !exits)
		return log_err(-ENOMEM, "follow the trace");
	for (; cursor->nexits < trace->nprocesses; cursor->nexits++)
		cursor->exits[cursor->nexits] = NULL;
	for (; cursor->nstreams < n; cursor->nstreams++) {
		cursor->streams[cursor->nstreams] = NULL;
		if (stream_open(trace, trace->db, cursor->nstreams + 1, true, &cursor->held,
				&cursor->streams[cursor->nstreams]))
			return -ENOMEM;
	}
	return 0;
}

/* Put a thread into the heap if it has an event up to the limit. */
static int extend_thread(struct cursor *cursor, uint32_t thread)
{
	struct stream **stream = &cursor->streams[thread - 1];
	struct leaf leaf = { .thread = thread, .stream = *stream };
	uint64_t settled;
	bool ended, more;
	int err;

	if (!*stream)
		return 0;
	settled = live_last_stored(cursor->trace->live, thread, &ended);
	err = stream_more(*stream, settled);
	if (err)
		return err;
	more = stream_time(*stream, &leaf.time);
	if (more && leaf.time <= cursor->limit) {
		cursor->heap[cursor->count++] = leaf;
	} else if (!more && ended) {
		stream_close(*stream);
		*stream = NULL;
	}
	return 0;
}

int cursor_extend(struct cursor *cursor, int64_t time)
{
	int err = live_refresh(cursor->trace->live, time == INT64_MAX);

	if (!err)
		err = make_room(cursor);
	if (time > cursor->limit)
		cursor->limit = time;
	cursor->count = 0;
	for (uint32_t thread = 1; thread <= cursor->nstreams && !err; thread++)
		err = extend_thread(cursor, thread);
	cursor_order(cursor);
	return err;
}

uint64_t cursor_late_events(const struct cursor *cursor)
{
	return cursor->late;
}

int cursor_post(struct cursor *cursor, struct event_id id, const struct post **ret_post)
{
	struct trace_event event;
	int64_t time;
	int err;

	stream_close(cursor->sought);
	cursor->sought = NULL;
	err = stream_open(cursor->trace, cursor->trace->db, id.thread, true, &cursor->held,
			  &cursor->sought);
	if (!err)
		err = stream_seek(cursor->sought, id.n);
	while (!err && stream_time(cursor->sought, &time)) {
		err = stream_next(cursor->sought, NULL, &event);
		if (!err && event.kind == TRACE_POST && event.id.n == id.n) {
			*ret_post = event.post;
			return 1;
		}
	}
	return err;
}
