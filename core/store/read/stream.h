#pragma once
/*
 * The events of one thread in order: control verbs and the data plane merged by their numbers. For
 * cursor.c, which merges the threads. Not thread-safe.
 */
#include "core/store/chunk/block.h"
#include "core/store/read/trace_priv.h"

struct stream;
struct room;

/*
 * @db: the trace's connection, or another one to its file. @data: also read posts, polls and
 * notifies. *@held counts the bytes that all streams of a cursor have decoded, and must outlive
 * them. Returns 0 or -errno after log_err().
 */
int stream_open(struct trace *trace, struct sqlite3 *db, uint32_t thread, bool data, size_t *held,
		struct stream **ret_stream);

/* Accepts NULL. */
void stream_close(struct stream *stream);

/* The time of the next event: 1, 0 at the end. */
int stream_time(const struct stream *stream, int64_t *ret_time);

/*
 * Read the next event into @event; its pointers are valid until the next call, except that posts,
 * polls and notifies are in @room if that is not NULL. Objects of the data plane are not resolved.
 * 0 or -errno.
 */
int stream_next(struct stream *stream, struct room *room, struct trace_event *event);

/*
 * Free the decoded data, and the data of the last event; the data is decoded again for the next
 * event. Does nothing if the data cannot be read again.
 */
void stream_release(struct stream *stream);

/*
 * For a trace that is still being written (stream_live.c): events up to number @settled are
 * complete and can be read now. 0 or -errno after log_err().
 */
int stream_more(struct stream *stream, uint64_t settled);

/*
 * For a new stream of a trace that is still being written: begin near data event @n, and end after
 * it.
 */
int stream_seek(struct stream *stream, uint64_t n);
