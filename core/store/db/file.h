#pragma once
/*
 * The trace file: recognising, locking and replacing it.
 */
#include <stdbool.h>
#include <stddef.h>

/*
 * Is @path a trace of this version? Returns 0, and in *@ret_unfinished whether a writer has not
 * finished it (it uses a WAL, or a journal or WAL exists beside it); or -errno after log_err():
 * -ENOENT, -EACCES, -EINVAL not a trace, or truncated; -EPROTO of another version.
 */
int file_check(const char *path, bool *ret_unfinished);

/*
 * Is there a trace at @path, whatever its version and state? False if @path is a link to a trace.
 */
bool file_is_trace(const char *path);

/*
 * Create an empty file at @path. An existing trace is removed first unless it is being recorded;
 * any other file there is an error: -EEXIST, -ELOOP, -EACCES, -EBUSY, after log_err().
 */
int file_create_replacing(const char *path);

/*
 * May a trace be written to @path? Yes if @path does not exist, or is a trace that is not being
 * recorded and can be renamed to @path.old. Changes no file; returns the same as
 * file_create_replacing().
 */
int file_check_replace(const char *path);

/*
 * Rename the trace at @path, with its journal and WAL, to @path.before, until it is known whether a
 * new one will replace it. An existing @path.before is not replaced: it belongs to a recorder that
 * was killed before it wrote to @path. Returns 1 if @path.before now exists, 0 if not, or -errno
 * after log_err(), as file_create_replacing().
 */
int file_set_aside(const char *path);

/*
 * Rename the trace at @path, if there is one, with its journal and WAL, to @name.old, in place of
 * an older one. 0 or -errno after log_err().
 */
int file_keep_old(const char *path, const char *name);

/* The new trace at @path replaces the old one: rename @path.before to @path.old. */
void file_forget_before(const char *path);

/* Remove the file at @path, and rename @path.before back to @path. */
void file_restore_before(const char *path);

enum { FILE_BESIDE = 4096 };

/*
 * Create an empty file @to.part for a trace that will replace @to when it is complete. 0 or -errno
 * after log_err(), also if file_check_replace() refuses @to; then no file is created.
 */
int file_make_beside(const char *to, char beside[FILE_BESIDE]);

/* Sync @path: what was written to it is then on the disk. 0 or -errno, without a message. */
int file_sync(const char *path);

/*
 * Rename the finished trace @from to @to, for which file_check_replace() returned 0; an existing
 * trace is kept as @to.old. With @sync, @from is synced to the disk first. 0 or -errno after
 * log_err().
 */
int file_replace(const char *from, const char *to, bool sync);

/* Remove @path and the files of SQLite beside it. */
void file_remove(const char *path);

/* A text that identifies this boot of the machine. */
void file_boot_id(char text[64]);
