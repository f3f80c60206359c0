#pragma once
/*
 * The insides of a stream, for stream.c (which event is next), stream_data.c
 * (the data plane's events) and stream_live.c (a trace that is still written).
 * One thread.
 */
#include "core/store/read/plain.h"
#include "core/store/read/stream.h"

/* A call between its begin and its return. */
struct open_call {
	struct call call;
	struct event_id id;
	uint64_t end_n;
};

/* Source of the next event. */
enum source { CALL, RETURN, RARE, DATA, SOURCES };

struct due {
	uint64_t n; /* UINT64_MAX: nothing more */
	int64_t time;
};

struct stream {
	struct trace *trace;
	uint32_t thread, process;
	uint64_t carried; /* struct thread's; a live reader has not seen it before */
	struct due due[SOURCES];
	enum source next;
	sqlite3_stmt *calls;
	bool sought;                      /* it looks for one event and follows nothing */
	bool live;                        /* of a trace that is still written: stream_more() */
	uint64_t settled;                 /* live: nothing after it is looked at */
	uint64_t call_n, chunk_n, rare_n; /* live: read up to there */
	sqlite3_stmt *rares;              /* live */
	struct rare rare_now;             /* live: the one given */
	struct open_call current;         /* the call that was given last */
	struct open_call *open;
	size_t nopen, open_size;
	size_t rare; /* index of the next */
	sqlite3_stmt *chunks;
	struct plain *plain;
	struct block block;
	bool loaded;
	struct walk walk;
	size_t *held, own; /* bytes decoded by all streams of a cursor, by this one */
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

/* stream_data.c: the event at the walk's place, which goes on. 0 or -errno. */
int stream_post(struct stream *s, struct trace_event *event, uint32_t kind);
int stream_poll(struct stream *s, struct trace_event *event, uint32_t kind);
void stream_notify(struct stream *s, struct trace_event *event);

/* stream.c */
void stream_choose(struct stream *s);
void stream_hold(struct stream *s); /* brings s->held up to date */
void stream_due_returns(struct stream *s);
int stream_read_call(struct stream *s, struct open_call *open);

/*
 * stream_live.c: prepare the queries; the next of each source, by its number;
 * and its row, as it is now. 1, 0 where there is none, or -errno.
 */
int stream_live_open(struct stream *s);
int stream_live_due(struct stream *s, enum source source);
int stream_live_row(struct stream *s, enum source source);
int stream_live_rare(struct stream *s, struct trace_event *event);
