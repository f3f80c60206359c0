/*
 * verbatim record: reads the options; recording.c records
 */
#include <errno.h>
#include <limits.h>
#include <stdio.h>

#include "cli/cli.h"
#include "cli/common.h"
#include "cli/record/core_file.h"
#include "cli/record/device.h"
#include "cli/record/faults.h"
#include "cli/record/filter.h"
#include "cli/record/launch.h"
#include "cli/record/member.h"
#include "cli/record/node.h"
#include "cli/record/live_view.h"
#include "cli/record/output_name.h"
#include "cli/record/recording.h"
#include "cli/record/redact_list.h"
#include "core/wire/budget.h"
#include "core/wire/payload.h"
#include "core/wire/ring.h"
#include "core/wire/tap.h"
#include "core/wire/log.h"

/* An empty trace has 200 KiB of tables and indexes: the limit must leave room for more. */
enum { FILE_MIN = 512 << 10 };

static const char recorded[] =
	"The recording of a program and its children has: verbs with their arguments, "
	"results,\ntimes and stacks; the command line with all arguments, except for passwords "
	"of usual forms\n(--password=, tokens, URLs); the path of the program, names of threads, "
	"paths and build ids of\nlibraries; network addresses; the name and kernel of this machine "
	"and its RDMA devices;\nlimits. --redact replaces some of it. It does not have the "
	"environment, except a\nlist of settings of RDMA libraries without keys (RDMAV_FORK_SAFE, "
	"UCX_TLS...: see\nverbatim-record(1)), nor the contents of messages and of private data "
	"of connections,\nunless --payload is given. Only you may read the trace (mode 0600).";

static int parse_filter(const char *text, void *field, char complaint[OPTIONS_COMPLAINT])
{
	return filter_read(text, field, complaint);
}

static int parse_payload(const char *text, void *field, char complaint[OPTIONS_COMPLAINT])
{
	if (payload_parse(text, field))
		return 0;
	snprintf(complaint, OPTIONS_COMPLAINT,
		 "--payload takes none, hash, full, or a number of bytes up to 64M, not '%.60s'",
		 text);
	return -EINVAL;
}

/* clang-format off */
#define SET struct recording_settings
const struct option_row cli_record_options[] = {
	{ "output", 'o', "FILE", "the trace: %h host, %j job, %n node, %p PID, %r rank, %% a %",
	  TEXT_AT(SET, path), .preset = "verbatim.db" },
	{ "device", 'd', "soft|NAME", "use the software device, or the existing device NAME",
	  TEXT_AT(SET, device), .otherwise = "the machine's device, or soft if it has none" },
	{ "on-full", 0, "wait|drop", "what a thread does when its ring is full",
	  CHOICE_AT(SET, on_full), .least = ON_FULL_WAIT, .preset = "wait" },
	{ "ring-size", 0, "SIZE", "maximum size of a thread's ring, rounded up to a power of two",
	  SIZE_AT(SET, ring_bytes), .least = RING_MIN, .most = RING_MAX, .preset = "4M" },
	{ "ring-budget", 0, "SIZE", "maximum size of all rings of a process",
	  SIZE_AT(SET, ring_budget), .least = BUDGET_MIN,
	  .otherwise = "a quarter of its memory limit" },
	{ "max-wait", 0, "TIME", "how long a thread waits for a stalled recorder",
	  TIME_AT(SET, max_wait), .least = 1, .preset = "10s" },
	{ "linger", 0, "TIME", "how long to wait for descendants that have called no verb",
	  TIME_AT(SET, linger), .preset = "5s" },
	{ "flight", 0, "SIZE", "store only the newest events, in a trace of SIZE; snapshots "
			       "on demand",
	  SIZE_AT(SET, retention.flight), .least = FILE_MIN },
	{ "rotate-size", 0, "SIZE", "begin a new trace when it reaches SIZE",
	  SIZE_AT(SET, retention.rotate_bytes), .least = FILE_MIN },
	{ "rotate-time", 0, "TIME", "begin a new trace whenever TIME has passed",
	  TIME_AT(SET, retention.rotate_ns), .least = 1 },
	{ "filter", 0, "TERMS", "record only some events: plane=, verb=, qp=, device=, 1/N",
	  PARSED_AT(SET, filter, parse_filter), .otherwise = "all" },
	{ "payload", 0, "none|hash|N|full", "which part of message contents to record",
	  PARSED_AT(SET, payload, parse_payload), .preset = "none" },
	REDACT_ROW(SET),
	{ "memory", 0, NULL, "record munmap, free and the like of registered memory",
	  FLAG_AT(SET, memory) },
	{ "strict", 0, NULL, "check the data path more strictly; overwrite invalid fields",
	  FLAG_AT(SET, strict) },
	{ "faults", 0, "FILE", "inject the faults of FILE, on any device", TEXT_AT(SET, faults) },
	{ "lttng", 0, NULL, "also emit events as LTTng tracepoints 'verbatim:*'",
	  FLAG_AT(SET, lttng) },
	{ "check", 0, NULL, "print findings while the program runs", FLAG_AT(SET, check) },
	CHECK_ROWS(SET, findings),
	{ "metrics", 0, "FILE|:PORT", "write metrics for Prometheus each second",
	  TEXT_AT(SET, alerts.metrics) },
	{ "on-error", 0, "CMD", "run CMD when something fails, at most once a minute for "
				"each kind",
	  TEXT_AT(SET, alerts.on_error) },
	{ "on-finding", 0, "CMD", "run CMD at a finding of --check, at most once a minute for "
				  "each rule",
	  TEXT_AT(SET, alerts.on_finding) },
	{ "live", 0, NULL, "show live statistics, like `verbatim top`",
	  FLAG_AT(SET, live) },
	{ "stop-on", 0, "error|finding|VERB|STATUS", "stop the program at a failure, for a "
						     "debugger",
	  PARSED_AT(SET, stop, stop_point_parse) },
	{ "core", 0, NULL, "write a core file at a failure with gdb's gcore, and continue",
	  FLAG_AT(SET, core) },
	{ .help = recorded },
};
/* clang-format on */

