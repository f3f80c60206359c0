#pragma once
/*
 * Opening directories and files in directories where others may write, without following a link,
 * waiting on a FIFO or trusting an owner. Any thread.
 *
 * A directory is accessed only through its descriptor, since its name may refer to something else
 * at the next call.
 */
#include <dirent.h>
#include <stdint.h>

/*
 * Open directory @name, which must not be a link, in directory @at (AT_FDCWD: the current one).
 * Returns a descriptor; -ENOENT; -ENOTDIR; -EACCES: it belongs to another user, or others may write
 * to it; or -errno.
 */
int dir_open(int at, const char *name);

/*
 * Open the regular file @name, which must not be a link, in directory @at; @flags are O_RDONLY or
 * O_RDWR. Returns a descriptor and the file's length; or -errno: -EACCES if it belongs to another
 * user or others may write to it, -EPROTO if it is not a regular file.
 */
int dir_open_file(int at, const char *name, int flags, uint64_t *ret_bytes);

/* List directory @at from its beginning; closedir() the result. NULL with errno on failure. */
DIR *dir_list(int at);

/* Remove directory @name in directory @at with its contents, as far as possible. */
void dir_remove(int at, const char *name);
