#pragma once
/*
 * A folder that is made beside what it is to become, and gets its name when it is whole. One
 * thread.
 */
#include <limits.h>

/* Zeroed there is none. */
struct folder {
	char path[PATH_MAX];
};

/*
 * Make one beside @to, which must not be there: nothing is ever written over. 0 or -errno after
 * log_err(): -EEXIST it is.
 */
int folder_make(struct folder *folder, const char *to);

/* Call it, or its file @name, @to; where something of that name came to be meanwhile, it stays. */
int folder_keep(struct folder *folder, const char *to);
int folder_give(const struct folder *folder, const char *name, const char *to);

/* Remove it with the files in it, unless it was kept. */
void folder_remove(struct folder *folder);
