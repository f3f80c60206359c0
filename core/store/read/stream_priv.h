#pragma once
/*
 * Internals of a stream: stream.c merges its sources, stream_data.c makes events from a block,
 * stream_row.c calls from rows, stream_whole.c has the sources of a finished trace, with chunks or
 * plain tables, stream_live.c those of a trace that is still being written. Not thread-safe.
 */
#include "core/store/chunk/call_block.h"
#include "core/store/read/plain.h"
#include "core/store/read/room.h"
#include "core/store/read/stream.h"
#include "core/wire/event.h"

/* A call between its begin and its return. */
struct open_call {
	struct call call;
	struct event_id id;
	uint64_t end_n;
};

/* The source of the next event; RETURN: the return of an open call. */
enum source_id { CALL, RETURN, RARE, DATA, SOURCES };

struct due_event {
	uint64_t n; /* UINT64_MAX: no more events */
	int64_t time;
};

/*
 * A source of events. due() reads only the number and time of the next event; row() reads the rest
 * when the event is returned. Both return 0 or -errno after log_err().
 */
struct event_source {
	/*
	 * Store number and time of the next event in s->due[]; the previous event has been
	 * returned.
	 */
	int (*due)(struct stream *s);
	/* Read the event into s->current, s->rare or s->block. */
	int (*row)(struct stream *s);
	bool again; /* row() can read it again after stream_release() */
};

/* The sources of a thread's events. */
struct sources {
	struct event_source of[SOURCES]; /* without RETURN */
	int (*open)(struct stream *s, bool data);
	/* the trace is still being written: calls may return later, see stream_more() */
	bool grows;
};

extern const struct sources sources_chunks; /* stream_whole.c */
extern const struct sources sources_plain;
extern const struct sources sources_live; /* stream_live.c */

enum { VARYING_MAX = 24 };

/*
 * A structure for the rows of a block's family: the members that are equal in all rows, as most
 * are, have their values; the others are in a list.
 */
struct template
{
	union {
		struct post post;
		struct poll poll;
		struct wc wc;
		struct wr wr;
		struct sge sge;
	};
	struct varying_column {
		const uint64_t *values; /* by row */
		uint16_t offset;
		uint8_t size;
	} varying[VARYING_MAX]; /* by size; the last one has size 0 */
};

struct templates {
	struct template post, poll, wr, sge, wc;
};

/* The last post or poll of a kind and handle in the loaded block: the next is often the same. */
struct last_event {
	uint32_t kind; /* with its flags; 0: none */
	/* its rows in the block: the first of its requests or completions, and of its elements */
	uint32_t at, part, sge;
	uint32_t parts, nsge;    /* number of requests or completions; of elements */
	const struct post *post; /* in @room, until it is emptied */
	uint32_t object;         /* of the post; 0: not known, so its structure is not shared */
	unsigned int clears;
	const struct room *room;
	unsigned int misses; /* number of events since the last one that was there again */
};

enum { LAST_EVENTS = 32 };

/* The calls of a thread that are in blocks, and its next call that is a row. */
struct stream_blocks {
	sqlite3_stmt *stmt; /* at the current block; NULL: the trace has none */
	struct call_block block;
	struct text args;
	bool loaded, more;
	uint32_t at;          /* index of the next call in the block */
	uint64_t past;        /* number of the last call in the previous block */
	struct due_event row; /* the next row of s->calls */
	bool taken, begun;    /* the last call was in a block; reading has begun */
	struct call_form {
		struct args_form *form;
		bool sought;
	} * forms; /* for each form of the block (call_holes.form) */
	size_t nforms;
};

