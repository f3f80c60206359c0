#pragma once
/*
 * A result that is made in memory, and then written in one piece. One thread.
 */
struct text;

/*
 * Write @text as it is: to standard output where @path is NULL, past what makes that printable
 * (cli/screen.h); else to a file that takes the place of @path when it is whole. 0 or -errno after
 * log_err().
 */
int output_put(const char *path, const struct text *text);
