#pragma once
/*
 * The time by which reading must end: one for the process. deadline_start()
 * before a trace is opened; the rest from any thread.
 */
#include <stdbool.h>
#include <stdint.h>

struct sqlite3;

/* It is @ns from now. Without a call there is none. */
void deadline_start(uint64_t ns);

bool deadline_is_over(void);

/* -ETIME; the first call says so. */
int deadline_fail(void);

/* Statements of @db end by it, with SQLITE_INTERRUPT. */
void deadline_watch(struct sqlite3 *db);
