#pragma once
/*
 * Completing a trace when its recording ends: objects, references, devices,
 * indexes. Called by writer_finish(), or by the process that first opens a
 * trace whose recorder died.
 */
#include "core/store/db/sql.h"

enum complete_state { COMPLETE_WHOLE, COMPLETE_INTERRUPTED };

/*
 * Complete the trace, write @state into its meta and make it one file. On failure nothing changes:
 * -errno after log_err(), and the caller may try again.
 */
int complete_trace(sqlite3 *db, enum complete_state state);

/*
 * Make the trace one file, without a WAL beside it. If the disk is too full, the trace stays as it
 * is, still complete, and the next process that opens it tries again.
 */
int complete_file(sqlite3 *db);

/* Find the parents of processes and the children of forks, as far as possible. */
int complete_forks(sqlite3 *db);
