/*
 * All events of a trace in time order
 *
 * A heap of the threads by the time of each one's next event; equal times go
 * by thread. The ends of processes, which no thread sees, are merged in from
 * a sorted list, after all else of that time.
 *
 * Completions are matched on the way. So everything since the start is read,
 * even where a filter gives only a part of it; only a filter on processes, or
 * on control verbs, leaves the rest unread.
 */
#include <errno.h>
#include <stdlib.h>

#include "core/store/match.h"
#include "core/store/stream.h"
#include "core/wire/log.h"

struct leaf {
	int64_t time;
	uint32_t thread;
	struct stream *stream;
};

struct cursor {
	struct trace *trace;
	struct trace_filter filter;
	struct leaf *heap;
	uint32_t count;
	const struct process **exits; /* by end */
	uint32_t nexits, exit;
	struct match *match;
	struct objects_cache cache;
	struct trace_event event;
	struct poll poll;             /* the current one, with what was found */
	struct post post;
	struct notify notify;
};

static bool before(const struct leaf *a, const struct leaf *b)
{
	return a->time != b->time ? a->time < b->time : a->thread < b->thread;
}

static void sift_down(struct cursor *cursor, uint32_t at)
{
	struct leaf *heap = cursor->heap, moving = heap[at];

	for (;;) {
		uint32_t child = 2 * at + 1;

		if (child >= cursor->count)
			break;
		if (child + 1 < cursor->count && before(&heap[child + 1], &heap[child]))
			child++;
		if (!before(&heap[child], &moving))
			break;
		heap[at] = heap[child];
		at = child;
	}
	heap[at] = moving;
}

static int add_streams(struct cursor *cursor)
{
	struct trace *trace = cursor->trace;
	const struct trace_filter *filter = &cursor->filter;

	for (uint32_t i = 0; i < trace->nthreads; i++) {
		const struct thread *thread = &trace->threads[i];
		struct leaf *leaf = &cursor->heap[cursor->count];
		int err;

		if (!thread->id || (filter->process && thread->process != filter->process))
			continue;
		if (filter->control_only && filter->thread && thread->id != filter->thread)
			continue;
		err = stream_open(trace, thread->id, !filter->control_only, &leaf->stream);
		if (err)
			return err;
		leaf->thread = thread->id;
		if (stream_time(leaf->stream, &leaf->time))
			cursor->count++;
		else
			stream_close(leaf->stream);
	}
	for (uint32_t i = cursor->count / 2; i > 0; i--)
		sift_down(cursor, i - 1);
	return 0;
}

static int by_end(const void *a, const void *b)
{
	const struct process *x = *(const struct process *const *)a;
	const struct process *y = *(const struct process *const *)b;

	if (x->end != y->end)
		return x->end < y->end ? -1 : 1;
	return x->id < y->id ? -1 : x->id > y->id;
}

static void add_exits(struct cursor *cursor)
{
	struct trace *trace = cursor->trace;

	for (uint32_t i = 0; i < trace->nprocesses; i++) {
		const struct process *p = &trace->processes[i];

		if (p->id && p->end >= 0 && !cursor->filter.thread &&
		    (!cursor->filter.process || cursor->filter.process == p->id))
			cursor->exits[cursor->nexits++] = p;
	}
	qsort(cursor->exits, cursor->nexits, sizeof(*cursor->exits), by_end);
}

int cursor_open(struct trace *trace, const struct trace_filter *filter, struct cursor **ret_cursor)
{
	struct cursor *cursor = calloc(1, sizeof(*cursor));
	int err = 0;

	if (!cursor)
		return log_err(-ENOMEM, "read the trace");
	cursor->trace = trace;
	if (filter)
		cursor->filter = *filter;
	cursor->heap = calloc(trace->nthreads + 1, sizeof(*cursor->heap));
	cursor->exits = calloc(trace->nprocesses + 1, sizeof(*cursor->exits));
	if (!cursor->heap || !cursor->exits)
		err = log_err(-ENOMEM, "read the trace");
	if (!err && !cursor->filter.control_only)
		err = match_new(&cursor->match);
	if (!err)
		err = add_streams(cursor);
	if (err) {
		cursor_close(cursor);
		return err;
	}
	add_exits(cursor);
	*ret_cursor = cursor;
	return 0;
}

