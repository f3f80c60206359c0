/*
 * Results for a file or standard output
 */
#include "cli/output.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

#include "cli/cli.h"
#include "core/base/text.h"
#include "core/wire/log.h"

int output_check(const char *command, const char *path)
{
	int err = path ? outfile_check(path) : 0;

	if (!err)
		return CLI_FINE;
	if (err != -EEXIST)
		return cli_status(log_err(err, "write %s", path));
	return cli_misuse(command,
			  "'%s' is a trace and will not be overwritten: choose another "
			  "name",
			  path);
}

static int print_text(const struct text *text)
{
	for (size_t at = 0; at < text->used;) {
		ssize_t n = write(STDOUT_FILENO, text->at + at, text->used - at);

		if (n < 0 && errno != EINTR)
			return log_err(-errno, "write to standard output");
		at += n > 0 ? (size_t)n : 0;
	}
	return 0;
}

int output_put(const char *path, const struct text *text)
{
	struct outfile out;
	int err;

	if (!path)
		return print_text(text);
	err = outfile_open(path, &out);
	if (err)
		return err;
	fwrite(text->at, 1, text->used, out.file); /* outfile_close() says if it failed */
	return outfile_close(&out, 0);
}

/* Bypass the screen filter: standard output as it is. */
int output_open(const char *path, struct outfile *ret_output)
{
	return outfile_open(path ?: "/dev/stdout", ret_output);
}
