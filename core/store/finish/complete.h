#pragma once
/*
 * What is made of a recording when it ends: objects, references, devices,
 * indexes. By writer_finish(), or by whoever first opens a trace whose
 * recorder died.
 */
#include "core/store/db/sql.h"

enum complete_state { COMPLETE_WHOLE, COMPLETE_INTERRUPTED };

/*
 * Complete the trace, write @state into its meta and make it one file. All or
 * nothing: after -errno (and log_err()) it may be tried again.
 */
int complete_trace(sqlite3 *db, enum complete_state state);

/*
 * Make one file of it, without the -wal beside it. Where the disk is too full
 * for that it stays as it is, as good as before, for whoever opens it next.
 */
int complete_file(sqlite3 *db);

/* Find the parents of processes and the children of forks, as far as they are known. */
int complete_forks(sqlite3 *db);
