#pragma once
/*
 * Output of a result to a file (core/store/outfile.h describes which) or standard output. Not
 * thread-safe.
 */
#include <stdio.h>

#include "core/store/outfile.h"

struct text;

/*
 * May @command create @path? 0; as cli_misuse() if it is a trace, which only another trace may
 * replace; or CLI_ENVIRONMENT after log_err(). Accepts NULL.
 */
int output_check(const char *command, const char *path);

/*
 * Write @text unchanged: to standard output if @path is NULL, bypassing the filter of cli/screen.h;
 * else to a file. 0 or -errno after log_err().
 */
int output_put(const char *path, const struct text *text);

/*
 * The same for a result that is written piece by piece. Returns 0 and an outfile for
 * outfile_close(); or -errno after log_err().
 */
int output_open(const char *path, struct outfile *ret_output);
