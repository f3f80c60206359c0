/*
 * All events of a trace in time order
 *
 * A heap of the threads by the time of each one's next event; equal times go
 * by thread. The ends of processes, which no thread sees, are merged in from
 * a sorted list, after all else of that time.
 *
 * Completions are matched on the way, but for a trace of one verb of N: what
 * looks like the request of a completion there is most likely another's. So everything
 * since the start is read, even where a filter gives only a part of it; only a filter
 * on processes, or on control verbs, leaves the rest unread.
 *
 * What threads have decoded stays decoded, up to a bound: beyond it those at the
 * end of the heap, whose next events are mostly far away, give theirs back.
 *
 * Of a trace that is still written, the heap holds the threads that have
 * something due until `limit`; cursor_extend() makes it anew.
 */
#include <errno.h>
#include <stdlib.h>

#include "core/store/db/deadline.h"
#include "core/store/read/live.h"
#include "core/store/read/match.h"
#include "core/store/read/stream.h"
#include "core/wire/log.h"

enum {
	HELD_MAX = 640 << 20, /* bytes: a thread of sound traffic has about one MB of them */
	LOOKS = 1024,         /* events from one look at the deadline to the next */
	TELL_EVERY = 8192,    /* requests and completions; the worst to match take 0.1 ms each */
};

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
	uint64_t events;
	uint32_t work;       /* since the last trace_on_progress() */
	size_t held;         /* bytes that the streams have decoded */
	unsigned int looked; /* events since the trace was opened */
	struct match *match; /* NULL: nothing is matched */
	struct objects_cache cache;
	struct trace_event event;
	struct poll poll; /* the current one, with what was found */
	struct post post;
	struct notify notify;
	/* of a trace that is still written */
	struct stream **streams; /* by thread - 1; NULL: has ended */
	uint32_t nstreams;
	uint32_t exited;      /* processes below it have ended, and this was said */
	int64_t limit, given; /* time of the last event that was given */
	uint64_t late;
	struct stream *sought; /* of cursor_post() */
};

static bool is_before(const struct leaf *a, const struct leaf *b)
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
		if (child + 1 < cursor->count && is_before(&heap[child + 1], &heap[child]))
			child++;
		if (!is_before(&heap[child], &moving))
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
		err = stream_open(trace, thread->id, !filter->control_only, &cursor->held,
				  &leaf->stream);
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
	if (!err && !cursor->filter.control_only && !cursor->filter.unmatched &&
	    trace_one_of(trace) == 1)
		err = match_new(&cursor->match);
	if (cursor->match && trace->whole_from != INT64_MIN && !trace->live)
		match_kept_from(cursor->match, trace->whole_from);
	if (!err && !trace->live)
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
	for (uint32_t i = 0; cursor->heap && !cursor->trace->live && i < cursor->count; i++)
		stream_close(cursor->heap[i].stream);
	for (uint32_t i = 0; i < cursor->nstreams; i++)
		stream_close(cursor->streams[i]);
	free(cursor->streams);
	stream_close(cursor->sought);
	free(cursor->heap);
	free(cursor->exits);
	match_free(cursor->match);
	free(cursor);
}

static uint32_t object_of(struct cursor *cursor, enum object_kind kind, uint64_t handle)
{
	if (cursor->trace->live) {
		const struct object *o =
			live_at(cursor->trace->live, cursor->event.process, kind, handle);

		return o ? o->id : 0;
	}
	return objects_cached_at(&cursor->cache, &cursor->trace->objects, cursor->event.process,
				 kind, handle, cursor->event.time);
}

static uint32_t qp_of(struct cursor *cursor, uint32_t number, uint32_t cq)
{
	const struct trace_event *event = &cursor->event;
	const struct object *o;

	if (!cursor->trace->live)
		return objects_cached_qp(&cursor->cache, &cursor->trace->objects, event->process,
					 number, cq, event->time);
	o = live_qp(cursor->trace->live, event->process, number, cq);
	return o ? o->id : 0;
}

static void match_poll(struct cursor *cursor, struct poll *poll)
{
	struct wc *wcs = (struct wc *)poll->wc; /* the stream's own, filled for this event */

	for (uint32_t i = 0; i < poll->nwc; i++) {
		struct wc *wc = &wcs[i];
		struct match_found found;

		wc->qp = qp_of(cursor, wc->qp_num, poll->object);
		if (!cursor->match)
			continue;
		if (!wc->qp && !wc->qp_num)
			wc->qp = match_guess(cursor->match, poll->object, wc);
		match_wc(cursor->match, wc->qp, poll->object, wc, &found);
		wc->request = found.request;
		wc->request_index = found.index;
		wc->posted_at = found.posted_at;
		wc->candidates = found.candidates;
	}
}

/* Objects and matches of the current event. */
static int resolve_event(struct cursor *cursor)
{
	struct trace_event *event = &cursor->event;
	int err;

	switch (event->kind) {
	case TRACE_POST:
		cursor->post = *event->post;
		cursor->post.object = object_of(cursor, verb_infos[event->post->verb].object,
						event->post->handle);
		event->post = &cursor->post;
		break;
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
		if (cursor->trace->live) { /* the call is the stream's own */
			err = live_call(cursor->trace->live, event, (struct call *)event->call);
			if (err)
				return err;
		}
		break;
	default:
		return 0;
	}
	return cursor->match ? match_event(cursor->match, cursor->trace, event) : 0;
}

