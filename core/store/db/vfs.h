#pragma once
/*
 * Limits the files that SQLite may access to a trace, its journal and its WAL. Any
 * thread.
 */

/* The name of the VFS, for opening databases. */
const char *vfs_name(void);

/* The errno of the last failed read or write of this thread, which SQLite does not pass on. */
int vfs_error(void);

/*
 * May SQLite roll back the journal or read the WAL of the trace at @path? The trace, its journal
 * and its WAL must belong to this user and be writable by nobody else. 0, or -errno after
 * log_err(): -EINVAL the journal or WAL cannot be trusted.
 */
int vfs_check(const char *path);
