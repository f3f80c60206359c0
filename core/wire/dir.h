#pragma once
/*
 * Opening directories and files in places where others may write: we follow no
 * link, wait for no FIFO and trust no owner. Any thread.
 *
 * Everything in a directory is done by its descriptor: by the next call its name
 * may stand for something else.
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
 * O_RDONLY or O_RDWR. Returns a descriptor and the file's length; or -errno:
 * -EACCES if it is another user's or others may write to it, -EPROTO if it is no
 * plain file.
 */
int dir_open_file(int at, const char *name, int flags, uint64_t *ret_bytes);

/* List directory @at from its beginning. NULL with errno; to be given to closedir(). */
DIR *dir_list(int at);
