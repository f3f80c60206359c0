#pragma once
/*
 * Internals of a cursor: cursor.c merges the threads of a trace; cursor_whole.c is for finished
 * traces, cursor_live.c for one that is still being written; joint_cursor.c merges traces, and
 * opens a cursor of either kind. Not thread-safe.
 */
#include "core/store/read/match.h"
#include "core/store/read/stream.h"

/* The differences between a finished trace and one that is still being written. */
struct reading {
	int (*open)(struct cursor *cursor);
	uint32_t (*object_at)(struct cursor *cursor, enum object_kind kind, uint64_t handle);
	uint32_t (*qp_at)(struct cursor *cursor, uint32_t number, uint32_t cq);
	int (*take_call)(struct cursor *cursor); /* called before a call is returned; or NULL */
	const struct process *(*next_exit)(struct cursor *cursor); /* whose exit is next; or NULL */
	void (*at_end)(struct cursor *cursor, uint32_t thread);    /* it has no more; or NULL */
};

extern const struct reading reading_whole, reading_live;

struct leaf {
	int64_t time;
	uint32_t thread;
	struct stream *stream;
};

struct cursor {
	struct trace *trace;
	struct sqlite3 *
		*own_dbs; /* cursor_whole.c: the last is for further streams; none: the trace's */
	size_t nown_dbs;
	struct joint_cursor *joint; /* for several traces: holds the other fields */
	const struct reading *reading;
	struct trace_filter filter;
	struct stream **streams; /* by thread - 1; NULL: ended, or filtered out */
	uint32_t nstreams;
	struct leaf *heap; /* the streams with events until @limit */
	uint32_t count;
	int64_t limit;
	uint64_t events;
	uint32_t work;       /* since the last trace_on_progress() */
	size_t held;         /* bytes of decoded chunks of the streams */
	unsigned int looked; /* events since the trace was opened */
	struct match *match; /* NULL: completions are not matched */
	struct objects_cache cache;
	struct trace_event event;
	struct room *room; /* cursor_use_room() */
	/*
	 * as in struct trace; -1 in a live trace, whose reader has not seen carried events before
	 */
	int64_t carried;
	int64_t given; /* time of the last event returned */
	uint64_t late;
	/* cursor_whole.c: by end; cursor_live.c: by id - 1, only those that were returned */
	const struct process **exits;
	uint32_t nexits, exit;
	struct stream *sought; /* cursor_live.c: for cursor_post() */
};

/* Make a heap of the leaves. */
void cursor_order(struct cursor *cursor);

/*
 * The threads of one trace: @cursor has the trace and the filter. Call cursor_fini_one() even if
 * cursor_init_one() failed; cursor_next_one() returns the same as cursor_next().
 */
int cursor_init_one(struct cursor *cursor, const struct reading *reading);
void cursor_fini_one(struct cursor *cursor);
int cursor_next_one(struct cursor *cursor, const struct trace_event **ret_event);