/* Down to three quarters of the bound, but for the thread whose event was given last. */
static __attribute__((cold)) void let_rest(struct cursor *cursor)
{
	for (uint32_t i = cursor->count; i > 1 && cursor->held > HELD_MAX / 4 * 3; i--)
		stream_rest(cursor->heap[i - 1].stream);
}

static int next_of_threads(struct cursor *cursor)
{
	struct leaf *top = &cursor->heap[0];
	int err = stream_next(top->stream, &cursor->event);

	if (err)
		return err;
	if (__builtin_expect(cursor->held > HELD_MAX, 0))
		let_rest(cursor);
	err = resolve_event(cursor);
	return err == -ENOMEM ? log_err(err, "match completions") : err;
}

/*
 * The event given last lives in the top stream, so the heap is put in order
 * only when the next one is asked for.
 */
static void settle_heap(struct cursor *cursor)
{
	struct leaf *top = &cursor->heap[0];

	if (!cursor->count)
		return;
	if (!stream_time(top->stream, &top->time) ||
	    (cursor->trace->live && top->time > cursor->limit)) {
		if (!cursor->trace->live)
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

static void count_event(struct cursor *cursor)
{
	const struct trace_event *event = &cursor->event;

	cursor->events++;
	switch (event->kind) {
	case TRACE_POST:
		cursor->work += event->post->nwr + 1;
		break;
	case TRACE_POLL:
		cursor->work += event->poll->nwc + 1;
		break;
	case TRACE_FORK: /* processes are compared with all others */
	case TRACE_PROCESS:
	case TRACE_EXIT:
		cursor->work += TELL_EVERY;
		break;
	default:
		cursor->work++;
	}
	if (__builtin_expect(cursor->work < TELL_EVERY, 1))
		return;
	cursor->work = 0;
	if (cursor->trace->tell)
		cursor->trace->tell(cursor->events, event->time);
}

/* The end of a process: 1, or -errno. */
static int give_exit(struct cursor *cursor, const struct process *p)
{
	const struct trace *trace = cursor->trace;
	int err;

	cursor->event = (struct trace_event){ .kind = TRACE_EXIT,
					      .process = p->id,
					      .time = p->end,
					      .carried = !trace->live && p->end <= trace->carried };
	err = cursor->match ? match_event(cursor->match, cursor->trace, &cursor->event) : 0;
	count_event(cursor);
	return err ? err : 1;
}

/* Its threads have been read to their ends, so this is the last of it. */
static const struct process *next_live_exit(struct cursor *cursor)
{
	const struct trace *trace = cursor->trace;

	if (cursor->count)
		return NULL;
	for (uint32_t i = cursor->exited; i < trace->nprocesses; i++) {
		const struct process *p = &trace->processes[i];

		if (!p->id || p->end < 0 || p->end > cursor->limit || cursor->exits[i])
			continue;
		cursor->exits[i] = p;
		while (cursor->exited < trace->nprocesses && cursor->exits[cursor->exited])
			cursor->exited++;
		live_exit(trace->live, p->id);
		return p;
	}
	return NULL;
}

/* One event, wanted or not: 1, 0 at the end. */
static int any_next(struct cursor *cursor)
{
	const struct process *ended;
	int err;

	settle_heap(cursor);
	ended = cursor->trace->live    ? next_live_exit(cursor)
		: exit_is_next(cursor) ? cursor->exits[cursor->exit++]
				       : NULL;
	if (ended)
		return give_exit(cursor, ended);
	if (!cursor->count)
		return 0;
	err = next_of_threads(cursor);
	if (!err)
		count_event(cursor);
	cursor->late += cursor->event.time < cursor->given;
	if (cursor->event.time > cursor->given)
		cursor->given = cursor->event.time;
	return err ? err : 1;
}

static bool is_wanted(const struct cursor *cursor)
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
		if (!(++cursor->looked % LOOKS) && deadline_is_over())
			return deadline_fail();
		more = any_next(cursor);
		if (more <= 0)
			return more;
		if (cursor->filter.to && cursor->event.time > cursor->filter.to)
			return 0;
	} while (!is_wanted(cursor));
	*ret_event = &cursor->event;
	return 1;
}

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
	cursor->exit = cursor->nexits; /* not those of a finished trace */
	for (; cursor->nstreams < n; cursor->nstreams++) {
		cursor->streams[cursor->nstreams] = NULL;
		if (stream_open(trace, cursor->nstreams + 1, true, &cursor->held,
				&cursor->streams[cursor->nstreams]))
			return -ENOMEM;
	}
	return 0;
}

/* One thread into the heap, if it has something due. */
static int extend_thread(struct cursor *cursor, uint32_t thread)
{
	struct stream **stream = &cursor->streams[thread - 1];
	struct leaf leaf = { .thread = thread, .stream = *stream };
	uint64_t settled;
	bool ended, more;
	int err;

	if (!*stream)
		return 0;
	settled = live_settled(cursor->trace->live, thread, &ended);
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
	for (uint32_t i = cursor->count / 2; i > 0; i--)
		sift_down(cursor, i - 1);
	return err;
}

uint64_t cursor_late(const struct cursor *cursor)
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
	err = stream_open(cursor->trace, id.thread, true, &cursor->held, &cursor->sought);
	if (!err)
		err = stream_seek(cursor->sought, id.n);
	while (!err && stream_time(cursor->sought, &time)) {
		err = stream_next(cursor->sought, &event);
		if (!err && event.kind == TRACE_POST && event.id.n == id.n) {
			*ret_post = event.post;
			return 1;
		}
	}
	return err;
}
