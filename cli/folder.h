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
 * Create one beside @to, which must not exist: existing files are never overwritten. 0 or -errno
 * after log_err(): -EEXIST if it exists.
 */
int folder_make(struct folder *folder, const char *to);

/*
 * Rename it, or its file @name, to @to; a file of that name that appeared meanwhile is not
 * replaced.
 */
int folder_keep(struct folder *folder, const char *to);
int folder_give(const struct folder *folder, const char *name, const char *to);

/* Remove it with everything in it, unless it was kept. */
void folder_remove(struct folder *folder);
