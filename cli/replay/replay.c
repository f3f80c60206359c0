/*
 * verbatim replay: makes the recorded calls again, and compares the results
 *
 * The software device is a library that is preloaded before libibverbs, so the command starts
 * itself again with that library in its environment, on its own fabric (replay_child.c). It also
 * starts itself again for a part of a trace, which is first written as a trace
 * (VERBATIM_REPLAY_PART) and removed afterwards.
 *
 * Not here: which part (slice.c), the replay in this process (replay_in_process.c).
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "cli/output.h"
#include "cli/part/slice_file.h"
#include "cli/record/device.h"
#include "cli/replay/persona.h"
#include "cli/replay/replay_child.h"
#include "cli/replay/replay_key.h"
#include "cli/replay/replay_memory.h"
#include "cli/replay/replay_part.h"
#include "cli/replay/replay_priv.h"
#include "cli/replay/suite_run.h"
#include "core/faults/file.h"
#include "core/store/db/deadline.h"
#include "core/store/read/lookup.h"
#include "core/store/read/trace.h"
#include "core/wire/budget.h"
#include "core/wire/log.h"
#include "replay/two_host/meet.h"
#include "replay/report/tolerate.h"

enum { PACE_MAX = 1000000000, LOOP_MAX = 1000000, SIZE_MAX_FACTOR = 1 << 20, RANKS_MAX = 1 << 12 };

#define PART_ENV "VERBATIM_REPLAY_PART" /* set: we are the child; the path of the part */

/* @field: double; 0 without gaps, 1 as recorded, N times as fast. */
static int parse_pace(const char *text, void *field, char complaint[OPTIONS_COMPLAINT])
{
	double *pace = field;
	char *end;

	(void)complaint;
	if (!strcmp(text, "asap") || !strcmp(text, "recorded")) {
		*pace = *text == 'r';
		return 0;
	}
	*pace = *text == 'x' ? strtod(text + 1, &end) : 0;
	return *pace > 0 && *pace <= PACE_MAX && !*end ? 0 : -EINVAL;
}

/* @field: double; "x2" or "2", a factor. */
static int parse_factor(const char *text, void *field, char complaint[OPTIONS_COMPLAINT])
{
	double *factor = field;
	char *end;

	(void)complaint;
	*factor = strtod(text + (*text == 'x'), &end);
	return *factor > 0 && *factor <= SIZE_MAX_FACTOR && !*end ? 0 : -EINVAL;
}

/* @field: const char * */
static int parse_mix(const char *text, void *field, char complaint[OPTIONS_COMPLAINT])
{
	const char **mix = field;

	(void)complaint;
	*mix = text;
	return traffic_check_mix(text) ? 0 : -EINVAL;
}