void cursor_close(struct cursor *cursor)
{
	if (!cursor)
		return;
	for (uint32_t i = 0; cursor->heap && i < cursor->count; i++)
		stream_close(cursor->heap[i].stream);
	free(cursor->heap);
	free(cursor->exits);
	match_free(cursor->match);
	free(cursor);
}

static uint32_t object_of(struct cursor *cursor, enum object_kind kind, uint64_t handle)
{
	return objects_cached_at(&cursor->cache, &cursor->trace->objects, cursor->event.process,
				 kind, handle, cursor->event.time);
}

static void match_poll(struct cursor *cursor, struct poll *poll)
{
	struct wc *wcs = (struct wc *)poll->wc; /* the stream's own, filled for this event */

	for (uint32_t i = 0; i < poll->nwc; i++) {
		struct wc *wc = &wcs[i];
		struct match_found found;

		wc->qp = objects_cached_qp(&cursor->cache, &cursor->trace->objects,
					   cursor->event.process, wc->qp_num, poll->object,
					   cursor->event.time);
		if (!wc->qp && !wc->qp_num)
			wc->qp = match_guess(cursor->match, poll->object, wc);
		match_wc(cursor->match, wc->qp, poll->object, wc, &found);
		wc->request = found.request;
		wc->request_index = found.index;
		wc->posted_at = found.posted_at;
	}
}

/* Objects and matches of the current event. */
static int resolve(struct cursor *cursor)
{
	struct trace_event *event = &cursor->event;

	switch (event->kind) {
	case TRACE_POST:
		cursor->post = *event->post;
		cursor->post.object = object_of(cursor, verb_infos[event->post->verb].object,
						event->post->handle);
		event->post = &cursor->post;
		return match_event(cursor->match, cursor->trace, event);
	case TRACE_POLL:
		cursor->poll = *event->poll;
		cursor->poll.object = object_of(cursor, OBJECT_cq, event->poll->handle);
		match_poll(cursor, &cursor->poll);
		event->poll = &cursor->poll;
		return 0;
	case TRACE_NOTIFY:
		cursor->notify = *event->notify;
		cursor->notify.object = object_of(cursor, OBJECT_cq, event->notify->handle);
		event->notify = &cursor->notify;
		return 0;
	case TRACE_CALL:
	case TRACE_RETURN:
		return cursor->match ? match_event(cursor->match, cursor->trace, event) : 0;
	default:
		return 0;
	}
}

static int next_of_threads(struct cursor *cursor)
{
	struct leaf *top = &cursor->heap[0];
	int err = stream_next(top->stream, &cursor->event);

	if (err)
		return err;
	err = resolve(cursor);
	return err == -ENOMEM ? log_err(err, "match completions") : err;
}

/*
 * The event given last lives in the top stream, so the heap is put in order
 * only when the next one is asked for.
 */
static void settle(struct cursor *cursor)
{
	struct leaf *top = &cursor->heap[0];

	if (!cursor->count)
		return;
	if (!stream_time(top->stream, &top->time)) {
		stream_close(top->stream);
		*top = cursor->heap[--cursor->count];
	}
	if (cursor->count)
		sift_down(cursor, 0);
}

static bool exit_is_next(const struct cursor *cursor)
{
	return cursor->exit < cursor->nexits &&
	       (!cursor->count || cursor->exits[cursor->exit]->end < cursor->heap[0].time);
}

/* One event, wanted or not: 1, 0 at the end. */
static int any_next(struct cursor *cursor)
{
	int err;

	settle(cursor);
	if (exit_is_next(cursor)) {
		const struct process *p = cursor->exits[cursor->exit++];

		cursor->event = (struct trace_event){ .kind = TRACE_EXIT, .process = p->id,
						      .time = p->end };
		return 1;
	}
	if (!cursor->count)
		return 0;
	err = next_of_threads(cursor);
	return err ? err : 1;
}

static bool wanted(const struct cursor *cursor)
{
	const struct trace_filter *filter = &cursor->filter;
	const struct trace_event *event = &cursor->event;

	return event->time >= filter->from &&
	       (!filter->thread || event->id.thread == filter->thread);
}

int cursor_next(struct cursor *cursor, const struct trace_event **ret_event)
{
	int more;

	do {
		more = any_next(cursor);
		if (more <= 0)
			return more;
		if (cursor->filter.to && cursor->event.time > cursor->filter.to)
			return 0;
	} while (!wanted(cursor));
	*ret_event = &cursor->event;
	return 1;
}
