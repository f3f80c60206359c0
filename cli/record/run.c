/*
 * verbatim run: runs a program on the software device, without recording
 *
 * The program is executed in place of this process, which has nothing left to do.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/record/device.h"
#include "cli/record/faults.h"
#include "cli/record/launch.h"
#include "core/wire/log.h"

struct settings {
	const char *device, *faults;
};

/* clang-format off */
const struct option_row cli_run_options[] = {
	{ "device", 'd', "soft|NAME", "use the software device, or the existing device NAME",
	  TEXT_AT(struct settings, device), .otherwise = "the machine's device, or soft if it has "
							 "none" },
	{ "faults", 0, "FILE", "inject the faults of FILE, on any device",
	  TEXT_AT(struct settings, faults) },
	{ 0 },
};
/* clang-format on */

int cli_run(int argc, char **argv)
{
	struct settings set = { 0 };
	struct arguments arguments;
	bool soft;
	int err;

	cli_parse(argc, argv, &set, &arguments);
	if (!arguments.n)
		return cli_misuse("run", "no program given");
	set.device = device_set_wire(set.device);
	if (device_choose(set.device, DEVICE_SYSFS, &soft))
		return CLI_ENVIRONMENT;
	if (soft && !set.device)
		device_report_soft();
	if (!soft)
		device_report_closed(set.device, "");
	err = launch_check(arguments.at[0]);
	if (err)
		return launch_failure_status(err);
	if (set.faults && faults_prepare(set.faults, true))
		return CLI_ENVIRONMENT;
	if (device_set_environment(NULL, soft))
		return CLI_ENVIRONMENT;
	execvp(arguments.at[0], arguments.at);
	return launch_failure_status(log_err(-errno, "start '%s'", arguments.at[0]));
}
