#pragma once
/*
 * The trace file: recognising, locking and replacing it.
 */
#include <stdbool.h>
#include <stddef.h>

/*
 * Is @path a trace of this version? Returns 0 and whether somebody was not
 * done with it (it has a WAL, or a journal or WAL lies beside it); or -errno after
 * log_err(): -ENOENT, -EACCES, -EINVAL not a trace or cut off, -EPROTO another
 * version's.
 */
int file_check(const char *path, bool *ret_unfinished);

/*
 * Make an empty file of our own at @path. A trace that is there and not being
 * recorded is removed first; anything else is refused: -EEXIST, -ELOOP,
 * -EACCES, -EBUSY, after log_err().
 */
int file_make_way(const char *path);

/* Remove @path and what SQLite may have put beside it. */
void file_remove(const char *path);

/* What tells this boot of the machine from another. */
void file_boot_id(char text[64]);
