/*
 * A part of a trace for a replay, and the trace of a replay
 */
#include "cli/replay/replay_part.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "core/store/db/file.h"
#include "core/wire/log.h"

#define RECORDED_ENV "VERBATIM_REPLAY_RECORDED" /* set: a recorder has started us */

static int make_dir(struct replay_part *part)
{
	const char *parent = getenv("TMPDIR");
	int n = snprintf(part->dir, sizeof(part->dir), "%s/verbatim-part-XXXXXX",
			 parent && *parent ? parent : "/var/tmp");

	if (n >= (int)sizeof(part->dir))
		return log_err(-ENAMETOOLONG, "make a directory in $TMPDIR");
	if (!mkdtemp(part->dir))
		return log_err(-errno,
			       "create %s for an excerpt of the trace (set TMPDIR to use another "
			       "place)",
			       part->dir);
	snprintf(part->path, sizeof(part->path), "%s/part.db", part->dir);
	return 0;
}

int replay_part_make(const struct slice *slice, const char *path, struct trace *trace,
		     struct replay_part *ret_part)
{
	struct replay_part part;
	int status;

	if (make_dir(&part))
		return CLI_ENVIRONMENT;
	status = slice_write("replay", slice, path, trace, part.path, true, NULL);
	if (status)
		replay_part_remove(&part);
	else
		*ret_part = part;
	return status;
}

void replay_part_remove(const struct replay_part *part)
{
	file_remove(part->path);
	rmdir(part->dir);
}

bool replay_part_is_recorded(void)
{
	return getenv(RECORDED_ENV);
}

int replay_part_record(const char *output, const char *device, char **again)
{
	char self[PATH_MAX];
	ssize_t length = readlink("/proc/self/exe", self, sizeof(self) - 1);
	size_t n = 0, m = 0;

	while (again[n])
		n++;
	char *argv[n + 9];

	if (length < 0 || setenv(RECORDED_ENV, "1", 1)) {
		log_err(-errno, "record the replay");
		return CLI_ENVIRONMENT;
	}
	self[length] = '\0';
	argv[m++] = again[0];
	argv[m++] = (char *)"record";
	argv[m++] = (char *)"-q";
	argv[m++] = (char *)"-o";
	argv[m++] = (char *)output;
	if (device) {
		argv[m++] = (char *)"-d";
		argv[m++] = (char *)device;
	}
	argv[m++] = (char *)"--";
	argv[m++] = self;
	memcpy(argv + m, again + 1, n * sizeof(*argv)); /* its NULL, too */
	execv(self, argv);
	log_err(-errno, "record the replay");
	return CLI_ENVIRONMENT;
}
