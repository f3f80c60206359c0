#pragma once
/*
 * The time by which reading must end, one for the process. Call deadline_start() before a trace is
 * opened, the others from any thread.
 */
#include <stdbool.h>
#include <stdint.h>

struct sqlite3;

/* Set the deadline to @ns from now. Without this call there is no deadline. */
void deadline_start(uint64_t ns);

bool deadline_is_over(void);

/* Returns -ETIME; the first call logs that the deadline is over. */
int deadline_fail(void);

/* Make statements of @db end at the deadline, with SQLITE_INTERRUPT. */
void deadline_watch(struct sqlite3 *db);
