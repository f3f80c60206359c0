/*
 * verbatim torture: every error path of a program once
 *
 * 	two runs --> sites (sites.c) --> failures (failures.c) --> a run of each (run.c)
 * 	       \                                                       |
 * 	        reference ------------------------------------> verdict (verdict.c)
 *
 * Each run on the software device has its own fabric, so that runs can be concurrent; on another
 * device the recorder injects the failures. Failures are numbered by the reference, so the same
 * program has the same numbers. Verdicts are also written into a file (progress.c), from which a
 * stopped torture continues.
 */
#include <errno.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/format.h"
#include "cli/record/device.h"
#include "cli/record/launch.h"
#include "cli/torture/progress.h"
#include "cli/torture/reduced.h"
#include "cli/torture/results.h"
#include "core/wire/clock.h"
#include "core/store/db/file.h"
#include "core/wire/log.h"

enum { JOBS_MAX = 64, REFERENCE_RUNS = 2, FIRST_PORT = 21000 };
#define SECOND   1000000000ull
#define CHAOS_NS (10 * SECOND) /* ns for which a thread of a run may be held */

enum format { TEXT, JSON, JUNIT, SARIF, HTML };
enum maker { MAKER_DEVICE, MAKER_RECORDER };

struct settings {
	unsigned int format, maker;
	const char *folder, *only, *device, *baseline;
	uint32_t jobs, again, ports, chaos, runs;
	int64_t timeout, budget, reduce;
	bool every, list, resume;
};

const struct option_row cli_torture_options[] = {
	{ "format", 'f', "text|json|junit|sarif|html", "output format",
	  CHOICE_AT(struct settings, format), .preset = "text" },
	CLI_JSON(struct settings, format, JSON),
	{ "output", 'o', "DIR",
	  "the directory for traces of failures that the program does not handle",
	  TEXT_AT(struct settings, folder), .preset = "torture" },
	{ "device", 'd', "soft|NAME", "use the software device, or the existing device NAME",
	  TEXT_AT(struct settings, device), .preset = "soft" },
	{ "maker", 0, "device|recorder",
	  "what injects the failures: the software device, or the recorder, on any device",
	  CHOICE_AT(struct settings, maker), .otherwise = "the software device, if it is used" },
	{ "list", 'l', NULL,
	  "print the list of failures and the time to try them, without trying them",
	  FLAG_AT(struct settings, list) },
	{ "every", 0, NULL,
	  "also try each errno and status, last calls, first and last deaths: several times as "
	  "many runs",
	  FLAG_AT(struct settings, every) },
	{ "only", 0, "TEXT", "only failures whose line in the list contains TEXT",
	  TEXT_AT(struct settings, only) },
	{ "again", 0, "N", "only failure N of the list; always writes its trace",
	  NUMBER_AT(struct settings, again), .least = 1 },
	{ "chaos", 0, "SEED",
	  "inject no failure; delay threads and completions at random, starting with this seed",
	  NUMBER_AT(struct settings, chaos), .least = 1 },
	{ "runs", 0, "N", "the number of runs of --chaos", NUMBER_AT(struct settings, runs),
	  .least = 1, .most = 10000, .preset = "20" },
	{ "baseline", 0, "FILE",
	  "count, but do not list, the failures in FILE, an earlier output of torture --json",
	  TEXT_AT(struct settings, baseline) },
	{ "resume", 0, NULL, "continue a torture that was stopped, or whose budget was used up",
	  FLAG_AT(struct settings, resume) },
	{ "jobs", 'j', "N", "number of parallel runs", NUMBER_AT(struct settings, jobs), .least = 1,
	  .most = JOBS_MAX, .otherwise = "the processors" },
	{ "timeout", 0, "TIME", "the time after which a run is considered hung",
	  TIME_AT(struct settings, timeout), .least = 1,
	  .otherwise = "10 times the time without a failure, plus 2s" },
	{ "budget", 0, "TIME", "start no more runs after this time",
	  TIME_AT(struct settings, budget), .least = 1 },
	{ "reduce", 0, "TIME",
	  "also reduce each trace with a finding to DIR/N.reduced.db, for at most this time",
	  TIME_AT(struct settings, reduce), .least = 1 },
	{ "ports", 0, "N", "the first port for %p in arguments; each run gets 16 of them",
	  NUMBER_AT(struct settings, ports), .least = 1, .most = 60000, .preset = "21000" },
	{ 0 },
};

