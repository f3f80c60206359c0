/*
 * verbatim reduce: the smallest trace that still reproduces a goal
 *
 * 	whole --> units (units.c) --> delta debugging (delta.c) --> smallest
 * 	                                |      ^
 * 	                     an excerpt v      | shown, or not
 * 	                              trial in a child process (trial.c, goal.c)
 *
 * First the part after the event is removed, then the messages far before it, whole processes,
 * threads and objects, runs of messages, and at last single calls, until nothing more can be
 * removed. Each success is the source of the next trials, so that these get faster and faster.
 */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/format.h"
#include "cli/reduce/reduce_priv.h"
#include "cli/written.h"
#include "core/store/copy.h"
#include "core/base/text.h"
#include "core/store/db/file.h"
#include "core/store/open.h"
#include "core/wire/clock.h"
#include "core/wire/log.h"

const struct option_row cli_reduce_options[] = {
	{ "output", 'o', "FILE", "the trace to write", TEXT_AT(struct settings, path) },
	{ "keep", 0, "WHAT",
	  "what to reproduce: 'status of T:N = STATUS', 'divergence at T:N', 'RULE of OBJECT'",
	  TEXT_AT(struct settings, keep), .former = 'k' },
	{ "device", 'd', "soft|NAME", "the device for the replays of trials",
	  TEXT_AT(struct settings, how.device), .preset = "soft" },
	{ "faults", 0, "recorded|none", "as for replay", TEXT_AT(struct settings, how.faults),
	  .otherwise = "none for a status" },
	{ "timeout", 0, "SECONDS", "as for replay", TEXT_AT(struct settings, how.timeout),
	  .otherwise = "10s", .former = 't' },
	{ "jobs", 'j', "N", "number of parallel trials", NUMBER_AT(struct settings, jobs),
	  .least = 1, .most = TRIALS_MAX, .otherwise = "the processors" },
	{ "patience", 0, "TIME", "time limit of a trial", TIME_AT(struct settings, patience),
	  .least = 1, .otherwise = "3 times that of the whole trace, plus 5s" },
	WRITTEN_OPTION(struct settings),
	{ "deadline", 0, "TIME", "stop after this time with the smallest trace so far",
	  TIME_AT(struct settings, deadline), .least = 1 },
	{ 0 },
};

static void stop_reducing(int signal)
{
	(void)signal;
	reduce_stopped = true;
}

static void end_progress(void)
{
	if (isatty(STDERR_FILENO))
		fprintf(stderr, "\r%60s\r", "");
}

/* The whole */

static int refuse_goal(const struct reduction *r, int exit, const char *text, size_t bytes)
{
	char why[GOAL_COMPLAINT], what[GOAL_COMPLAINT];

	goal_explain(&r->goal, exit, text, bytes, why);
	log_note("reduce: %s does not reproduce %s: %s", r->source, goal_text(&r->goal, what), why);
	return CLI_FINDINGS;
}

/* Run a command on the whole trace, however long it takes. 0 or -errno after log_err(). */
static int run_whole(struct reduction *r, const char *const *argv, struct trial_end *ret_end)
{
	struct trial *trial = &r->trials[0];
	int err;

	*ret_end = (struct trial_end){ .exit = -1 };
	snprintf(trial->path, sizeof(trial->path), "%s/whole.db", r->folder);
	err = trial_start(trial, argv, UINT64_MAX / 4);
	if (!err)
		err = reduce_wait(r, trial, ret_end);
	if (err == -EINTR)
		log_err(err, "try the whole trace %s", r->source);
	trial_stop(trial);
	return err;
}

/*
 * Run the goal's command on the whole trace. If the goal is its first divergence, trials end at
 * their first divergence, too. 1: the trace shows the goal; 0: it does not; or -errno after
 * log_err(). The caller frees the text.
 */
static int run_on_whole(struct reduction *r, const char *path, struct trial_end *ret_end)
{
	const char *argv[GOAL_ARGUMENTS];
	int err, shown;

	r->goal.first = r->goal.kind == GOAL_DIVERGENCE;
	for (;;) {
		goal_command(&r->goal, &r->how, path, argv);
		err = run_whole(r, argv, ret_end);
		if (err)
			return err;
		shown = goal_is_shown(&r->goal, true, ret_end->exit, ret_end->text ?: "",
				      ret_end->bytes);
		if (shown || !r->goal.first)
			return shown;
		r->goal.first = false;
		free(ret_end->text);
	}
}