static uint64_t power_of_two(uint64_t n)
{
	uint64_t power = 1;

	while (power < n)
		power *= 2;
	return power;
}

/* Complete settings that depend on more than one option. Returns 0 or CLI_USAGE. */
static int complete_settings(struct recording_settings *set, const struct arguments *arguments,
			     char path[PATH_MAX])
{
	char complaint[OUTPUT_COMPLAINT];

	if (!arguments->n)
		return cli_misuse("record", "no program given");
	if (set->retention.flight && (set->retention.rotate_bytes || set->retention.rotate_ns))
		return cli_misuse("record", "--flight stores only the newest events, --rotate-* "
					    "all: choose one");
	if (output_name_make(set->path, 0, path, complaint))
		return cli_misuse("record", "%s", complaint);
	set->shared = node_is_shared(set->path);
	if (set->live && set->shared)
		return cli_misuse("record",
				  "--live shows one program, but the trace is that of all "
				  "ranks of this node: use `verbatim top`");
	if (set->live) {
		int status = live_view_check();

		if (status)
			return status;
	}
	set->program = arguments->at;
	set->ring_bytes = power_of_two(set->ring_bytes);
	if (set->core && !set->stop.rule.on)
		set->stop.rule.on = set->stop.rule.errors = true;
	set->stop.rule.core = set->core;
	set->check = set->check || set->stop.finding || set->alerts.on_finding;
	set->alerts.check = set->check;
	set->quiet = set->retention.quiet = common.verbosity == LOG_QUIET;
	return 0;
}

/* Returns 0 or the exit status. The program's process must exist if its pid is needed. */
static int name_trace(struct recording_settings *set, struct launch_held_process *held,
		      char path[PATH_MAX])
{
	char complaint[OUTPUT_COMPLAINT];

	if (output_name_has(set->path, 'p')) {
		int status = launch_hold(set->program, held);

		if (status)
			return status;
		set->held = held;
		if (output_name_make(set->path, held->pid, path, complaint))
			return cli_misuse("record", "%s", complaint);
	}
	set->path = set->retention.path = path;
	return 0;
}

int cli_record(int argc, char **argv)
{
	struct recording_settings set = { 0 };
	struct arguments arguments;
	struct launch_held_process held = { 0 };
	char library[PATH_MAX], path[PATH_MAX];
	int err;

	launch_ignore_signals();
	cli_parse(argc, argv, &set, &arguments);
	err = complete_settings(&set, &arguments, path) ?: alerts_check(&set.alerts);
	if (err)
		return err;
	set.device = device_set_wire(set.device);
	if (device_choose(set.device, DEVICE_SYSFS, &set.soft))
		return CLI_ENVIRONMENT;
	if (set.soft && !set.device && !set.quiet)
		device_report_soft();
	if (!set.soft && !set.quiet)
		device_report_closed(set.device, "");
	if (set.lttng && device_find_library(TAP_LIBRARY, library))
		return CLI_ENVIRONMENT;
	if (set.core && core_find(library))
		return CLI_ENVIRONMENT;
	err = launch_check(set.program[0]);
	if (err)
		return launch_failure_status(err);
	if (set.faults && faults_prepare(set.faults, false))
		return CLI_ENVIRONMENT;
	err = set.check ? check_settings_open("record", &set.findings, &set.known) : 0;
	if (!err)
		err = name_trace(&set, &held, path);
	if (!err)
		err = set.shared ? member_run(&set) : recording_run(&set);
	launch_drop(&held);
	suppressions_close(set.known);
	return err;
}
