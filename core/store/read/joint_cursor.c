/*
 * A cursor, and the events of several traces in time order
 *
 * A heap has the cursors of the traces, sorted by the times of their next events, like the threads
 * in cursor.c; at equal times the trace that the user gave first is first. References of an event
 * are renumbered in the cursor's own structures, which are filled in for each event; a call is
 * returned twice, as begin and return, so it is copied.
 */
#include <errno.h>
#include <stddef.h>
#include <stdlib.h>

#include "core/store/read/cursor_priv.h"
#include "core/store/read/part.h"
#include "core/store/read/trace_priv.h"
#include "core/wire/log.h"

enum { PROGRESS_EVENTS = 8192 }; /* events between reports of progress */

/* The next event of a trace. */
struct joint_leaf {
	int64_t time;
	uint32_t part;
	struct cursor *cursor;
	const struct trace_event *event;
};

struct joint_cursor {
	struct trace *trace;
	struct joint_leaf *heap;
	uint32_t count, opened;
	struct cursor **cursors; /* the cursors of all parts */
	bool given;              /* the caller still uses the first leaf's event */
	bool apart;              /* as in struct trace_filter */
	uint64_t events;
	struct trace_event event;
	struct call call;
};

static bool is_before(const struct joint_leaf *a, const struct joint_leaf *b)
{
	return a->time != b->time ? a->time < b->time : a->part < b->part;
}

static void sift_down(struct joint_cursor *cursor, uint32_t at)
{
	struct joint_leaf *heap = cursor->heap, moving = heap[at];

	for (uint32_t child; (child = 2 * at + 1) < cursor->count; at = child) {
		if (child + 1 < cursor->count && is_before(&heap[child + 1], &heap[child]))
			child++;
		if (!is_before(&heap[child], &moving))
			break;
		heap[at] = heap[child];
	}
	heap[at] = moving;
}

/* Read the next event of a trace: 1, 0 at its end, or -errno. */
static int advance_leaf(struct joint_cursor *cursor, struct joint_leaf *leaf)
{
	int more = cursor_next(leaf->cursor, &leaf->event);

	if (more == 1)
		leaf->time = trace_clock_time(&cursor->trace->joint->parts[leaf->part].clock,
					      leaf->event->time);
	return more;
}

/* Set the filter for trace @part; false: @filter selects none of its events. */
static bool place_filter(const struct joint_part *part, const struct trace_filter *filter,
			 struct trace_filter *ret_filter)
{
	const int64_t margin = 1000; /* covers rounding: an additional event is harmless */

	*ret_filter = *filter;
	if (filter->process) {
		if (filter->process <= part->ids.processes ||
		    filter->process > part->ids.processes + part->trace->nprocesses)
			return false;
		ret_filter->process = filter->process - part->ids.processes;
	}
	if (filter->thread) {
		if (filter->thread <= part->ids.threads ||
		    filter->thread > part->ids.threads + part->trace->nthreads)
			return false;
		ret_filter->thread = filter->thread - part->ids.threads;
	}
	if (filter->from)
		ret_filter->from = trace_clock_to_own_time(&part->clock, filter->from) - margin;
	if (filter->to && filter->to < INT64_MAX)
		ret_filter->to = trace_clock_to_own_time(&part->clock, filter->to) + margin;
	return !filter->to || ret_filter->to > 0;
}

static int open_part(struct joint_cursor *cursor, uint32_t i, const struct trace_filter *filter)
{
	struct joint_part *part = &cursor->trace->joint->parts[i];
	struct joint_leaf *leaf = &cursor->heap[cursor->count];
	struct trace_filter its;
	int err;

	if (!place_filter(part, filter, &its))
		return 0;
	*leaf = (struct joint_leaf){ .part = i };
	err = cursor_open(part->trace, &its, &leaf->cursor);
	if (err)
		return err;
	cursor->cursors[cursor->opened++] = leaf->cursor;
	err = advance_leaf(cursor, leaf);
	cursor->count += err == 1;
	return err < 0 ? err : 0;
}

static void close_joint(struct joint_cursor *cursor)
{
	if (!cursor)
		return;
	for (uint32_t i = 0; i < cursor->opened; i++)
		cursor_close(cursor->cursors[i]);
	free(cursor->cursors);
	free(cursor->heap);
	free(cursor);
}

static int open_joint(struct trace *trace, const struct trace_filter *filter,
		      struct joint_cursor **ret_cursor)
{
	struct joint_cursor *cursor = calloc(1, sizeof(*cursor));
	int err = 0;

	if (!cursor)
		return log_err(-ENOMEM, "read the traces");
	cursor->trace = trace;
	cursor->apart = filter->apart;
	cursor->heap = calloc(trace->joint->n, sizeof(*cursor->heap));
	cursor->cursors = calloc(trace->joint->n, sizeof(struct cursor *));
	if (!cursor->heap || !cursor->cursors)
		err = log_err(-ENOMEM, "read the traces");
	for (uint32_t i = 0; i < trace->joint->n && !err; i++)
		err = open_part(cursor, i, filter);
	if (err) {
		close_joint(cursor);
		return err;
	}
	for (uint32_t i = cursor->count / 2; i > 0; i--)
		sift_down(cursor, i - 1);
	*ret_cursor = cursor;
	return 0;
}