/* A part may take as long as the whole trace has taken since @begin. */
static void set_trial_limit(struct reduction *r, uint64_t begin)
{
	int64_t took = (int64_t)(clock_monotonic() - begin) + goal_timeout(&r->goal);

	r->patience = r->set->patience ?: GRACE * took + 2ll * SHOW_NS;
}

/* Does the whole trace show the goal? The time that this takes limits the time for a part. */
static int try_whole(struct reduction *r, const char *path)
{
	uint64_t begin = clock_monotonic();
	const char *argv[GOAL_ARGUMENTS];
	struct trial_end end;
	int status, err;

	err = run_on_whole(r, path, &end);
	if (err < 0)
		return cli_status(err);
	status = CLI_FINE;
	if (!err)
		status = refuse_goal(r, end.exit, end.text ?: "", end.bytes);
	free(end.text);
	err = 0;
	if (!status && r->goal.kind == GOAL_FINDING) {
		goal_replay_command(&r->how, path, argv);
		err = run_whole(r, argv, &end);
		r->goal.replays =
			!err && goal_replays(&r->goal, true, end.exit, end.text, end.bytes);
		free(end.text);
	}
	set_trial_limit(r, begin);
	if (!status)
		status = cli_status(err);
	return status;
}

/* Continue with a copy of @trace, which is closed: the result will replace it. */
static int open_copy(struct reduction *r, struct trace *trace)
{
	char path[TRIAL_PATH + 8];
	int err;

	snprintf(path, sizeof(path), "%s/source.db", r->folder);
	err = trace_copy(trace, path);
	trace_close(trace);
	if (!err)
		err = cli_open_trace(path, &trace);
	if (err)
		return err;
	trace_close(r->trace);
	r->trace = trace;
	return 0;
}

/*
 * Does the result of an earlier command still reproduce the goal? If so, the reduction continues
 * from it.
 */
static bool resume_result(struct reduction *r, const char *path)
{
	uint64_t begin = clock_monotonic();
	const char *argv[GOAL_ARGUMENTS];
	struct trace *trace = NULL;
	struct trial_end end;
	bool shown;

	if (cli_open_trace(path, &trace))
		return false;
	goal_command(&r->goal, &r->how, path, argv);
	shown = !run_whole(r, argv, &end) &&
		goal_is_shown(&r->goal, false, end.exit, end.text ?: "", end.bytes);
	free(end.text);
	if (!shown) {
		trace_close(trace);
		return false;
	}
	if (open_copy(r, trace))
		return false;
	set_trial_limit(r, begin);
	log_info("reduce: continue with %s", path);
	return true;
}

static int put_result(const struct reduction *r, bool stopped)
{
	return written_put(
		"reduce", r->set->path,
		(const struct written_count[]){ WRITTEN_COUNT("events", r->size.events),
						WRITTEN_COUNT("of_events", r->first.events),
						WRITTEN_COUNT("objects", r->size.objects),
						WRITTEN_COUNT("of_objects", r->first.objects),
						WRITTEN_COUNT("trials", r->ntrials),
						WRITTEN_FLAG("stopped", stopped),
						{ 0 } });
}

static void report_result(const struct reduction *r, bool stopped)
{
	char what[GOAL_COMPLAINT], events[FORMAT_TEXT], of[FORMAT_TEXT], time[FORMAT_TEXT];

	printf("%s: %s of %s events, %u of %u objects reproduce %s\n%" PRIu64 " trials in %s\n",
	       r->set->path, format_count(r->size.events, events),
	       format_count(r->first.events, of), r->size.objects, r->first.objects,
	       goal_text(&r->goal, what), r->ntrials,
	       format_time((int64_t)(clock_monotonic() - r->begin), time));
	if (r->goal.kind == GOAL_FINDING && !r->goal.replays)
		printf("not replayed: the whole trace does not replay without a divergence\n");
	if (stopped)
		printf("stopped before the minimum was reached; the same command continues from "
		       "%s.reduce\n",
		       r->set->path);
}

/* Write the smallest trace so far as the output. */
static int write_result(struct reduction *r)
{
	struct excerpt excerpt = EXCERPT_ALL;
	bool stopped = reduce_is_over(r);
	char goal[GOAL_COMPLAINT];
	struct text what = { 0 };
	int err;

	text_addf(&what, "the events that reproduce %s of %s", goal_text(&r->goal, goal),
		  r->source);
	excerpt.has = removal_has;
	excerpt.arg = &r->gone;
	excerpt.until = r->until;
	excerpt.what = what.at;
	err = what.failed ? log_err(-ENOMEM, "reduce")
			  : excerpt_write(r->trace, &excerpt, r->set->path, &r->size);
	text_fini(&what);
	if (err)
		return err;
	if (stopped)
		err = state_write(r);
	else
		state_remove(r);
	if (r->set->json)
		return err ?: put_result(r, stopped);
	report_result(r, stopped);
	return err;
}