/* clang-format off */
const struct option_row cli_replay_options[] = {
	{ "device", 'd', "soft|NAME", "replay on the software device, or on NAME, in place of all "
				      "recorded devices",
	  TEXT_AT(struct replay_settings, device),
	  .otherwise = "the machine's device, or soft if it has none" },
	{ "pace", 0, "asap|recorded|xN", "speed: as fast as possible, as recorded, or N times "
					   "that",
	  PARSED_AT(struct replay_settings, replay.pace, parse_pace), .preset = "asap",
	  .former = 'p' },
	{ "threads", 'T', "recorded|serial|auto",
	  "one thread per recorded thread, one for all, or the faster of the two",
	  CHOICE_AT(struct replay_settings, replay.threads), .preset = "auto" },
	{ "processes", 0, NULL, "one process per recorded process, forked at the same points",
	  FLAG_AT(struct replay_settings, replay.processes) },
	{ "open-loop", 0, NULL,
	  "send the requests at their recorded times, completed or not; compare nothing",
	  FLAG_AT(struct replay_settings, open_loop) },
	{ "scale-ranks", 0, "N",
	  "like --open-loop, with N times as many ranks, if their pattern can be continued",
	  NUMBER_AT(struct replay_settings, changes.ranks), .least = 1, .most = RANKS_MAX },
	{ "size", 0, "xN", "like --open-loop, with N times as many bytes in each request",
	  PARSED_AT(struct replay_settings, changes.size, parse_factor) },
	{ "mix", 0, "TRACE:N[,TRACE:N...]",
	  "like --open-loop, for several traces at once, each with N shares of the requests",
	  PARSED_AT(struct replay_settings, changes.mix, parse_mix) },
	{ "suite", 0, "DIR",
	  "replay all traces of this folder on each of --device NAME,NAME...; print a table",
	  TEXT_AT(struct replay_settings, suite) },
	SLICE_OPTIONS(struct replay_settings),
	{ "listen", 0, "[ADDR:]PORT",
	  "wait for the replay of the other end, on another host, to connect",
	  TEXT_AT(struct replay_settings, pair.listen) },
	{ "peer", 0, "HOST:PORT", "connect to the replay of the other end, on another host",
	  TEXT_AT(struct replay_settings, pair.peer) },
	{ "key", 0, "FILE", "the key that both hosts share",
	  TEXT_AT(struct replay_settings, key), .otherwise = "value of VERBATIM_REPLAY_KEY" },
	{ "peer-wait", 0, "SECONDS", "how long to wait for the other host",
	  TIME_AT(struct replay_settings, pair.wait), .least = 1, .preset = "60s" },
	{ "wait", 0, NULL, "do not destroy live objects at the end, until Enter or a signal",
	  FLAG_AT(struct replay_settings, wait) },
	{ "loop", 0, "N", "replay N times",
	  NUMBER_AT(struct replay_settings, loop), .least = 1, .most = LOOP_MAX,
	  .otherwise = "once" },
	{ "warmup", 0, "N", "first replay N more times, compared but not timed",
	  NUMBER_AT(struct replay_settings, warmup), .most = LOOP_MAX },
	{ "record", 0, "FILE", "record the replay itself to this trace",
	  TEXT_AT(struct replay_settings, output), .former = 'o' },
	{ "report", 'r', "FILE", "also write the report to FILE, as JSON",
	  TEXT_AT(struct replay_settings, report) },
	{ "format", 'f', "text|json|junit", "output format",
	  CHOICE_AT(struct replay_settings, format), .preset = "text" },
	CLI_JSON(struct replay_settings, format, REPLAY_JSON),
	{ "timeout", 0, "SECONDS", "how long to wait for a completion or an event",
	  TIME_AT(struct replay_settings, replay.timeout), .least = 1, .preset = "10s",
	  .former = 't' },
	{ "faults", 0, "recorded|none",
	  "errors that the traffic does not cause: inject them as recorded, or not",
	  CHOICE_AT(struct replay_settings, replay.faults),
	  .otherwise = "recorded on the software device" },
	{ "maker", 0, "device|recorder",
	  "what injects them: the software device, or the recorder's library, on any device",
	  CHOICE_AT(struct replay_settings, maker),
	  .otherwise = "the software device, if it is used" },
	{ "cm", 0, "recorded|verbs",
	  "calls of librdmacm: repeat them, with their events, or only the verbs inside them",
	  CHOICE_AT(struct replay_settings, replay.cm), .preset = "recorded" },
	{ "persona", 0, "recorded|none",
	  "limits, ports and addresses of the software device: as recorded, or its own",
	  CHOICE_AT(struct replay_settings, persona), .preset = "recorded" },
	{ "max-memory", 0, "SIZE", "maximum memory for regions and queues of the recording",
	  SIZE_AT(struct replay_settings, replay.max_memory),
	  .otherwise = "a quarter of the available memory", .former = 'm' },
	{ "tolerate", 0, "FILE", "file of divergences to ignore, one per line",
	  TEXT_AT(struct replay_settings, tolerate) },
	{ "fail-fast", 0, NULL, "stop at the first divergence",
	  FLAG_AT(struct replay_settings, fail_fast) },
	{ "skip-unsupported", 0, NULL, "leave out operations that this device does not support",
	  FLAG_AT(struct replay_settings, replay.skip_unsupported) },
	{ "allow-partial", 0, NULL, "return 0 even if events were left out",
	  FLAG_AT(struct replay_settings, allow_partial) },
	CLI_DEADLINE(struct replay_settings),
	{ 0 },
};
/* clang-format on */

/*
 * The software device has one link, InfiniBand by default: a trace of Ethernet (addresses, raw
 * packets, groups) needs an Ethernet link.
 */
static void choose_link(struct trace *trace)
{
	if (lookup_has_ethernet(trace))
		setenv("VERBATIM_SOFT_LINK", "roce", 0);
}