struct torture {
	const struct settings *set;
	char *const *program;
	char scratch[RUN_PATH - 16]; /* the folder of all runs */
	struct reference reference;
	struct sites sites;
	struct failures failures;
	struct results results;
	struct progress *progress;
	char options[96]; /* to repeat a run */
	struct run runs[JOBS_MAX];
	size_t running[JOBS_MAX];         /* indexes of their results */
	bool each[JOBS_MAX];              /* by job: the call fails each time from then on */
	struct judgement first[JOBS_MAX]; /* of the first run, if this is ... */
	bool second[JOBS_MAX];            /* by job: it is the second run with its seed */
	bool calm;              /* the program fails by itself with garbage in its memory */
	uint64_t patience, end; /* ns for a run; CLOCK_MONOTONIC when the budget is used up */
};

static volatile sig_atomic_t stopped; /* the signal that stopped the torture; 0: none */

static void stop_torture(int signal)
{
	stopped = signal;
}

static void sleep_5_ms(void)
{
	nanosleep(&(struct timespec){ .tv_nsec = 5000000 }, NULL);
}

static void init_run_at(const struct torture *t, struct run *run, unsigned int slot,
			const char *name)
{
	snprintf(run->folder, sizeof(run->folder), "%s/%s", t->scratch, name);
	snprintf(run->fabric, sizeof(run->fabric), "/dev/shm/verbatim-torture.%d.%u", (int)getpid(),
		 slot);
	run->port = t->set->ports + slot * RUN_PORTS;
	run->device = t->set->device;
	run->by_recorder = t->set->maker == MAKER_RECORDER;
	run->perturbed = !t->calm;
}

/* The reference */

static int run_reference(struct torture *t, const char *name)
{
	struct run *run = &t->runs[0];
	struct run_end end;
	int err;

	init_run_at(t, run, 0, name);
	err = run_start(run, t->program, NULL,
			t->set->timeout ? (uint64_t)t->set->timeout : 60 * SECOND);
	while (!err && !(err = run_poll(run, &end)) && !stopped)
		sleep_5_ms();
	if (stopped)
		err = -EINTR;
	if (err > 0 && !t->calm && !t->reference.took && (end.late || end.status))
		err = -EAGAIN;
	else if (err > 0)
		err = reference_learn(&t->reference, run, &end);
	run_stop(run);
	return err;
}

/* Run with garbage in freed memory; without it if the program relies on what is in memory. */
static int begin_reference(struct torture *t)
{
	int err = run_reference(t, "reference");

	if (err != -EAGAIN)
		return err;
	t->calm = true;
	run_remove(&t->runs[0]);
	return run_reference(t, "reference");
}

static int learn_reference(struct torture *t)
{
	char path[RUN_PATH + 16];
	int err = 0;

	for (int i = 0; i < REFERENCE_RUNS && !err; i++)
		err = i ? run_reference(t, "again") : begin_reference(t);
	if (err)
		return err;
	t->patience =
		t->set->timeout ? (uint64_t)t->set->timeout : 10 * t->reference.took + 2 * SECOND;
	return sites_read(run_file(&t->runs[0], "trace.db", path), t->runs[0].by_recorder,
			  &t->sites);
}

/* The runs */

static void print_failure(const struct failure *failure, char *line, size_t size)
{
	snprintf(line, size, "%4u  %s%s%s", failure->number, failure->what,
		 *failure->site->place ? " in " : "", failure->site->place);
}

static bool is_wanted(const struct torture *t, const struct failure *failure)
{
	char line[sizeof(failure->what) + SITE_PLACE + 16];

	if (t->set->again)
		return failure->number == t->set->again;
	print_failure(failure, line, sizeof(line));
	return !t->set->only || strstr(line, t->set->only);
}

/* Store the trace of a run as DIR/N.db. */
static int store_trace(const struct torture *t, const struct run *run,
		       const struct failure *failure)
{
	char from[RUN_PATH + 16], to[RUN_PATH + 32];

	snprintf(to, sizeof(to), "%s/%u.db", t->set->folder, failure->number);
	if (file_keep_old(to, to))
		return -EIO;
	if (rename(run_file(run, "trace.db", from), to))
		return log_err(-errno, "move the trace of a failure to %s", to);
	return 0;
}

