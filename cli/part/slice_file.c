/*
 * A slice of a trace in a private file, in TMPDIR or /var/tmp
 */
#include "cli/part/slice_file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "cli/cli.h"
#include "core/store/db/file.h"
#include "core/store/open.h"
#include "core/store/read/trace.h"
#include "core/wire/log.h"

static int make_dir(struct slice_file *file)
{
	const char *parent = getenv("TMPDIR");
	int n = snprintf(file->dir, sizeof(file->dir), "%s/verbatim-part-XXXXXX",
			 parent && *parent ? parent : "/var/tmp");

	if (n >= (int)sizeof(file->dir))
		return log_err(-ENAMETOOLONG, "make a directory in $TMPDIR");
	if (!mkdtemp(file->dir))
		return log_err(-errno,
			       "create %s for an excerpt of the trace (set TMPDIR to use another "
			       "place)",
			       file->dir);
	snprintf(file->path, sizeof(file->path), "%s/part.db", file->dir);
	return 0;
}

int slice_file_make(const char *command, const struct slice *slice, const char *path,
		    struct trace *trace, struct slice_file *ret_file)
{
	struct slice_file file;
	int status;

	if (make_dir(&file))
		return CLI_ENVIRONMENT;
	status = slice_write(command, slice, path, trace, file.path, true, NULL);
	if (status)
		slice_file_remove(&file);
	else
		*ret_file = file;
	return status;
}

void slice_file_remove(const struct slice_file *file)
{
	if (!*file->path)
		return;
	file_remove(file->path);
	rmdir(file->dir);
}

int slice_file_open(const char *command, const struct slice *slice, const char *path,
		    struct trace **trace, struct slice_file *file)
{
	int status = CLI_FINE;

	if (!slice_is_part(slice))
		return CLI_FINE;
	status = slice_file_make(command, slice, path, *trace, file);
	trace_close(*trace);
	if (!status && trace_open(file->path, trace)) {
		slice_file_remove(file);
		status = CLI_TRACE;
	}
	return status;
}
