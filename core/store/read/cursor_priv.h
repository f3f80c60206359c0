#pragma once
/*
 * Internals of a cursor: cursor.c merges the threads of a trace; cursor_whole.c is for finished
 * traces, cursor_live.c for one that is still being written; joint_cursor.c merges traces, and
 * opens a cursor of either kind. Not thread-safe.
 */
#include "core/store/read/match.h"
#include "core/store/read/stream_priv.h"

/* Functions that differ between a finished trace and one that is still being written. */
struct cursor_methods {
	int (*open)(struct cursor *cursor);
	uint32_t (*object_at)(struct cursor *cursor, enum object_kind kind, uint64_t handle);
	uint32_t (*qp_at)(struct cursor *cursor, uint32_t number, uint32_t cq);
	int (*take_call)(struct cursor *cursor); /* called before a call is returned; or NULL */
	/* the process whose exit is the next event; or NULL */
	const struct process *(*next_exit)(struct cursor *cursor);
	/* called when @thread has no more events; or NULL */
	void (*at_end)(struct cursor *cursor, uint32_t thread);
	/* when the next process ends; INT64_MAX: none does. NULL: not known before */
	int64_t (*exit_time)(const struct cursor *cursor);
};

extern const struct cursor_methods reading_whole, reading_live;

struct leaf {
	int64_t time;
	uint32_t thread;
	struct stream *stream;
};

struct cursor {
	struct trace *trace;
	struct sqlite3 *
		/*
		 * cursor_whole.c: connections; the last is for further streams; none: the trace's
		 * is used
		 */
		*own_dbs;
	size_t nown_dbs;
	struct joint_cursor *joint; /* reads several traces; then all other fields are unused */
	const struct cursor_methods *reading;
	struct trace_filter filter;
	struct stream **streams; /* by thread - 1; NULL: ended, or filtered out */
	uint32_t nstreams;
	struct leaf *heap; /* the streams with events until @limit */
	uint32_t count;
	int64_t limit;
	int64_t bound; /* before this time, the next event is one of the heap's top */
	uint64_t events;
	uint32_t work;       /* events since the last trace_on_progress() */
	size_t held;         /* bytes of decoded chunks of the streams */
	unsigned int looked; /* events since the last check of the deadline */
	struct match *match; /* NULL: completions are not matched */
	struct objects_cache cache;
	struct trace_event event;
	struct room *room; /* set by cursor_use_room() */
	/*
	 * as in struct trace; -1 if the trace is live: its reader has not read carried events
	 * before
	 */
	int64_t carried;
	int64_t given; /* ns: time of the event returned last */
	uint64_t late;
	/* cursor_whole.c: sorted by end; cursor_live.c: by id - 1, set when returned */
	const struct process **exits;
	uint32_t nexits, exit;
	struct stream *sought; /* cursor_live.c: reads events for cursor_post() */
};

/* Make the array of leaves a heap. */
void cursor_order(struct cursor *cursor);

/*
 * A cursor over the threads of one trace; trace and filter of @cursor are already set. Call
 * cursor_fini_one() even if cursor_init_one() failed; cursor_next_one() returns the same as
 * cursor_next().
 */
int cursor_init_one(struct cursor *cursor, const struct cursor_methods *reading);
void cursor_fini_one(struct cursor *cursor);
int cursor_next_one(struct cursor *cursor, const struct trace_event **ret_event);
