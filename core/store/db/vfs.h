#pragma once
/*
 * What SQLite may touch of the machine: a trace, and what belongs beside it.
 * Any thread.
 */

/* The name to open databases with. */
const char *vfs_name(void);

/*
 * May SQLite complete the trace at @path? It, its journal and its WAL must be
 * files of ours that nobody else can write to. 0, or -errno after log_err():
 * -EINVAL what lies beside it is not to be trusted.
 */
int vfs_check(const char *path);
