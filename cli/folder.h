#pragma once
/*
 * A folder that is created under a temporary name and gets its final name when it is complete. Not
 * thread-safe.
 */
#include <limits.h>

/* All zero: no folder. */
struct folder {
	char path[PATH_MAX];
};

/*
 * Create a folder beside @to. 0 or -errno after log_err(): -EEXIST if @to exists, since existing
 * files are never overwritten.
 */
int folder_make(struct folder *folder, const char *to);

/*
 * Rename the folder, or its file @name, to @to; never replaces a file that appeared there
 * meanwhile.
 */
int folder_move_to(struct folder *folder, const char *to);
int folder_move_file(const struct folder *folder, const char *name, const char *to);

/* Remove the folder and its contents, unless folder_move_to() renamed it. */
void folder_remove(struct folder *folder);