/* A random sample of posts cannot be replayed: the other side of each may be missing. */
static int refuse_sample(struct trace *trace)
{
	if (trace_sampling_factor(trace) == 1)
		return 0;
	log_note("replay: only one in %u posts and polls was recorded (--filter %s): record "
		 "without 1/N for a replay",
		 trace_sampling_factor(trace), trace_meta(trace, "filter"));
	return CLI_TRACE;
}

/* Read --tolerate. Returns 0 or the exit status. */
static int open_tolerate(const char *path, struct tolerate **ret_tolerate)
{
	char complaint[TOLERATE_COMPLAINT];
	int err = path ? tolerate_open(path, complaint, ret_tolerate) : 0;

	if (err == -EINVAL)
		return cli_misuse("replay", "%s", complaint);
	if (err)
		log_note("replay: %s", complaint);
	return err ? CLI_ENVIRONMENT : 0;
}

/* Messages that would be the same for each replay of a suite are printed once. */
static int replay_of_suite(const struct replay_settings *set, const struct arguments *arguments,
			   char **again)
{
	struct tolerate *tolerate = NULL;
	int status = open_tolerate(set->tolerate, &tolerate);

	tolerate_close(tolerate);
	return status ? status : suite_replay(set, arguments, again);
}

/* Open the trace to be replayed: the given trace, or the part that was copied from it. */
static int open_recording(const struct arguments *given, struct trace **ret_trace)
{
	struct arguments arguments = *given;
	char *part = getenv(PART_ENV);

	if (part && arguments.n == 1)
		arguments.at = &part;
	return cli_open("replay", &arguments, 1, ret_trace);
}

/* Write the selected part of @trace. Returns 0, or the exit status. */
static int write_selected_part(const struct replay_settings *set, const char *path,
			       struct trace *trace, struct slice_file *part)
{
	int status = slice_file_make("replay", &set->slice, path, trace, part);

	if (!status && setenv(PART_ENV, part->path, 1)) {
		slice_file_remove(part);
		status = cli_status(log_err(-ENOMEM, "replay an excerpt of the trace"));
	}
	return status;
}

/* Run a replay that needs the software device, or is of a part of a trace, in another process. */
static int replay_in_child(const struct replay_settings *set, const char *path, struct trace *trace,
			   bool soft, char **again)
{
	bool slice = slice_is_part(&set->slice) && !getenv(PART_ENV);
	struct slice_file part;
	int status = slice ? write_selected_part(set, path, trace, &part) : CLI_FINE;

	if (status)
		return status;
	if (soft)
		choose_link(trace);
	if (soft && set->persona == PERSONA_RECORDED && persona_write_profile(trace))
		status = CLI_ENVIRONMENT;
	if (!status && soft && !set->device)
		device_report_soft();
	if (!status)
		status = replay_as_child(again, soft, !set->replay.pair);
	if (slice)
		slice_file_remove(&part);
	return status;
}

/* Refuse a trace that cannot be replayed before the recording replaces an older trace. */
static int record_replay(const struct replay_settings *set, const struct arguments *arguments,
			 char **again)
{
	struct tolerate *tolerate = NULL;
	struct trace *trace;
	int status = open_tolerate(set->tolerate, &tolerate);

	tolerate_close(tolerate);
	if (!status)
		status = cli_open("replay", arguments, 1, &trace);
	if (status)
		return status;
	status = refuse_sample(trace);
	if (!status)
		status = slice_find("replay", &set->slice, trace);
	trace_close(trace);
	return status ? status : replay_part_record(set->output, set->device, again);
}

/* Check the options of a pair: both hosts need them. Returns 0 or the exit status. */
static int check_pair(struct replay_settings *set, char key[REPLAY_KEY_MOST])
{
	const char *text = set->pair.listen ?: set->pair.peer;
	struct meet_address at;

	if (!text)
		return 0;
	if (set->pair.listen && set->pair.peer)
		return cli_misuse("replay", "give --listen on one host, --peer on the other");
	if (meet_parse(text, set->pair.listen, &at))
		return cli_misuse("replay",
				  set->pair.listen ? "--listen takes [ADDR:]PORT, not '%s'"
						   : "--peer takes HOST:PORT, not '%s'",
				  text);
	if (set->suite || set->loop || set->warmup || set->replay.processes ||
	    slice_is_part(&set->slice))
		return cli_misuse("replay", "--listen and --peer replay one whole trace once, "
					    "without --processes");
	set->pair.key = key;
	set->replay.pair = &set->pair;
	return replay_key_read(set->key, key, &set->pair.key_length);
}

