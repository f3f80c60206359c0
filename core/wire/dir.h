#pragma once
/*
 * Directories and files beside which others may write, opened so that nothing
 * that was put in the way is followed, waited for or believed. Any thread.
 *
 * All that is done in a directory is done by its descriptor: its name may stand
 * for something else by the next call.
 */
#include <dirent.h>
#include <stdint.h>

/*
 * Open directory @name, itself not a link, in directory @at (AT_FDCWD: the
 * current one). Returns a descriptor; -ENOENT; -ENOTDIR; -EACCES: another
 * user's, or others may write there; or -errno.
 */
int dir_open(int at, const char *name);

/*
 * Open the plain file @name, itself not a link, in directory @at; @flags are
 * O_RDONLY or O_RDWR. It is ours, and nobody else may write to it. Returns a
 * descriptor and the file's length; or -errno, -EACCES where it is another's,
 * -EPROTO where it is no plain file.
 */
int dir_open_file(int at, const char *name, int flags, uint64_t *ret_bytes);

/* List directory @at, from its begin. NULL with errno; for closedir(). */
DIR *dir_list(int at);