/* No trace: the run's recorder was killed, perhaps because it could not complete it in time. */
static bool has_no_trace(const struct run *run)
{
	char path[RUN_PATH + 16];

	return access(run_file(run, "trace.db", path), F_OK);
}

static struct judgement judge_without_trace(const struct run_end *end)
{
	struct judgement judgement = { .verdict = end->late ? VERDICT_HANG : VERDICT_MISSED };

	strcpy(judgement.says, end->late ? "the program did not end; no trace was written"
					 : "no trace was written");
	return judgement;
}

static bool may_start(const struct torture *t)
{
	return !stopped && (!t->end || clock_monotonic() < t->end);
}

static int start_run(struct torture *t, unsigned int slot, const char *rule)
{
	return run_start(&t->runs[slot], t->program, rule,
			 t->patience + (t->set->chaos ? CHAOS_NS : 0));
}

/* The program has tried the failed call again: run it with a call that fails each time. */
static int restart_persistent(struct torture *t, unsigned int slot)
{
	const struct failure *failure = t->results.all[t->running[slot]].failure;
	char rule[sizeof(failure->rule) + 4];

	t->each[slot] = true;
	run_remove(&t->runs[slot]);
	failure_make_persistent(failure, rule, sizeof(rule));
	return start_run(t, slot, rule);
}

static void note_each(struct judgement *judgement)
{
	char says[sizeof(judgement->says)];

	strcpy(says, judgement->says);
	snprintf(judgement->says, sizeof(judgement->says), "if the call fails each time: %.300s",
		 says);
}

/*
 * Does the result of a chaos run need a second run with its seed, which repeats it as far as
 * threads allow?
 */
static bool needs_second(const struct torture *t, unsigned int slot, const struct result *result)
{
	return result->failure->chaos && verdict_is_bad(result->judgement.verdict) &&
	       !t->second[slot] && may_start(t);
}

static int start_second(struct torture *t, unsigned int slot)
{
	const struct result *result = &t->results.all[t->running[slot]];

	t->second[slot] = true;
	t->first[slot] = result->judgement;
	run_remove(&t->runs[slot]);
	return start_run(t, slot, result->failure->rule);
}

static void note_second(struct torture *t, unsigned int slot, struct judgement *judgement)
{
	const struct judgement second = *judgement;
	size_t used;

	t->second[slot] = false;
	*judgement = t->first[slot];
	used = strlen(judgement->says);
	if (second.verdict == judgement->verdict)
		snprintf(judgement->says + used, sizeof(judgement->says) - used,
			 "; again with this seed");
	else
		snprintf(judgement->says + used, sizeof(judgement->says) - used,
			 "; %s in a second run with this seed", verdict_name(second.verdict));
}

static int finish_run(struct torture *t, unsigned int slot, const struct run_end *end)
{
	struct result *result = &t->results.all[t->running[slot]];
	struct run *run = &t->runs[slot];
	bool lost = has_no_trace(run);
	int err = 0;

	if (lost)
		result->judgement = judge_without_trace(end);
	else
		err = verdict_judge(&t->reference, result->failure, run, end, &result->judgement);
	result->took += end->took;
	if (!err && t->each[slot])
		note_each(&result->judgement);
	else if (!err && result->judgement.again && may_start(t))
		return restart_persistent(t, slot);
	t->each[slot] = false;
	if (!err && !lost && !t->second[slot] &&
	    (verdict_is_bad(result->judgement.verdict) || t->set->again))
		err = store_trace(t, run, result->failure);
	if (!err && needs_second(t, slot, result))
		return start_second(t, slot);
	if (!err && t->second[slot])
		note_second(t, slot, &result->judgement);
	result->done = !err;
	if (!err && t->progress)
		err = progress_add(t->progress, result);
	run_remove(run);
	return err;
}

/* Start the next wanted failure's run in @slot; false: there is none. */
static bool start_next(struct torture *t, unsigned int slot, size_t *next, int *err)
{
	const struct failure *failure;

	while (*next < t->results.n &&
	       (t->results.all[*next].done || !is_wanted(t, t->results.all[*next].failure)))
		++*next;
	if (*next == t->results.n || !may_start(t))
		return false;
	t->running[slot] = *next;
	init_run_at(t, &t->runs[slot], slot + 1, "");
	snprintf(t->runs[slot].folder, sizeof(t->runs[slot].folder), "%s/%zu", t->scratch,
		 *next + 1);
	failure = t->results.all[(*next)++].failure;
	t->runs[slot].by_recorder |= failure->chaos || failure->by_recorder;
	*err = start_run(t, slot, failure->rule);
	return !*err;
}

