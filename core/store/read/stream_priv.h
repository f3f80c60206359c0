#pragma once
/*
 * Internals of a stream: stream.c merges its sources, stream_data.c makes events from a block,
 * stream_row.c calls from rows, and the sources are in stream_whole.c (a finished trace, with
 * chunks or plain tables) and stream_live.c (one that is still being written). Not thread-safe.
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

struct due {
	uint64_t n; /* UINT64_MAX: no more events */
	int64_t time;
};

/*
 * A source of events. due() reads only the number and time of the next event, row() the rest when
 * the event is returned. Both return 0 or -errno after log_err().
 */
struct source {
	/* Put the next event into s->due[]; the last one has been returned. */
	int (*due)(struct stream *s);
	/* Read the event into s->current, s->rare or s->block. */
	int (*row)(struct stream *s);
	bool again; /* row() can read it again after stream_release() */
};

/* The sources of a thread's events. */
struct sources {
	struct source of[SOURCES]; /* not RETURN */
	int (*open)(struct stream *s, bool data);
	bool grows; /* still being written: calls may return later, see stream_more() */
};

extern const struct sources sources_chunks; /* stream_whole.c */
extern const struct sources sources_plain;
extern const struct sources sources_live; /* stream_live.c */

/*
 * A row of a block's family as a structure: the values of members that are equal in all rows of the
 * block, as most are, and a list of those that differ.
 */
struct template
{
	union {
		struct wc wc;
		struct wr wr;
	};
	unsigned int nvarying;
	struct varying {
		uint8_t column, size;
		uint16_t offset;
	} varying[24];
};

/* The calls of a thread that are in blocks, and the next one that is a row. */
struct stream_blocks {
	sqlite3_stmt *stmt; /* at the current block; NULL: the trace has none */
	struct call_block block;
	struct text args;
	bool loaded, more;
	uint32_t at;       /* the next call of the block */
	uint64_t past;     /* number of the last call in the previous block */
	struct due row;    /* the next row, of s->calls */
	bool taken, begun; /* was the last call in a block? has reading begun? */
	struct call_form {
		struct args_form *form;
		bool sought;
	} * forms; /* of the block; by the number in call_holes */
	size_t nforms;
};

struct stream {
	struct trace *trace;
	sqlite3 *db;
	const struct sources *sources;
	uint32_t thread, process;
	/*
	 * as in struct thread; 0 in a live trace, whose reader has not seen carried events before
	 */
	uint64_t carried;
	struct due due[SOURCES];
	enum source_id next;
	uint64_t others; /* the lowest event number of the sources other than DATA */
	sqlite3_stmt *calls, *chunks;
	struct open_call current; /* the call returned last */
	struct open_call *open;
	size_t nopen, open_size;
	const struct rare *rare; /* to be returned next */
	struct block block;
	bool loaded;
	struct walk walk;
	size_t *held, own; /* bytes decoded by all streams of a cursor; by this one */
	/* stream_whole.c */
	struct stream_blocks blocks;
	struct plain *plain;
	size_t rare_i; /* index of the next */
	/* stream_live.c */
	bool sought;            /* stream_seek(): the stream is for one event only */
	uint64_t settled;       /* later events are not read yet */
	uint64_t last[SOURCES]; /* the last event read */
	sqlite3_stmt *rares;
	struct rare rare_now;
	char staying[EVENT_FORK_DESCRIPTORS * 36]; /* of the fork in rare_now */
	struct template wc_template, wr_template;
	struct room *room; /* memory for the data of events; NULL: this struct */
	/* if it is NULL: the data of the last event */
	struct post post;
	struct poll poll;
	struct notify notify;
	struct wr *wrs;
	struct sge *sges;
	struct wc *wcs;
	uint32_t wrs_size, sges_size, wcs_size;
};

extern const struct due stream_never;

/* Columns of table `call` in the order of stream_read_call(). */
#define STREAM_CALL_COLUMNS                                                                       \
	"n, verb, begin, end, ret, error, failed, depth, ours, stack, object, args, out, handle," \
	" end_n"

/* stream_data.c: make the event at the walk's position, and skip it. 0 or -errno. */
int stream_post(struct stream *s, struct trace_event *event, uint32_t kind);
int stream_poll(struct stream *s, struct trace_event *event, uint32_t kind);
int stream_notify(struct stream *s, struct trace_event *event);

/* A block was loaded: note which members are equal in all of its rows. */
void stream_note_block(struct stream *s);

void stream_count_held(struct stream *s); /* brings s->held up to date */

/* stream_row.c */
void stream_find_due_return(struct stream *s);
int stream_read_call(struct stream *s, struct open_call *open);

/* stream_calls.c: calls of a finished trace, rows and blocks; the functions of source CALL. */
int stream_open_calls(struct stream *s);
int stream_due_call(struct stream *s);
int stream_read_due_call(struct stream *s);
void stream_release_calls(struct stream *s); /* frees what can be read again */
void stream_close_calls(struct stream *s);

/* Step to the next row of a source; column 0 is the event's number. 0 or -errno. */
int stream_step_to_due(sqlite3_stmt *stmt, int time_column, struct due *ret_due);

/* The verb of a call with these arguments; @verb was found by its name. */
enum verb stream_verb_of(int verb, const struct args *args);
/* Load the current chunk of s->chunks: columns first_n, begin, data. 0 or -errno, logged. */
int stream_load_chunk(struct stream *s);

/* Choose the source whose event is next. */
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

/* Note the next event of the loaded block in s->due. */
static inline void stream_find_due_data(struct stream *s)
{
	uint32_t at = s->walk.at[FAMILY_EVENT];

	s->due[DATA].n = block_get(&s->block, COLUMN_n, at);
	s->due[DATA].time = span_limit((int64_t)block_get(&s->block, COLUMN_time, at));
}
