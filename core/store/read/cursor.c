/*
 * All events of one trace in time order
 *
 * A heap has the threads, sorted by the time of their next events; at equal times the thread with
 * the lower number is first. The ends of processes, which belong to no thread, come after all other
 * events at that time.
 *
 * The cursor also matches completions to their requests, unless only one of N verbs was recorded:
 * then most matches would be wrong. Matching needs every event since the start, even if the filter
 * selects only some; only a filter on processes, or on control verbs, avoids reading the others.
 *
 * Decoded data of threads is cached up to a limit. Above it, the data of threads at the end of the
 * heap, whose next events are mostly far away, is freed.
 *
 * Not here: which threads are in the heap, and the sources of objects and ends of processes
 * (cursor_whole.c, cursor_live.c); cursor_open() (joint_cursor.c).
 */
#include <errno.h>
#include <stdlib.h>

#include "core/store/db/deadline.h"
#include "core/store/read/cursor_priv.h"
#include "core/wire/log.h"

enum {
	HELD_MAX = 640 << 20,   /* bytes of decoded data; a thread usually has about 1 MB */
	DEADLINE_EVENTS = 1024, /* events between two checks of the deadline */
	/* events between reports of progress; matching an event takes 0.1 ms at worst */
	PROGRESS_EVENTS = 8192,
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

void cursor_order(struct cursor *cursor)
{
	for (uint32_t i = cursor->count / 2; i > 0; i--)
		sift_down(cursor, i - 1);
}

int cursor_init_one(struct cursor *cursor, const struct cursor_methods *reading)
{
	int err = 0;

	cursor->reading = reading;
	cursor->carried = -1;
	cursor->bound = INT64_MIN;
	if (!cursor->filter.control_only && !cursor->filter.unmatched &&
	    trace_sampling_factor(cursor->trace) == 1)
		err = match_new(&cursor->match);
	return err ?: reading->open(cursor);
}

void cursor_fini_one(struct cursor *cursor)
{
	for (uint32_t i = 0; i < cursor->nstreams; i++)
		stream_close(cursor->streams[i]);
	free(cursor->streams);
	stream_close(cursor->sought);
	for (size_t i = 0; i < cursor->nown_dbs; i++)
		sqlite3_close(cursor->own_dbs[i]);
	free(cursor->own_dbs);
	free(cursor->heap);
	free(cursor->exits);
	match_free(cursor->match);
}

static inline uint32_t find_object(struct cursor *cursor, enum object_kind kind, uint64_t handle)
{
	const struct objects_cache_entry *known = objects_cached(
		&cursor->cache, cursor->event.process, (int)kind, handle, 0, cursor->event.time);

	return known ? known->id : cursor->reading->object_at(cursor, kind, handle);
}

static inline uint32_t find_qp(struct cursor *cursor, uint32_t number, uint32_t cq)
{
	const struct objects_cache_entry *known =
		objects_cached(&cursor->cache, cursor->event.process, OBJECTS_QP_NUMBER, number, cq,
			       cursor->event.time);

	return known ? known->id : cursor->reading->qp_at(cursor, number, cq);
}

static void match_unusual(struct cursor *cursor, const struct poll *poll, struct wc *wc)
{
	struct match_found found;

	if (!wc->qp && !wc->qp_num)
		wc->qp = match_guess(cursor->match, poll->object, wc);
	match_find_request(cursor->match, wc->qp, poll->object, wc, &found);
	wc->request = found.request;
	wc->request_index = found.index;
	wc->posted_at = found.posted_at;
	wc->candidates = found.candidates;
	wc->other = found.other;
	wc->other_index = found.other_index;
	wc->other_posted_at = found.other_posted_at;
}

static void match_poll(struct cursor *cursor, struct poll *poll)
{
	/* the stream's own; the cursor completes it for this event */
	struct wc *wcs = (struct wc *)poll->wc;

	for (uint32_t i = 0; i < poll->nwc; i++) {
		wcs[i].qp = find_qp(cursor, wcs[i].qp_num, poll->object);
		if (cursor->match && !match_oldest(cursor->match, &wcs[i]))
			match_unusual(cursor, poll, &wcs[i]);
	}
}

static int resolve_post(struct cursor *cursor)
{
	const struct post *post = cursor->event.post;
	uint32_t object = find_object(cursor, verb_infos[post->verb].object, post->handle);

	return stream_set_post_object(cursor->heap[0].stream, &cursor->event, object);
}

/*
 * Find the objects of the current event, and match it. The event's structure belongs to the stream
 * and is completed in place: copying it would stall on the stream's latest stores.
 */
static int resolve_event(struct cursor *cursor)
{
	struct trace_event *event = &cursor->event;
	struct notify *notify;
	const struct post *post;
	struct poll *poll;
	int err;

	switch (event->kind) {
	case TRACE_POST:
		err = resolve_post(cursor);
		if (err || !cursor->match)
			return err;
		post = event->post;
		match_set_position(cursor->match, event->time, event->process);
		return match_note_post(cursor->match, post->object, post, event->id, event->time);
	case TRACE_POLL:
		poll = (struct poll *)event->poll;
		poll->object = find_object(cursor, OBJECT_cq, poll->handle);
		match_poll(cursor, poll);
		return 0;
	case TRACE_NOTIFY:
		notify = (struct notify *)event->notify;
		notify->object = find_object(cursor, OBJECT_cq, notify->handle);
		return 0;
	case TRACE_CALL:
	case TRACE_RETURN:
		err = cursor->reading->take_call ? cursor->reading->take_call(cursor) : 0;
		if (err)
			return err;
		break;
	default:
		return 0;
	}
	return cursor->match ? match_process_event(cursor->match, cursor->trace, event) : 0;
}

/*
 * Free decoded data until three quarters of the limit are left, but not the data of the thread
 * whose event was returned last.
 */
static __attribute__((cold)) void trim_streams(struct cursor *cursor)
{
	for (uint32_t i = cursor->count; i > 1 && cursor->held > HELD_MAX / 4 * 3; i--)
		stream_release(cursor->heap[i - 1].stream);
}

static int next_of_threads(struct cursor *cursor)
{
	struct leaf *top = &cursor->heap[0];
	int err = stream_next(top->stream, cursor->room, &cursor->event);

	if (err)
		return err;
	if (__builtin_expect(cursor->held > HELD_MAX, 0))
		trim_streams(cursor);
	err = resolve_event(cursor);
	return err == -ENOMEM ? log_err(err, "match completions") : err;
}

/* Is the top of the heap later than one of its children? */
static inline bool is_top_late(const struct cursor *cursor)
{
	const struct leaf *heap = cursor->heap;

	return (cursor->count > 1 && is_before(&heap[1], &heap[0])) ||
	       (cursor->count > 2 && is_before(&heap[2], &heap[0]));
}

/*
 * Put the top stream at its new position. Only when the next event is requested: the event returned
 * last is in this stream's memory.
 */
static inline void restore_heap(struct cursor *cursor)
{
	struct leaf *top = &cursor->heap[0];

	if (!cursor->count)
		return;
	if (!stream_time(top->stream, &top->time) || top->time > cursor->limit) {
		if (cursor->reading->at_end)
			cursor->reading->at_end(cursor, top->thread);
		*top = cursor->heap[--cursor->count];
	}
	if (is_top_late(cursor))
		sift_down(cursor, 0);
}

/* The thread on top of the heap comes first while its next event is before this time. */
static int64_t find_bound(const struct cursor *cursor)
{
	const struct leaf *heap = cursor->heap;
	int64_t bound, time;

	if (!cursor->reading->exit_time)
		return INT64_MIN;
	bound = cursor->reading->exit_time(cursor);
	bound += bound < INT64_MAX; /* ends come after other events */
	for (uint32_t i = 1; i < 3 && i < cursor->count; i++) {
		time = heap[i].time + (heap[0].thread < heap[i].thread);
		bound = time < bound ? time : bound;
	}
	return bound;
}

static inline bool is_top_first(const struct cursor *cursor)
{
	const struct stream *top = cursor->count ? cursor->heap[0].stream : NULL;

	return top && top->due[top->next].time < cursor->bound &&
	       top->due[top->next].n != UINT64_MAX;
}

static inline void count_event(struct cursor *cursor)
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
	case TRACE_FORK: /* costly: the matcher iterates over all processes */
	case TRACE_PROCESS:
	case TRACE_EXIT:
		cursor->work += PROGRESS_EVENTS;
		break;
	default:
		cursor->work++;
	}
	if (__builtin_expect(cursor->work < PROGRESS_EVENTS, 1))
		return;
	cursor->work = 0;
	if (cursor->trace->tell && !cursor->filter.apart)
		cursor->trace->tell(cursor->events, event->time);
}

