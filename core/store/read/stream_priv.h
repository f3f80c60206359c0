#pragma once
/*
 * The insides of a stream: stream.c merges its sources, stream_data.c makes
 * events of a block, and the sources are in stream_whole.c (a trace that is
 * whole, with chunks or plain tables) and stream_live.c (one that is still
 * written). One thread.
 */
#include "core/store/read/plain.h"
#include "core/store/read/stream.h"

/* A call between its begin and its return. */
struct open_call {
	struct call call;
	struct event_id id;
	uint64_t end_n;
};

/* Where the next event comes from; RETURN is of the calls that are open. */
enum source_id { CALL, RETURN, RARE, DATA, SOURCES };

struct due {
	uint64_t n; /* UINT64_MAX: nothing more */
	int64_t time;
};

/*
 * A source of events: each knows the number and time of its next one, and reads
 * the rest of it when it is to be given. Both return 0 or -errno after log_err().
 */
struct source {
	/* The next event into s->due[]; what was read last is given. */
	int (*due)(struct stream *s);
	/* Read it: into s->current, s->rare or s->block. */
	int (*row)(struct stream *s);
	bool again; /* row() reads it once more if it was given back */
};

/* What there is of a thread. */
struct sources {
	struct source of[SOURCES]; /* not RETURN */
	int (*open)(struct stream *s, bool data);
	bool grows; /* calls may return later: stream_more() */
};

extern const struct sources sources_chunks; /* stream_whole.c */
extern const struct sources sources_plain;
extern const struct sources sources_live; /* stream_live.c */

struct stream {
	struct trace *trace;
	const struct sources *sources;
	uint32_t thread, process;
	uint64_t carried; /* struct thread's; a live reader has not seen it before */
	struct due due[SOURCES];
	enum source_id next;
	sqlite3_stmt *calls, *chunks;
	struct open_call current; /* the call that was given last */
	struct open_call *open;
	size_t nopen, open_size;
	const struct rare *rare; /* to be given */
	struct block block;
	bool loaded;
	struct walk walk;
	size_t *held, own; /* bytes decoded by all streams of a cursor, by this one */
	/* stream_whole.c */
	struct plain *plain;
	size_t rare_i; /* index of the next */
	/* stream_live.c */
	bool sought;            /* it looks for one event and follows nothing */
	uint64_t settled;       /* nothing after it is looked at */
	uint64_t last[SOURCES]; /* read up to there */
	sqlite3_stmt *rares;
	struct rare rare_now;
	/* what the last event points to */
	struct post post;
	struct poll poll;
	struct notify notify;
	struct wr *wrs;
	struct sge *sges;
	struct wc *wcs;
	uint32_t wrs_size, sges_size, wcs_size;
};

extern const struct due stream_never;

/* Columns of table `call` as stream_read_call() takes them. */
#define STREAM_CALL_COLUMNS                                                                       \
	"n, verb, begin, end, ret, error, failed, depth, ours, stack, object, args, out, handle," \
	" end_n"

/* stream_data.c: the event at the walk's place, which goes on. 0 or -errno. */
int stream_post(struct stream *s, struct trace_event *event, uint32_t kind);
int stream_poll(struct stream *s, struct trace_event *event, uint32_t kind);
void stream_notify(struct stream *s, struct trace_event *event);

/* stream.c */
void stream_choose(struct stream *s);
void stream_hold(struct stream *s); /* brings s->held up to date */
void stream_due_returns(struct stream *s);
void stream_due_data(struct stream *s); /* of the block that is loaded */
int stream_read_call(struct stream *s, struct open_call *open);
/* The chunk at hand in s->chunks: its columns first_n, begin, data. 0 or -errno after log_err(). */
int stream_load_chunk(struct stream *s);
