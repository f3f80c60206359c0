#pragma once
/*
 * A result that is made in memory, and then written in one piece. One thread.
 */
#include <stdio.h>

struct text;

/*
 * Write @text as it is: to standard output where @path is NULL, past what makes that printable
 * (cli/screen.h); else to a file that takes the place of @path when it is whole. 0 or -errno after
 * log_err().
 */
int output_put(const char *path, const struct text *text);

/* A result that is too long for that, written as it is made. */
struct output {
	const char *path; /* as given, borrowed; NULL: standard output */
	char *other;      /* the file until it is whole; NULL: it is none, but a pipe or a device */
	FILE *file;
};

/* Returns 0 and an output to be given to output_close(); or -errno after log_err(). */
int output_open(const char *path, struct output *ret_output);

/*
 * The output takes the place of its path, unless @err says that making it failed: then it is gone.
 * Returns @err, or -errno after log_err().
 */
int output_close(struct output *output, int err);
