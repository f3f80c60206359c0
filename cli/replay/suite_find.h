#pragma once
/*
 * The traces of a folder and of all folders below. Not thread-safe.
 */
#include <stddef.h>

struct suite_traces {
	char **paths; /* sorted by folder and name */
	size_t n;
	size_t skip; /* length of the folder's own name in each path */
};

/*
 * Find the files *.db below @dir, without those whose name or folder begins with a dot.
 *
 * Returns 0, or -errno after a message: also if a folder cannot be read, since the suite would look
 * complete without its traces, and if there is no trace. Call suite_traces_fini() in any case.
 */
int suite_find(const char *dir, struct suite_traces *ret_traces);

/* Accepts zeroes. */
void suite_traces_fini(struct suite_traces *traces);
