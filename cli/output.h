#pragma once
/*
 * A result for a file (core/store/outfile.h says which) or standard output. One thread.
 */
#include <stdio.h>

#include "core/store/outfile.h"

struct text;

/*
 * May @command make @path? 0; or as cli_misuse() where it is a trace, which only another trace may
 * replace. Accepts NULL.
 */
int output_check(const char *command, const char *path);

/*
 * Write @text as it is: to standard output where @path is NULL, past what makes that printable
 * (cli/screen.h); else to a file. 0 or -errno after log_err().
 */
int output_put(const char *path, const struct text *text);

/*
 * The same of a result that is written as it is made. Returns 0 and an outfile to be given to
 * outfile_close(); or -errno after log_err().
 */
int output_open(const char *path, struct outfile *ret_output);
