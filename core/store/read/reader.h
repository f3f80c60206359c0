#pragma once
/*
 * The events of a trace, read ahead.
 *
 * A separate thread reads, decodes and matches, to relieve the thread that replays or checks. Both
 * threads use the trace at the same time, which works because the trace does not change and its
 * database is opened for several threads.
 */
#include <stdbool.h>

#include "core/store/read/trace.h"

struct reader;

/* Returns 0 and a reader for reader_close(); or -errno after log_err(). */
int reader_open(struct trace *trace, struct reader **ret_reader);

/*
 * The same, but an event stays valid until reader_release(). Reading pauses while the oldest of
 * about 50,000 events, or of fewer large ones, is in use.
 */
int reader_open_kept(struct trace *trace, struct reader **ret_reader);
void reader_release(struct reader *reader, const struct trace_event *event);

/* Should the caller release events before it requests more? */
bool reader_is_low_on_batches(const struct reader *reader);

/* Same as cursor_next(). */
int reader_next(struct reader *reader, const struct trace_event **ret_event);

/* May be called before all events were read. Accepts NULL. */
void reader_close(struct reader *reader);
