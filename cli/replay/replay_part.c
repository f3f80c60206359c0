/*
 * Records a replay: `replay --record'
 */
#include "cli/replay/replay_part.h"

#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "core/wire/log.h"

#define RECORDED_ENV "VERBATIM_REPLAY_RECORDED" /* set: a recorder has started us */

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