static unsigned int count_jobs(const struct settings *set)
{
	unsigned int jobs = set->jobs ?: (unsigned int)sysconf(_SC_NPROCESSORS_ONLN);

	return jobs < JOBS_MAX ? jobs : JOBS_MAX;
}

static int run_all(struct torture *t)
{
	unsigned int jobs = count_jobs(t->set), busy = 1;
	struct run_end end;
	size_t next = 0;
	int err = 0;

	while (busy && !err) {
		busy = 0;
		for (unsigned int i = 0; i < jobs && !err; i++) {
			if (t->runs[i].pid && (err = run_poll(&t->runs[i], &end)) > 0)
				err = finish_run(t, i, &end);
			if (!err && !t->runs[i].pid)
				start_next(t, i, &next, &err);
			busy += t->runs[i].pid != 0;
		}
		sleep_5_ms();
	}
	for (unsigned int i = 0; i < jobs; i++)
		if (t->runs[i].pid) {
			run_stop(&t->runs[i]);
			run_remove(&t->runs[i]);
		}
	return err;
}

/* The command */

/* If none hangs: as long as runs without a failure. Rounded, since that varies. */
static void print_estimate(const struct torture *t, unsigned int failures)
{
	uint64_t seconds = failures * t->reference.took / count_jobs(t->set) / SECOND;

	printf("\n%u failure%s, ", failures, failures == 1 ? "" : "s");
	if (seconds < 10)
		puts("less than 10 s");
	else if (seconds < 120)
		printf("about %llu s\n", (unsigned long long)seconds);
	else
		printf("about %llu min\n", (unsigned long long)(seconds + 30) / 60);
}

static int print_list(const struct torture *t)
{
	char line[64 + SITE_PLACE + 16];
	unsigned int failures = 0;

	for (size_t i = 0; i < t->failures.n; i++) {
		if (!is_wanted(t, &t->failures.all[i]))
			continue;
		print_failure(&t->failures.all[i], line, sizeof(line));
		puts(line);
		failures++;
	}
	print_estimate(t, failures);
	return 0;
}

/* Note the options that repeat a run, except for its number. */
static void note_options(struct torture *t)
{
	const struct settings *set = t->set;
	char of_device[64] = "", of_list[32] = "";

	if (strcmp(set->device, "soft") != 0)
		snprintf(of_device, sizeof(of_device), " --device %s", set->device);
	else if (set->maker == MAKER_RECORDER)
		strcpy(of_device, " --maker recorder");
	if (set->chaos)
		snprintf(of_list, sizeof(of_list), " --chaos %u", set->chaos);
	else if (set->every)
		strcpy(of_list, " --every");
	snprintf(t->options, sizeof(t->options), "%s%s", of_device, of_list);
}

static int make_results(struct torture *t)
{
	note_options(t);
	t->results = (struct results){ .n = t->failures.n,
				       .program = t->program,
				       .folder = t->set->folder,
				       .options = t->options };
	t->results.all = calloc(t->failures.n ?: 1, sizeof(*t->results.all));
	if (!t->results.all)
		return log_err(-ENOMEM, "results");
	for (size_t i = 0; i < t->failures.n; i++)
		t->results.all[i].failure = &t->failures.all[i];
	return 0;
}

static int print_results(const struct torture *t)
{
	int status = results_are_bad(&t->results) ? CLI_FINDINGS : CLI_FINE;

	switch (t->set->format) {
	case JSON:
		return results_print_json(&t->results);
	case JUNIT:
		return results_print_junit(&t->results);
	case SARIF:
		return results_print_sarif(&t->results, status);
	case HTML:
		return results_print_html(&t->results);
	default:
		return results_print_text(&t->results);
	}
}

/* Are there selected failures that were not tried? */
static bool is_open(const struct torture *t)
{
	for (size_t i = 0; i < t->results.n; i++)
		if (!t->results.all[i].done && is_wanted(t, t->results.all[i].failure))
			return true;
	return false;
}

