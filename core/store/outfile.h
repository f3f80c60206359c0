#pragma once
/*
 * Where a command writes a result that is not a trace: all of them open it here.
 *
 *	/dev/stdout, /dev/fd/N	what the descriptor is, where it stands
 *	a pipe, a device	written to
 *	anything else		a new file beside it takes its place when it is whole
 *
 * So a link is replaced and not followed, what was there stays until the new one is whole, and
 * nothing of a failure is left. A file is readable by its owner only, since what is in it is what a
 * trace holds; one of ours that it replaces leaves it its mode. A trace is not replaced. One
 * thread.
 */
#include <stdio.h>

struct outfile {
	const char *path; /* as given, borrowed */
	char *other;      /* the file until it is whole; NULL: written through */
	FILE *file;
};

/* May a result be written there? 0; or -EEXIST, with nothing said: a trace is there. */
int outfile_check(const char *path);

/* Returns 0 and an outfile to be given to outfile_close(); or -errno after log_err(). */
int outfile_open(const char *path, struct outfile *ret_outfile);

/*
 * The file takes its place, unless @err says that making it failed: then it is removed. Returns
 * @err, or -errno after log_err().
 */
int outfile_close(struct outfile *outfile, int err);
