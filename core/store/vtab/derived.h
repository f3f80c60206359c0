#pragma once
/*
 * Tables `connection` and `queue` for a trace whose version does not have them: computed in the
 * same way as later versions write them.
 *
 * Not thread-safe.
 */
struct sqlite3;
struct trace;

/*
 * Add the tables that the file of @db lacks. When one is used, @find must return the trace, or NULL
 * after log_err(). @release is called with @arg when the tables are removed. 0 or -errno.
 */
int derived_add(struct sqlite3 *db, struct trace *(*find)(void *arg), void (*release)(void *arg),
		void *arg);
