#pragma once
/*
 * The time by which reading must end: one deadline per process. Call deadline_start() before
 * opening a trace; the other functions from any thread.
 */
#include <stdbool.h>
#include <stdint.h>

struct sqlite3;

/* Set the deadline to @ns from now on. Without this call there is no deadline. */
void deadline_start(uint64_t ns);

bool deadline_is_over(void);

/* Returns -ETIME; the first call logs that the deadline has passed. */
int deadline_fail(void);

/* Make statements of @db end at the deadline, with SQLITE_INTERRUPT. */
void deadline_watch(struct sqlite3 *db);
