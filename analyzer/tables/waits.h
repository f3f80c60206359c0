#pragma once
/*
 * Table `waits`: what each process waited for when it ended, and the process to blame. Table
 * `delays`: how long each rank waited because of each other rank.
 */
#include "core/store/vtab/computed.h"

struct trace;
struct waits_rows;

/* Nothing is read before the table is used. NULL if out of memory. */
struct waits_rows *waits_rows_new(struct trace *trace);

/* Accepts NULL. */
void waits_rows_free(struct waits_rows *rows);

/* The argument of these tables is a struct waits_rows. */
extern const struct computed_table waits_table, delays_table;