static void place_call(struct joint_cursor *cursor, const struct joint_part *part)
{
	struct call *call = &cursor->call;

	*call = *cursor->event.call;
	call->begin = trace_clock_time(&part->clock, call->begin);
	if (call->end >= 0)
		call->end = trace_clock_time(&part->clock, call->end);
	call->stack = joint_number(call->stack, part->stacks);
	call->object = joint_number(call->object, part->objects);
	cursor->event.call = call;
}

static void place_poll(struct poll *poll, const struct joint_part *part)
{
	struct wc *wcs = (struct wc *)poll->wc;

	poll->object = joint_number(poll->object, part->objects);
	poll->stack = joint_number(poll->stack, part->stacks);
	for (uint32_t i = 0; i < poll->nwc; i++) {
		struct wc *wc = &wcs[i];

		wc->qp = joint_number(wc->qp, part->objects);
		if (wc->request.thread) {
			wc->request.thread += part->ids.threads;
			wc->posted_at = trace_clock_time(&part->clock, wc->posted_at);
		}
		if (wc->other.thread) {
			wc->other.thread += part->ids.threads;
			wc->other_posted_at = trace_clock_time(&part->clock, wc->other_posted_at);
		}
	}
}

static const struct rare_event *rare_of(const struct joint_part *part, const void *member,
					size_t offset)
{
	const struct rare_event *rare = (const struct rare_event *)((const char *)member - offset);

	return &part->rares[rare - part->trace->rares];
}

static void place_event(struct joint_cursor *cursor, const struct joint_leaf *leaf)
{
	const struct joint_part *part = &cursor->trace->joint->parts[leaf->part];
	struct trace_event *event = &cursor->event;
	struct notify *notify;
	struct post *post;

	*event = *leaf->event;
	event->time = leaf->time;
	event->process = joint_number(event->process, part->ids.processes);
	event->id.thread = joint_number(event->id.thread, part->ids.threads);
	switch (event->kind) {
	case TRACE_CALL:
	case TRACE_RETURN:
		place_call(cursor, part);
		break;
	case TRACE_POST:
		post = (struct post *)event->post;
		post->object = joint_number(post->object, part->objects);
		post->stack = joint_number(post->stack, part->stacks);
		break;
	case TRACE_POLL:
		place_poll((struct poll *)event->poll, part);
		break;
	case TRACE_NOTIFY:
		notify = (struct notify *)event->notify;
		notify->object = joint_number(notify->object, part->objects);
		break;
	case TRACE_FORK:
		event->fork = &rare_of(part, event->fork, offsetof(struct rare_event, fork))->fork;
		break;
	case TRACE_MEMORY:
		event->memory =
			&rare_of(part, event->memory, offsetof(struct rare_event, memory))->memory;
		break;
	case TRACE_MISUSE:
		event->misuse =
			&rare_of(part, event->misuse, offsetof(struct rare_event, misuse))->misuse;
		break;
	default: /* has no numbers to convert */
		break;
	}
}

static int next_of_joint(struct joint_cursor *cursor, const struct trace_event **ret_event)
{
	struct joint_leaf *top = &cursor->heap[0];

	if (cursor->given) {
		int more = advance_leaf(cursor, top);

		cursor->given = false;
		if (more < 0)
			return more;
		if (!more)
			*top = cursor->heap[--cursor->count];
		if (cursor->count)
			sift_down(cursor, 0);
	}
	if (!cursor->count)
		return 0;
	place_event(cursor, top);
	cursor->given = true;
	if (!(++cursor->events % PROGRESS_EVENTS) && cursor->trace->tell && !cursor->apart)
		cursor->trace->tell(cursor->events, cursor->event.time);
	*ret_event = &cursor->event;
	return 1;
}

int cursor_open(struct trace *trace, const struct trace_filter *filter, struct cursor **ret_cursor)
{
	struct cursor *cursor = calloc(1, sizeof(*cursor));
	int err;

	if (!cursor)
		return log_err(-ENOMEM, "read the trace");
	cursor->trace = trace;
	if (filter)
		cursor->filter = *filter;
	if (trace->joint)
		err = open_joint(trace, &cursor->filter, &cursor->joint);
	else
		err = cursor_init_one(cursor, trace->live ? &reading_live : &reading_whole);
	if (err)
		cursor_close(cursor);
	else
		*ret_cursor = cursor;
	return err;
}

void cursor_close(struct cursor *cursor)
{
	if (!cursor)
		return;
	close_joint(cursor->joint);
	cursor_fini_one(cursor);
	free(cursor);
}

bool cursor_use_room(struct cursor *cursor, struct room *room)
{
	cursor->room = room;
	return !cursor->joint;
}

/*
 * The next event that the joint trace's filter selects: the filters of the single traces select
 * slightly more.
 */
static int next_selected(struct cursor *cursor, const struct trace_event **ret_event)
{
	const struct trace_filter *filter = &cursor->filter;
	const struct trace_event *event;
	int more;

	do
		more = next_of_joint(cursor->joint, &event);
	while (more > 0 && filter->from && event->time < filter->from);
	if (more > 0 && filter->to && event->time > filter->to)
		return 0;
	if (more > 0)
		*ret_event = event;
	return more;
}

int cursor_next(struct cursor *cursor, const struct trace_event **ret_event)
{
	if (__builtin_expect(cursor->joint != NULL, 0))
		return next_selected(cursor, ret_event);
	return cursor_next_one(cursor, ret_event);
}
