#pragma once
/*
 * The trace file: recognising, locking and replacing it.
 */
#include <stdbool.h>
#include <stddef.h>

/*
 * Is @path a trace of this version? Returns 0, and in *@ret_unfinished whether a
 * writer has not finished it (it uses a WAL, or a journal or WAL lies beside it);
 * or -errno after log_err(): -ENOENT, -EACCES, -EINVAL not a trace or truncated,
 * -EPROTO another version's.
 */
int file_check(const char *path, bool *ret_unfinished);

/* Is a trace at @path itself, whatever its version and state? A link to one is none. */
bool file_is_trace(const char *path);

/*
 * Make an empty file of ours at @path. A trace that lies there and is not being
 * recorded is removed first; anything else is an error: -EEXIST, -ELOOP,
 * -EACCES, -EBUSY, after log_err().
 */
int file_make_way(const char *path);

/* Could file_make_way() do that? Removes and makes nothing. */
int file_check_way(const char *path);

/*
 * Move the trace at @path, and what lies beside it, to @path with .before behind, until it is known
 * whether a new one can take its place. One that lies there already stays, for its recorder was
 * killed before it had anything to put into the trace at @path. Returns 1 if a trace is there now,
 * 0, or -errno after log_err(): as file_make_way().
 */
int file_set_aside(const char *path);

/* The new trace at @path takes its place. */
void file_forget_before(const char *path);

/* Remove what is at @path, and move what was set aside back there. */
void file_put_back(const char *path);

enum { FILE_BESIDE = 4096 };

/*
 * Make an empty file for a trace that will take the place of @to when it is whole: @to with .part
 * behind. 0 or -errno after log_err(), also where file_check_way() refuses @to; then there is none.
 */
int file_make_beside(const char *to, char beside[FILE_BESIDE]);

/*
 * Put the finished trace @from in the place of @to, for which file_check_way() said 0; with @sync
 * all of its bytes are on the disk first. 0 or -errno after log_err().
 */
int file_replace(const char *from, const char *to, bool sync);

/* Remove @path and what SQLite may have put beside it. */
void file_remove(const char *path);

/* A text that identifies this boot of the machine. */
void file_boot_id(char text[64]);
