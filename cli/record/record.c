/*
 * verbatim record: what the options ask for; recording.c does it
 */
#include <ctype.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/record/device.h"
#include "cli/record/filter.h"
#include "cli/record/launch.h"
#include "cli/options.h"
#include "cli/record/recording.h"
#include "core/wire/budget.h"
#include "core/wire/payload.h"
#include "core/wire/ring.h"
#include "core/base/size.h"
#include "core/wire/tap.h"

enum { ROTATE_MIN = 1 << 20 };

enum {
	OUTPUT, DEVICE, ON_FULL, RING_SIZE, RING_BUDGET, MAX_WAIT, FLIGHT, ROTATE_SIZE, ROTATE_TIME, FILTER, PAYLOAD, LTTNG,
	CHECK, STOP_ON, QUIET
};

static const char recorded[] =
	"Of the program and its children is recorded: verbs with their arguments, results, times and\n"
	"stacks; the command line with all arguments, the program's path, names of threads, paths and\n"
	"build ids of libraries; addresses of the network; this machine's name and kernel, its RDMA\n"
	"devices. Not the environment; and of messages and the private data of connections only their\n"
	"length, unless --payload asks for more. Nobody but you may read the trace (mode 0600).";

static const struct option_row rows[] = {
	[OUTPUT] = { "output", 'o', "FILE", "the trace; verbatim.db" },
	[DEVICE] = { "device", 'd', "soft|NAME", "the software device; or NAME must be there" },
	[ON_FULL] = { "on-full", 0, "wait|drop", "what a full ring does; wait" },
	[RING_SIZE] = { "ring-size", 0, "BYTES", "of each thread's ring at most; 4M" },
	[RING_BUDGET] = { "ring-budget", 0, "SIZE", "of all rings of a process; a quarter of its memory limit" },
	[MAX_WAIT] = { "max-wait", 0, "TIME", "for a recorder that stands still, then drop; 10s" },
	[FLIGHT] = { "flight", 0, "SIZE", "keep the last SIZE of the data plane; copies on demand" },
	[ROTATE_SIZE] = { "rotate-size", 0, "SIZE", "begin a new trace when it has grown by SIZE" },
	[ROTATE_TIME] = { "rotate-time", 0, "TIME", "begin a new trace every 90s, 10m, 6h, 1d" },
	[FILTER] = { "filter", 0, "TERMS", "plane=, verb=, qp=, device=, 1/N; all" },
	[PAYLOAD] = { "payload", 0, "none|hash|N|full", "what to keep of the bytes that are moved; none" },
	[LTTNG] = { "lttng", 0, NULL, "the events as LTTng tracepoints 'verbatim:*', too" },
	[CHECK] = { "check", 0, NULL, "print findings while the program runs" },
	[STOP_ON] = { "stop-on", 0, "error", "stop the program there, for a debugger; implies --check" },
	[QUIET] = { "quiet", 'q', NULL, "say nothing but failures and loss" },
	{ .help = recorded },
};

/* Up to a power of two; 0 where that is no size of a ring. */
static uint64_t parse_size(const char *text)
{
	uint64_t n = size_parse(text), bytes = RING_MIN;

	if (n < RING_MIN || n > RING_MAX)
		return 0;
	while (bytes < n)
		bytes *= 2;
	return bytes;
}

static int read_keep(struct keep *keep, const struct options *options)
{
	const char *flight = options->value[FLIGHT], *size = options->value[ROTATE_SIZE];
	const char *age = options->value[ROTATE_TIME];

	keep->flight = flight ? size_parse(flight) : 0;
	keep->rotate_bytes = size ? size_parse(size) : 0;
	keep->rotate_ns = age ? options_time(age) : 0;
	if (flight && !keep->flight)
		return cli_misuse("record", "--flight is a size as 64M, not '%s'", flight);
	if (size && keep->rotate_bytes < ROTATE_MIN)
		return cli_misuse("record", "--rotate-size is 1M or more, not '%s'", size);
	if (age && !keep->rotate_ns)
		return cli_misuse("record", "--rotate-time is a time as 90s, 10m, 6h or 1d, not '%s'",
				  age);
	if (flight && (size || age))
		return cli_misuse("record", "--flight keeps the last, --rotate all: choose one");
	return 0;
}

/* "250ms", too. */
static uint64_t parse_wait(const char *text)
{
	char *end;
	unsigned long long n = strtoull(text, &end, 10);

	return isdigit((unsigned char)*text) && !strcmp(end, "ms") && n < UINT32_MAX ?
		       n * 1000000 :
		       options_time(text);
}

/* What recording may cost the program. */
static int read_bounds(struct recording_settings *set, const struct options *options)
{
	const char *budget = options->value[RING_BUDGET], *wait = options->value[MAX_WAIT];

	set->ring_budget = budget ? size_parse(budget) : 0;
	set->max_wait = wait ? parse_wait(wait) : 0;
	if (budget && set->ring_budget < BUDGET_MIN)
		return cli_misuse("record", "--ring-budget is a size from 1M on, not '%s'", budget);
	if (wait && !set->max_wait)
		return cli_misuse("record", "--max-wait is a time as 250ms, 10s or 5m, not '%s'", wait);
	return read_keep(&set->keep, options);
}

static int read_options(struct recording_settings *set, const struct options *options)
{
	const char *full = options->value[ON_FULL];
	const char *size = options->value[RING_SIZE];
	char complaint[256];
	const char *stop = options->value[STOP_ON];

	if (!options->nargs)
		return cli_misuse("record", "no program is given");
	if (full && strcmp(full, "wait") && strcmp(full, "drop"))
		return cli_misuse("record", "--on-full is wait or drop, not '%s'", full);
	if (stop && strcmp(stop, "error"))
		return cli_misuse("record", "--stop-on is error, not '%s'", stop);
	set->stop_on_error = stop;
	set->check = options->value[CHECK] || stop;
	set->ring_bytes = size ? parse_size(size) : RING_BYTES;
	if (!set->ring_bytes)
		return cli_misuse("record", "--ring-size is 256k to 1024M, not '%s'", size);
	set->on_full = full && !strcmp(full, "drop") ? ON_FULL_DROP : ON_FULL_WAIT;
	set->path = options->value[OUTPUT] ? options->value[OUTPUT] : "verbatim.db";
	set->device = options->value[DEVICE];
	set->lttng = options->value[LTTNG];
	set->quiet = options->value[QUIET];
	set->program = options->args;
	set->keep.path = set->path;
	set->keep.quiet = set->quiet;
	if (options->value[FILTER] &&
	    filter_read(options->value[FILTER], &set->filter, complaint))
		return cli_misuse("record", "--filter: %s", complaint);
	if (!payload_parse(options->value[PAYLOAD], &set->payload))
		return cli_misuse("record", "--payload is none, hash, full, or so many first bytes up "
					    "to 64M, not '%s'", options->value[PAYLOAD]);
	return read_bounds(set, options);
}

int cli_record(int argc, char **argv)
{
	struct recording_settings set = { 0 };
	struct options options;
	char library[PATH_MAX];
	int err;

	launch_guard();
	options_parse(argc, argv, rows, true, &options);
	err = read_options(&set, &options);
	if (err)
		return err;
	if (device_choose(set.device, DEVICE_SYSFS, &set.soft))
		return CLI_ENVIRONMENT;
	if (set.soft && !set.device && !set.quiet)
		device_tell_soft();
	if (set.lttng && device_library(TAP_LIBRARY, library))
		return CLI_ENVIRONMENT;
	err = launch_check(set.program[0]);
	if (err)
		return launch_failure(err);
	return recording_run(&set);
}
