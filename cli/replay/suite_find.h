#pragma once
/*
 * The traces of a folder and of all folders below. One thread.
 */
#include <stddef.h>

struct suite_traces {
	char **paths; /* sorted by folder and name */
	size_t n;
	size_t skip; /* of each path: what the folder's own is */
};

/*
 * Find the files *.db below @dir, without those whose name or folder begins with a dot.
 *
 * Returns 0, or -errno after a message: also where a folder cannot be read, since a suite without
 * its traces would look like one that was replayed, and where there is no trace. @ret_traces is to
 * be given to suite_traces_fini() in any case.
 */
int suite_find(const char *dir, struct suite_traces *ret_traces);

/* Accepts zeroes. */
void suite_traces_fini(struct suite_traces *traces);
