/*
 * A replay as load
 *
 * How late requests are issued is counted by the workers of the load, which may be processes: their
 * histograms are in shared memory, with all rows allocated, and are summed up at the end.
 *
 * Not here: where the traffic comes from (replay_traffic.c), sending it (replay/load/load_run.c).
 */
#include "cli/replay/replay_priv.h"

#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "analyzer/profile/histogram.h"
#include "cli/cli.h"
#include "cli/model/model_text.h"
#include "cli/output.h"
#include "cli/record/device.h"
#include "cli/replay/replay_child.h"
#include "cli/replay/replay_load_report.h"
#include "cli/replay/replay_part.h"
#include "core/store/db/deadline.h"
#include "core/wire/clock.h"
#include "core/wire/log.h"
#include "replay/report/options.h"

struct lateness {
	struct histogram *of; /* the lateness of each worker's requests */
	size_t bytes;
};

static int make_lateness(struct lateness *lateness, size_t n)
{
	uint64_t *rows;
	void *at;

	lateness->bytes = n * (sizeof(struct histogram) + HISTOGRAM_CLASSES * sizeof(*rows));
	at = mmap(NULL, lateness->bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	if (at == MAP_FAILED)
		return log_err(-errno, "count the times of posts");
	lateness->of = at;
	rows = (uint64_t *)(void *)(lateness->of + n);
	for (size_t i = 0; i < n; i++)
		for (size_t k = 0; k < HISTOGRAM_ROWS; k++, rows += HISTOGRAM_ROW)
			lateness->of[i].rows[k] = rows;
	return 0;
}

static void add_late(void *arg, uint32_t worker, int64_t ns)
{
	struct lateness *lateness = arg;

	histogram_add(&lateness->of[worker], ns);
}

static volatile sig_atomic_t stop_signal;

static void note_signal(int number)
{
	stop_signal = number;
}

/* Catch the signals without SA_RESTART, since they must end a wait of the parent process. */
static void catch_signals(void)
{
	static const int ends[] = { SIGINT, SIGTERM, SIGHUP };
	struct sigaction action = { .sa_handler = note_signal }, old;

	for (size_t i = 0; i < sizeof(ends) / sizeof(*ends); i++)
		if (!sigaction(ends[i], NULL, &old) && old.sa_handler != SIG_IGN)
			sigaction(ends[i], &action, NULL);
}

/* The remaining time of --deadline; 0: no deadline. */
static int64_t time_left(const struct replay_settings *set, uint64_t began)
{
	int64_t spent = (int64_t)(clock_monotonic() - began);

	return !set->deadline ? 0 : set->deadline > spent ? set->deadline - spent : 1;
}

static struct load_options options_of(const struct replay_settings *set, struct lateness *lateness)
{
	return (struct load_options){
		.device = set->replay.device,
		.pace = set->replay.pace > 0 ? set->replay.pace : 1,
		.memory = set->replay.max_memory,
		.timeout = set->replay.timeout,
		.workers = set->replay.processes                     ? LOAD_PROCESSES
			   : set->replay.threads == THREADS_RECORDED ? LOAD_THREADS
								     : LOAD_SERIAL,
		.stop = &stop_signal,
		.late = add_late,
		.arg = lateness,
	};
}

static int print_reports(const struct replay_settings *set, const struct load_report *report)
{
	struct outfile out;
	int err = 0;

	if (set->format == REPLAY_JSON)
		load_report_json(report, stdout);
	else
		load_report_text(report, stdout);
	if (set->report) {
		err = outfile_open(set->report, &out);
		if (!err) {
			load_report_json(report, out.file);
			err = outfile_close(&out, 0);
		}
	}
	if (err)
		return CLI_ENVIRONMENT;
	if (report->result.late)
		return CLI_TRACE;
	return report->result.errors ? CLI_FINDINGS : CLI_FINE;
}

/* Send the traffic of @load on the device. */
static int send_traffic(const struct replay_settings *set, const char *name,
			const struct load *load, uint64_t began)
{
	struct lateness lateness = { 0 };
	struct load_options options = options_of(set, &lateness);
	uint32_t workers = load_workers(load, &options);
	struct load_report report = { .name = name, .load = load, .pace = options.pace };
	int err = make_lateness(&lateness, workers), status;

	if (err)
		return (int)cli_status(err);
	catch_signals();
	options.deadline = time_left(set, began);
	err = load_run(load, &options, &report.result);
	for (uint32_t i = 0; !err && i < workers; i++)
		histogram_merge(&report.lateness, &lateness.of[i]);
	status = err == -ENOSPC ? CLI_TRACE : err ? CLI_ENVIRONMENT : print_reports(set, &report);
	histogram_fini(&report.lateness);
	munmap(lateness.of, lateness.bytes);
	if (stop_signal) {
		fflush(stdout);
		signal(stop_signal, SIG_DFL);
		raise(stop_signal);
	}
	return status;
}

static bool is_given(const char *path)
{
	return path && *path;
}

/* Options that compare results, or order calls, have no meaning here. */
static int check_use(const struct replay_settings *set, const struct arguments *arguments)
{
	bool mix = set->changes.mix;

	if (set->suite || set->loop || set->warmup || set->pair.listen || set->pair.peer ||
	    set->wait || is_given(set->tolerate) || set->fail_fast || set->replay.skip_unsupported)
		return cli_misuse("replay",
				  "a replay as load repeats traffic and compares nothing: it "
				  "cannot be combined with --suite, --loop, --warmup, --listen, "
				  "--peer, --wait, --tolerate, --fail-fast and --skip-unsupported");
	if (set->format == REPLAY_JUNIT)
		return cli_misuse("replay", "the report of a load is text or json");
	if (mix && arguments->n)
		return cli_misuse("replay", "--mix already names the traces: unexpected '%s'",
				  arguments->at[0]);
	if (mix && slice_is_part(&set->slice))
		return cli_misuse("replay", "--mix takes whole traces: write a part with `verbatim "
					    "trim` first");
	if (!mix && arguments->n != 1)
		return arguments->n ? cli_refuse_argument("replay", arguments->at[1])
				    : cli_misuse("replay", "no trace or model given");
	return output_check("replay", set->report) ?: slice_check("replay", &set->slice, 1);
}

bool replay_load_is_asked(const struct replay_settings *set, const struct arguments *arguments)
{
	return set->open_loop || set->changes.ranks || set->changes.size > 0 || set->changes.mix ||
	       (arguments->n && model_is_text(arguments->at[0]));
}

int replay_load(const struct replay_settings *set, const struct arguments *arguments, char **again)
{
	const char *path = set->changes.mix ? NULL : arguments->at[0];
	uint64_t began = clock_monotonic();
	int status = check_use(set, arguments);
	struct load load;
	bool soft = false;

	if (!status && path)
		status = cli_find_file(path) ? CLI_ENVIRONMENT : CLI_FINE;
	if (!status && set->output && !replay_part_is_recorded())
		return replay_part_record(set->output, set->device, again);
	if (!status && !replay_child_is() && device_choose(set->device, DEVICE_SYSFS, &soft))
		status = CLI_ENVIRONMENT;
	if (status)
		return status;
	if (soft) {
		if (!set->device)
			device_report_soft();
		return replay_as_child(again, true, true);
	}
	if (set->deadline)
		deadline_start((uint64_t)set->deadline);
	status = traffic_make(path, &set->slice, &set->changes, set->replay.max_memory, &load);
	if (status)
		return status;
	status = send_traffic(set, path ?: set->changes.mix, &load, began);
	load_fini(&load);
	return status;
}