static int try_failures(struct torture *t)
{
	int err = make_results(t);

	if (!err && t->set->again > t->failures.n)
		return log_why(-EINVAL, "there is no failure %u: the list has %zu", t->set->again,
			       t->failures.n);
	if (!err && t->set->baseline) /* a wrong one is refused before the runs */
		err = results_mark_known(&t->results, t->set->baseline);
	/* a single run must not remove what a stopped torture has written */
	if (!err && !t->set->again)
		err = progress_open(&t->results, t->set->resume, &t->progress);
	if (t->set->budget)
		t->end = clock_monotonic() + (uint64_t)t->set->budget;
	if (!err)
		err = run_all(t);
	if (!err && t->set->baseline)
		err = results_mark_known(&t->results, t->set->baseline);
	if (!err && t->set->reduce)
		reduced_make(&t->results, (uint64_t)t->set->reduce, &stopped);
	if (!err)
		err = print_results(t);
	if (!err && is_open(t))
		log_note("stopped before all were tried: the same command with --resume continues");
	progress_close(t->progress, !err && !is_open(t));
	return err;
}

static int run_torture(struct torture *t)
{
	int err = learn_reference(t);

	if (!err)
		err = t->set->chaos ? failures_chaos(t->set->chaos, t->set->runs, &t->failures)
				    : failures_list(&t->sites, t->set->every, &t->failures);
	if (!err && !t->failures.n)
		err = log_why(-EINVAL, "the program called no verb that can fail");
	if (err)
		return err;
	return t->set->list ? print_list(t) : try_failures(t);
}

/*
 * The runs are in the directory for the traces, so that a trace can be stored by renaming it; by
 * its absolute path, since a program may change its directory.
 */
static int make_scratch(struct torture *t)
{
	char folder[PATH_MAX];

	if (mkdir(t->set->folder, 0755) && errno != EEXIST)
		return log_err(-errno, "create %s", t->set->folder);
	if (!realpath(t->set->folder, folder))
		return log_err(-errno, "open %s", t->set->folder);
	if (snprintf(t->scratch, sizeof(t->scratch), "%s/runs.XXXXXX", folder) >=
	    (int)sizeof(t->scratch))
		return log_why(-ENAMETOOLONG, "the name of --output is too long");
	return mkdtemp(t->scratch) ? 0 : log_err(-errno, "create a directory in %s", folder);
}

/* Remove the remaining files of the runs: those of the reference. */
static void remove_scratch(const struct torture *t)
{
	struct run all = { 0 };

	init_run_at(t, &all, 0, "");
	run_remove(&all);
	rmdir(t->set->folder); /* fails if a trace was stored in it */
}

static int choose_device(struct settings *set)
{
	bool soft;
	int err = device_choose(set->device, DEVICE_SYSFS, &soft);

	if (!err && !soft)
		set->maker = MAKER_RECORDER;
	return err;
}

/*
 * Returns 128 + signal, as a shell does, if a signal ended the torture before all were tried and no
 * result is bad.
 */
static int find_status(const struct torture *t, int err)
{
	if (err)
		return err == -EINTR && stopped ? 128 + (int)stopped : (int)cli_status(err);
	if (!t->set->list && results_are_bad(&t->results))
		return CLI_FINDINGS;
	return stopped && is_open(t) ? 128 + stopped : CLI_FINE;
}

int cli_torture(int argc, char **argv)
{
	struct settings set = { 0 };
	struct torture t = { .set = &set };
	struct arguments arguments;
	int err;

	cli_parse(argc, argv, &set, &arguments);
	if (!arguments.n)
		return cli_misuse("torture", "no program given");
	if (set.chaos && set.every)
		return cli_misuse("torture",
				  "--every has no effect with --chaos, which injects no failures");
	err = choose_device(&set) ?: launch_check(arguments.at[0]);
	if (err)
		return CLI_ENVIRONMENT;
	t.program = arguments.at;
	err = make_scratch(&t);
	if (err)
		return cli_status(err);
	signal(SIGINT, stop_torture);
	signal(SIGTERM, stop_torture);
	err = run_torture(&t);
	remove_scratch(&t);
	err = find_status(&t, err);
	free(t.results.all);
	failures_fini(&t.failures);
	sites_fini(&t.sites);
	reference_fini(&t.reference);
	return err;
}