/* Return the end of a process: 1, or -errno. */
static int return_exit(struct cursor *cursor, const struct process *p)
{
	int err;

	cursor->event = (struct trace_event){ .kind = TRACE_EXIT,
					      .process = p->id,
					      .time = p->end,
					      .carried = p->end <= cursor->carried };
	err = cursor->match ? match_process_event(cursor->match, cursor->trace, &cursor->event) : 0;
	count_event(cursor);
	return err ? err : 1;
}

/* Put the thread with the next event on top of the heap. Returns a process that ends before it. */
static __attribute__((noinline)) const struct process *choose_thread(struct cursor *cursor)
{
	const struct process *ended;

	restore_heap(cursor);
	ended = cursor->reading->next_exit(cursor);
	cursor->bound = cursor->count && !ended ? find_bound(cursor) : INT64_MIN;
	return ended;
}

/* The next event before filtering: 1, 0 at the end. */
static inline int next_unfiltered(struct cursor *cursor)
{
	const struct process *ended = is_top_first(cursor) ? NULL : choose_thread(cursor);
	int err;

	if (ended)
		return return_exit(cursor, ended);
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

int cursor_next_one(struct cursor *cursor, const struct trace_event **ret_event)
{
	int more;

	do {
		if (!(++cursor->looked % DEADLINE_EVENTS) && deadline_is_over())
			return deadline_fail();
		more = next_unfiltered(cursor);
		if (more <= 0)
			return more;
		if (cursor->filter.to && cursor->event.time > cursor->filter.to)
			return 0;
	} while (!is_wanted(cursor));
	*ret_event = &cursor->event;
	return 1;
}
