/*
 * verbatim run: a program on the software device, nothing recorded
 *
 * Becomes the program: there is nothing left for us to do.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/record/device.h"
#include "cli/record/launch.h"
#include "cli/options.h"
#include "core/wire/log.h"

enum { DEVICE };

static const struct option_row rows[] = {
	[DEVICE] = { "device", 'd', "soft|NAME", "the software device; or NAME must be there" },
	{ 0 },
};

int cli_run(int argc, char **argv)
{
	struct options options;
	bool soft;
	int err;

	options_parse(argc, argv, rows, true, &options);
	if (!options.nargs)
		return cli_misuse("run", "no program is given");
	if (device_choose(options.value[DEVICE], DEVICE_SYSFS, &soft))
		return CLI_ENVIRONMENT;
	if (soft && !options.value[DEVICE])
		device_tell_soft();
	err = launch_check(options.args[0]);
	if (err)
		return launch_failure(err);
	if (device_environment(NULL, soft))
		return CLI_ENVIRONMENT;
	execvp(options.args[0], options.args);
	return launch_failure(log_err(-errno, "start '%s'", options.args[0]));
}