/* The output must not be the trace that is read. */
static int check_use(const struct replay_settings *set, const struct arguments *arguments)
{
	for (int i = 0; i < arguments->n; i++) {
		const char *path = arguments->at[i];

		if (set->output && cli_is_same_file(path, set->output))
			return cli_misuse("replay",
					  "'%s' is the input trace: choose another name for the "
					  "trace of the replay",
					  path);
		if (set->report && cli_is_same_file(path, set->report))
			return cli_misuse("replay",
					  "'%s' is the input trace: choose another name "
					  "for the report",
					  path);
	}
	if (set->report && set->output && !strcmp(set->report, set->output))
		return cli_misuse("replay", "-o and --report are both '%s'", set->report);
	return output_check("replay", set->report) ?: slice_check("replay", &set->slice, 1);
}

/* Must the recorder's library inject faults, and is it not preloaded yet? */
static bool needs_recorder(const struct replay_settings *set, bool soft)
{
	if (getenv(FAULTS_GIVEN_ENV) || set->replay.faults == FAULTS_NONE)
		return false;
	return set->maker == MAKER_RECORDER || (!soft && set->replay.faults == FAULTS_RECORDED);
}

static int replay_trace(struct replay_settings *set, const char *path, struct trace *trace,
			struct tolerate *tolerate, char **again)
{
	bool soft = false, slice = slice_is_part(&set->slice), given;
	struct text part = { 0 };
	int status;

	set->replay.stands_in = replay_child_is() && persona_is_other_device(trace);
	set->replay.described = replay_child_is() && persona_is_taken();
	status = refuse_sample(trace);
	if (!status && !replay_child_is() && device_choose(set->device, DEVICE_SYSFS, &soft))
		status = CLI_ENVIRONMENT;
	if (status)
		return status;
	given = !replay_child_is() && needs_recorder(set, soft);
	if (given && setenv(FAULTS_GIVEN_ENV, "1", 1))
		return cli_status(log_err(-errno, "set " FAULTS_GIVEN_ENV));
	if (soft || given || (slice && !getenv(PART_ENV)))
		return replay_in_child(set, path, trace, soft, again);
	if (!replay_child_is())
		device_report_closed(set->device, "");
	slice_describe(&set->slice, &part);
	status = replay_in_process(trace, set, path, slice ? part.at : NULL, tolerate);
	text_fini(&part);
	return status;
}

int cli_replay(int argc, char **argv)
{
	struct replay_settings set = { .replay.tell = cli_progress,
				       .replay.faults = FAULTS_DEFAULT,
				       .replay.max_memory = REPLAY_MEMORY_DEFAULT };
	struct arguments arguments;
	struct tolerate *tolerate = NULL;
	struct trace *trace;
	char *again[argc + 2]; /* before the options are reordered */
	char key[REPLAY_KEY_MOST];
	int status;

	again[0] = (char *)"verbatim";
	memcpy(again + 1, argv, ((size_t)argc + 1) * sizeof(*argv));
	cli_parse(argc, argv, &set, &arguments);
	set.device = device_set_wire(set.device);
	set.replay.device = replay_child_is() ? NULL : set.device;
	if (set.replay.max_memory == REPLAY_MEMORY_DEFAULT)
		set.replay.max_memory = replay_memory_default(
			replay_memory_available(NULL, budget_cgroup_limit(NULL, NULL)));
	if (replay_load_is_asked(&set, &arguments))
		return replay_load(&set, &arguments, again);
	status = check_pair(&set, key);
	if (!status && set.suite && !getenv(SUITE_ENV))
		return replay_of_suite(&set, &arguments, again);
	status = status ?: check_use(&set, &arguments);
	if (!status && set.output && !replay_part_is_recorded())
		return record_replay(&set, &arguments, again);
	if (!status)
		status = open_tolerate(set.tolerate, &tolerate);
	if (set.deadline)
		deadline_start((uint64_t)set.deadline);
	if (!status)
		status = open_recording(&arguments, &trace);
	if (!status) {
		status = replay_trace(&set, arguments.at[0], trace, tolerate, again);
		trace_close(trace);
	}
	tolerate_close(tolerate);
	return status;
}
