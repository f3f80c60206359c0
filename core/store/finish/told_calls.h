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
 * A trace that calls are read from. Of several that are read as one, the numbers that come before
 * its own, and how its times are converted; NULL: they are unchanged.
 */
struct told_calls {
	sqlite3 *db;
	uint32_t threads, processes, objects;
	int64_t (*place_time)(const void *arg, int64_t time);
	const void *arg;
};

/* A call that succeeded, or that never returned. */
struct told_call {
	struct event_id id;
	enum verb verb;
	uint32_t process, object;
	int64_t begin, end;      /* INT64_MAX: it never returned */
	const struct args *args; /* have been parsed */
	const struct args *out;
};

/*
 * Each call of a verb that @is_wanted, and that has an object, in the order of their begins; with a
 * condition in SQL (NULL: none) only those for which it holds, so that the arguments of the others
 * are not read. Ends where @each returns other than 0. 0 or -errno after log_err().
 */
int told_calls_each(const struct told_calls *from, bool (*is_wanted)(enum verb verb),
		    const char *condition, int (*each)(void *arg, const struct told_call *told),
		    void *arg);
