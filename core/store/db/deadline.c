/*
 * The time by which reading must end
 *
 * SQLite checks it every STEPS steps of a statement, a cursor after a number of events. The caller
 * of deadline_start() must stop code that runs long without checking it.
 */
#include "core/store/db/deadline.h"

#include <errno.h>
#include <stdatomic.h>
#include <time.h>

#include "core/store/db/sqlite.h"
#include "core/wire/log.h"

enum { STEPS = 10000 }; /* of SQLite's virtual machine: well below a millisecond */

static int64_t end; /* ns of CLOCK_MONOTONIC; 0: no deadline */

static int64_t read_clock(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

void deadline_start(uint64_t ns)
{
	end = ns < INT64_MAX / 2 ? read_clock() + (int64_t)ns : INT64_MAX;
}

bool deadline_is_over(void)
{
	return end && read_clock() >= end;
}

int deadline_fail(void)
{
	static atomic_flag said = ATOMIC_FLAG_INIT;

	if (!atomic_flag_test_and_set(&said))
		log_note(
			"--deadline expired before everything was read: increase it, or narrow the "
			"request");
	return -ETIME;
}

static int check_clock(void *arg)
{
	(void)arg;
	return deadline_is_over();
}

void deadline_watch(sqlite3 *db)
{
	if (end)
		sqlite3_progress_handler(db, STEPS, check_clock, NULL);
}