static void remove_folder(struct reduction *r)
{
	char path[TRIAL_PATH + 8];

	snprintf(path, sizeof(path), "%s/source.db", r->folder);
	unlink(path);
	unlink(r->smallest);
	rmdir(r->folder);
}

static int make_folder(struct reduction *r)
{
	const char *in = getenv("TMPDIR");

	if ((size_t)snprintf(r->folder, sizeof(r->folder), "%s/verbatim-reduce-XXXXXX",
			     in && *in ? in : "/tmp") >= sizeof(r->folder) ||
	    !mkdtemp(r->folder))
		return log_err(-errno, "make a folder in %s", in && *in ? in : "/tmp");
	snprintf(r->smallest, sizeof(r->smallest), "%s/smallest.db", r->folder);
	return 0;
}

static void watch_signals(void)
{
	const struct sigaction action = { .sa_handler = stop_reducing };

	sigaction(SIGINT, &action, NULL);
	sigaction(SIGTERM, &action, NULL);
	sigaction(SIGHUP, &action, NULL);
}

static int find_goal(struct reduction *r)
{
	char complaint[GOAL_COMPLAINT];
	int err = goal_read(r->set->keep, &r->goal, complaint);

	if (!err)
		err = goal_find(&r->goal, r->trace, complaint);
	if (err == -EINVAL || err == -ENOENT)
		return cli_misuse("reduce", "%s", complaint);
	return cli_status(err);
}

static uint32_t count_objects(struct trace *trace)
{
	uint32_t n = 0;

	while (trace_object(trace, n + 1))
		n++;
	return n;
}

/* Begin again from the whole trace. Returns the exit status. */
static int restart_reduction(struct reduction *r, const char *path)
{
	int status;

	goal_fini(&r->goal);
	r->step = r->run = 0;
	status = find_goal(r);
	return status ?: try_whole(r, path);
}

static int reduce_trace(struct reduction *r, const char *path)
{
	int status, err;

	r->first = (struct excerpt_size){ .events = trace_events(r->trace),
					  .objects = count_objects(r->trace) };
	r->size = r->first;
	if (!state_read(r) || !resume_result(r, r->set->path)) {
		status = restart_reduction(r, path);
		if (status)
			return status;
	}
	err = reduce_open(r);
	if (!err)
		err = reduce_all(r);
	end_progress();
	if (!err)
		err = write_result(r);
	reduce_close(r);
	return cli_status(err);
}

static int check_use(const struct settings *set, const struct arguments *arguments)
{
	if (!set->path)
		return cli_misuse("reduce", "no output given: -o FILE");
	if (!set->keep)
		return cli_misuse("reduce", "no goal given: --keep WHAT");
	if (arguments->n && cli_is_same_file(arguments->at[0], set->path))
		return cli_misuse("reduce", "'%s' is the input trace: choose another name",
				  set->path);
	return cli_status(file_check_replace(set->path));
}

static uint32_t count_processors(void)
{
	long n = sysconf(_SC_NPROCESSORS_ONLN);

	return n < 1 ? 1 : n > TRIALS_MAX ? TRIALS_MAX : (uint32_t)n;
}

int cli_reduce(int argc, char **argv)
{
	struct settings set = { 0 };
	struct reduction r = { .set = &set };
	struct arguments arguments;
	int status;

	cli_parse(argc, argv, &set, &arguments);
	set.jobs = set.jobs ?: count_processors();
	r.how = set.how;
	status = check_use(&set, &arguments);
	if (!status)
		status = cli_open("reduce", &arguments, 1, &r.trace);
	if (status)
		return status;
	r.source =
		strrchr(arguments.at[0], '/') ? strrchr(arguments.at[0], '/') + 1 : arguments.at[0];
	r.begin = r.shown = clock_monotonic();
	status = find_goal(&r);
	if (!status)
		status = cli_status(make_folder(&r));
	if (!status) {
		watch_signals();
		status = reduce_trace(&r, arguments.at[0]);
		remove_folder(&r);
	}
	map_fini(&r.failed);
	goal_fini(&r.goal);
	trace_close(r.trace);
	return status;
}
