#pragma once
/*
 * Output files of commands, except for traces.
 *
 *	/dev/stdout, /dev/fd/N	the descriptor, at its current position
 *	a pipe, a device	written directly
 *	anything else		a new file beside it replaces it when it is complete
 *
 * So a link is replaced and not followed, the old file stays until the new one is complete, and a
 * failure leaves no file. A new file is readable by its owner only, since it has contents of a
 * trace; but if it replaces a file of this user, it gets that file's mode. A trace is not replaced.
 * Not thread-safe.
 */
#include <stdio.h>

struct outfile {
	const char *path; /* as the user gave it, borrowed */
	/* path of the new file until it is complete; NULL: @path is written directly */
	char *other;
	FILE *file;
};

/*
 * May a result be written to @path? 0; or, without a message, -EEXIST: it is a trace; or another
 * -errno: it cannot be created.
 */
int outfile_check(const char *path);

/* Returns 0 and an outfile for outfile_close(); or -errno after log_err(). */
int outfile_open(const char *path, struct outfile *ret_outfile);

/*
 * Rename the new file to its path, or remove it if @err is set. Returns @err, or -errno after
 * log_err().
 */
int outfile_close(struct outfile *outfile, int err);
