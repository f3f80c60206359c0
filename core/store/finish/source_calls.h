#pragma once
/*
 * The calls of a trace from which its connections and queues are derived.
 *
 * Not thread-safe.
 */
#include <stddef.h>
#include <stdint.h>

#include "core/store/db/args.h"
#include "core/store/db/ids.h"
#include "core/store/db/sql.h"

/*
 * A trace whose calls are read. If it is part of a joint trace: the numbers of threads, processes
 * and objects of earlier parts, and the conversion of its times; NULL: unchanged.
 */
struct source_calls {
	sqlite3 *db;
	uint32_t threads, processes, objects;
	int64_t (*place_time)(const void *arg, int64_t time);
	const void *arg;
};

/* A call that succeeded, or that never returned. */
struct source_call {
	struct event_id id;
	enum verb verb;
	uint32_t process, object;
	int64_t begin, end;      /* ns; end INT64_MAX: it never returned */
	const struct args *args; /* parsed already */
	const struct args *out;
};

/*
 * Call @each for each call that has an object and whose verb @is_wanted accepts, in the order of
 * begins. @condition, in SQL, excludes calls before their arguments are read; NULL: none. Ends when
 * @each returns a value other than 0. 0 or -errno after log_err().
 */
int source_calls_each(const struct source_calls *from, bool (*is_wanted)(enum verb verb),
		      const char *condition, int (*each)(void *arg, const struct source_call *told),
		      void *arg);
