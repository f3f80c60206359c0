#pragma once
/*
 * Tables `connection` and `queue` for a trace of a version without them: computed as later versions
 * write them.
 *
 * Not thread-safe.
 */
struct sqlite3;
struct trace;

/*
 * Add those that the file of a connection does not have. When one is used, @find returns the trace,
 * or NULL after log_err(); @release is called with @arg when they are removed. 0 or -errno.
 */
int derived_add(struct sqlite3 *db, struct trace *(*find)(void *arg), void (*release)(void *arg),
		void *arg);
