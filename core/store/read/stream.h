#pragma once
/*
 * The events of one thread in order: control verbs and the data plane merged
 * by their numbers. For cursor.c, which merges the threads. One thread.
 */
#include "core/store/chunk/block.h"
#include "core/store/read/trace_priv.h"

struct stream;

/*
 * @data: with posts, polls and notifies. *@held counts the bytes that such
 * streams have decoded, and outlives them. Returns 0 or -errno after log_err().
 */
int stream_open(struct trace *trace, uint32_t thread, bool data, size_t *held,
		struct stream **ret_stream);

/* Accepts NULL. */
void stream_close(struct stream *stream);

/* Time of the next event: 1, 0 at the end. */
int stream_time(const struct stream *stream, int64_t *ret_time);

/*
 * The next event into @event; what it points to is valid until the next call.
 * Objects of posts, polls and notifies are not resolved. 0 or -errno.
 */
int stream_next(struct stream *stream, struct trace_event *event);

/*
 * Give back what is decoded; it is decoded again for the next event. What the last event points
 * to goes, too. Does nothing where it cannot be had again.
 */
void stream_rest(struct stream *stream);

/*
 * Of a trace that is still written (stream_live.c): there is more now, up to
 * event @settled, or nothing new. 0 or -errno after log_err().
 */
int stream_more(struct stream *stream, uint64_t settled);

/* A new stream of such a trace: begin near data event @n, and end with it. */
int stream_seek(struct stream *stream, uint64_t n);