struct stream {
	struct trace *trace;
	sqlite3 *db;
	const struct sources *sources;
	uint32_t thread, process;
	/*
	 * as in struct thread; 0 in a live trace, whose reader has not read carried events before
	 */
	uint64_t carried;
	struct due_event due[SOURCES];
	enum source_id next;
	uint64_t others; /* the lowest event number of the sources other than DATA */
	sqlite3_stmt *calls, *chunks;
	struct open_call current; /* the call returned last */
	struct open_call *open;
	size_t nopen, open_size;
	const struct rare_event *rare; /* the rare event that is returned next */
	struct block block;
	bool loaded;
	struct block_position position;
	size_t *held, own; /* decoded bytes: of all streams of a cursor; of this stream */
	/* stream_whole.c */
	struct stream_blocks blocks;
	struct plain_tables *plain;
	size_t rare_i; /* index of the next rare event */
	/* stream_live.c */
	bool sought;            /* stream_seek(): the stream is for one event only */
	uint64_t settled;       /* later events are not complete, and not read */
	uint64_t last[SOURCES]; /* number of the last event read from each source */
	sqlite3_stmt *rares;
	struct rare_event rare_now;
	char staying[EVENT_FORK_DESCRIPTORS * 36]; /* of the fork in rare_now */
	struct templates templates;                /* of the loaded block */
	bool nsge_varies;                          /* requests have different numbers of elements */
	struct last_event last_events[LAST_EVENTS]; /* of the loaded block, hashed */
	struct last_event *last_post;               /* the entry of the post that was made last */
	struct room *room; /* memory for the data of events; NULL: the members below */
	/* if @room is NULL: the data of the last event */
	struct post post;
	struct poll poll;
	struct notify notify;
	struct wr *wrs;
	struct sge *sges;
	struct wc *wcs;
	uint32_t wrs_size, sges_size, wcs_size;
};

extern const struct due_event stream_never;

/* Columns of table `call` in the order of stream_read_call(). */
#define STREAM_CALL_COLUMNS                                                                       \
	"n, verb, begin, end, ret, error, failed, depth, ours, stack, object, args, out, handle," \
	" end_n"

/* stream_data.c: create the event at the iterator's position, and skip it. 0 or -errno. */
int stream_post(struct stream *s, struct trace_event *event, uint32_t kind);
int stream_poll(struct stream *s, struct trace_event *event, uint32_t kind);
int stream_notify(struct stream *s, struct trace_event *event);

/* Give the post a structure of its own, with another object. 0 or -ENOMEM after log_err(). */
int stream_replace_post(struct stream *s, struct trace_event *event, uint32_t object);

/*
 * Set the object of the post that was made last; another object than that of the post before it,
 * whose structure it may have, makes it another post. 0 or -ENOMEM after log_err().
 */
static inline int stream_set_post_object(struct stream *s, struct trace_event *event,
					 uint32_t object)
{
	struct post *post = (struct post *)event->post;

	if (!post->object) { /* a new structure */
		event->again = event->again && s->last_post->object == object;
		post->object = s->last_post->object = object;
		return 0;
	}
	return post->object == object ? 0 : stream_replace_post(s, event, object);
}

/*
 * A block was loaded: note which members are equal in all of its rows. 0 or -ENOMEM after
 * log_err().
 */
int stream_note_block(struct stream *s);

void stream_count_held(struct stream *s); /* brings s->held up to date */

/* stream_row.c */
void stream_find_due_return(struct stream *s);
int stream_read_call(struct stream *s, struct open_call *open);

/* stream_calls.c: calls of a finished trace, from rows and blocks: the functions of source CALL */
int stream_open_calls(struct stream *s);
int stream_due_call(struct stream *s);
int stream_read_due_call(struct stream *s);
void stream_release_calls(struct stream *s); /* frees data that can be read again */
void stream_close_calls(struct stream *s);

/* Step to the next row of a source; column 0 is the event's number. 0 or -errno. */
int stream_step_to_due(sqlite3_stmt *stmt, int time_column, struct due_event *ret_due);

/* The verb of a call with these arguments. @verb: the verb with the name in the call. */
enum verb stream_verb_of(int verb, const struct args *args);
/*
 * Load the current chunk of s->chunks: columns first_n, begin, data. 0 or -errno after log_err().
 */
int stream_load_chunk(struct stream *s);

/* Choose the source of the next event, which has the lowest number. */
static inline void stream_choose(struct stream *s)
{
	s->next = DATA;
	s->others = UINT64_MAX;
	for (int i = 0; i < DATA; i++) {
		if (s->due[i].n < s->due[s->next].n)
			s->next = (enum source_id)i;
		if (s->due[i].n < s->others)
			s->others = s->due[i].n;
	}
}

/* Store number and time of the loaded block's next event in s->due. */
static inline void stream_find_due_data(struct stream *s)
{
	uint32_t at = s->position.at[FAMILY_EVENT];

	s->due[DATA].n = s->block.views[COLUMN_n].values[at];
	s->due[DATA].time = span_limit((int64_t)s->block.views[COLUMN_time].values[at]);
}
