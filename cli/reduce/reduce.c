/*
 * verbatim reduce: the smallest trace that still shows something
 *
 *	whole --> units (units.c) --> delta debugging (delta.c) --> smallest
 *	                                |      ^
 *	                     an excerpt v      | shown, or not
 *	                              trial in a child process (trial.c, goal.c)
 *
 * First what is behind the event goes, then the messages far before it, whole processes, threads
 * and objects, runs of messages, and at last single calls, until nothing more can. Each success is
 * the source of the next trials, so that these are ever faster.
 */
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/format.h"
#include "cli/reduce/delta.h"
#include "cli/reduce/goal.h"
#include "cli/reduce/trial.h"
#include "cli/reduce/units.h"
#include "core/base/text.h"
#include "core/store/db/file.h"
#include "core/store/open.h"
#include "core/wire/clock.h"
#include "core/wire/log.h"

enum { SHOW_NS = 1000000000, WAIT_NS = 2000000, GRACE = 3 };

struct settings {
	const char *keep, *path;
	struct goal_how how;
	uint32_t jobs;
	int64_t deadline, patience;
};

const struct option_row cli_reduce_options[] = {
	{ "output", 'o', "FILE", "the trace to make", TEXT_AT(struct settings, path) },
	{ "keep", 'k', "WHAT",
	  "what it must show: 'status of T:N = STATUS', 'divergence at T:N', 'RULE of OBJECT'",
	  TEXT_AT(struct settings, keep) },
	{ "device", 'd', "soft|NAME", "the device on which trials are replayed",
	  TEXT_AT(struct settings, how.device), .preset = "soft" },
	{ "faults", 0, "recorded|none", "as of replay", TEXT_AT(struct settings, how.faults),
	  .otherwise = "none for a status" },
	{ "timeout", 't', "SECONDS", "as of replay", TEXT_AT(struct settings, how.timeout),
	  .otherwise = "10s" },
	{ "jobs", 'j', "N", "trials at a time", NUMBER_AT(struct settings, jobs), .least = 1,
	  .most = TRIALS_MAX, .otherwise = "the processors" },
	{ "patience", 0, "TIME", "give a trial up after that time",
	  TIME_AT(struct settings, patience), .least = 1,
	  .otherwise = "3 times what the whole takes, and 5s" },
	{ "deadline", 0, "TIME", "end after that time with the smallest so far",
	  TIME_AT(struct settings, deadline), .least = 1 },
	{ 0 },
};

enum item_kind { ITEM_PROCESS, ITEM_THREAD, ITEM_OBJECT, ITEM_MESSAGES, ITEM_OTHERS };

struct reduction {
	const struct settings *set;
	struct goal goal;
	struct trace *trace; /* the smallest so far, but for @gone and @until */
	struct units units;
	struct removal gone;              /* what is taken out of it for good */
	struct removal tried[TRIALS_MAX]; /* what a trial takes out */
	struct excerpt_place until, next; /* the end; that of a trial */
	struct trial trials[TRIALS_MAX];
	enum item_kind kind; /* of what is taken out now */
	const char *source;  /* name of the whole */
	char folder[TRIAL_PATH / 2], smallest[TRIAL_PATH];
	struct excerpt_size first, size; /* of the whole; of the smallest so far */
	uint64_t ntrials, begin, shown;
	int64_t patience;
	bool found; /* the smallest is in @smallest */
};

static volatile sig_atomic_t stopped;

static void stop_reducing(int signal)
{
	(void)signal;
	stopped = true;
}

static bool is_over(const struct reduction *r)
{
	return stopped ||
	       (r->set->deadline && clock_monotonic() - r->begin >= (uint64_t)r->set->deadline);
}

/* On a terminal a line that is written over, else a line now and then. */
static void tell_progress(struct reduction *r)
{
	uint64_t now = clock_monotonic(),
		 every = isatty(STDERR_FILENO) ? SHOW_NS / 4 : 10ull * SHOW_NS;
	char events[FORMAT_TEXT], of[FORMAT_TEXT];

	if (now - r->shown < every)
		return;
	r->shown = now;
	if (isatty(STDERR_FILENO))
		fprintf(stderr, "\r%" PRIu64 " trials: %s of %s events \b", r->ntrials,
			format_count(r->size.events, events), format_count(r->first.events, of));
	else
		log_note("reduce: %" PRIu64 " trials, %s of %s events are left", r->ntrials,
			 format_count(r->size.events, events), format_count(r->first.events, of));
}

static void end_progress(void)
{
	if (isatty(STDERR_FILENO))
		fprintf(stderr, "\r%60s\r", "");
}

/* Trials */

static int write_trial(struct reduction *r, struct removal *gone, struct excerpt_place until,
		       const char *path, struct excerpt_size *ret_size)
{
	struct excerpt excerpt = EXCERPT_ALL;

	excerpt.has = removal_has;
	excerpt.arg = gone;
	excerpt.until = until;
	excerpt.scratch = true;
	excerpt.what = "a trial of verbatim reduce";
	return excerpt_write(r->trace, &excerpt, path, ret_size);
}

/* Is the completion left whose status is wanted? Without it there is nothing to be tried. */
static bool has_goal(const struct reduction *r, const struct removal *gone)
{
	const struct unit_row *row = units_find(&r->units, r->goal.id, r->goal.i);

	return r->goal.kind != GOAL_STATUS || (row && removal_leaves(gone, row));
}

static int start_trial(struct reduction *r, size_t i, struct excerpt_size *ret_size)
{
	struct trial *trial = &r->trials[i];
	int err;

	if (!has_goal(r, &r->tried[i]) ||
	    (removal_is(&r->tried[i], &r->gone) && r->next.time == r->until.time))
		return 0;
	snprintf(trial->path, sizeof(trial->path), "%s/%zu.db", r->folder, i);
	err = write_trial(r, &r->tried[i], r->next, trial->path, ret_size);
	r->ntrials++;
	return err ?: trial_start(trial, &r->goal, &r->set->how, (uint64_t)r->patience);
}

/* Wait for a trial: 1 it shows what is wanted, 0 it does not, or -errno. */
static int judge_trial(struct reduction *r, size_t i)
{
	const struct timespec wait = { .tv_nsec = WAIT_NS };
	char *text = NULL;
	size_t bytes = 0;
	int ended, exit;

	if (!r->trials[i].pid)
		return 0;
	while (!(ended = trial_poll(&r->trials[i], &exit, &text, &bytes))) {
		if (is_over(r))
			return -EINTR;
		tell_progress(r);
		nanosleep(&wait, NULL);
	}
	if (ended > 0)
		ended = goal_shown(&r->goal, false, exit, text, bytes);
	free(text);
	return ended;
}

/* What trial @i has shown is the smallest so far. */
static int take_trial(struct reduction *r, size_t i, const struct excerpt_size *size)
{
	removal_copy(&r->gone, &r->tried[i]);
	r->until = r->next;
	r->size = *size;
	r->found = true;
	if (rename(r->trials[i].path, r->smallest))
		return log_err(-errno, "keep %s", r->trials[i].path);
	return 0;
}

/* Run those of r->tried up to @n; the first that shows it is taken. Its index; @n; or -errno. */
static int run_trials(struct reduction *r, size_t n)
{
	struct excerpt_size sizes[TRIALS_MAX];
	int taken = (int)n, err = 0;

	for (size_t i = 0; i < n && !err; i++)
		err = start_trial(r, i, &sizes[i]);
	for (size_t i = 0; i < n && !err && taken == (int)n; i++) {
		int shown = judge_trial(r, i);

		if (shown > 0)
			taken = (int)i;
		err = shown > 0 ? take_trial(r, i, &sizes[i]) : shown;
	}
	for (size_t i = 0; i < n; i++) {
		trial_stop(&r->trials[i]);
		unlink(r->trials[i].path);
	}
	return err ?: taken;
}

/* What can be taken out */

static void take_units_of(struct removal *gone, bool thread, uint32_t id)
{
	const struct units *units = gone->units;

	for (size_t i = 0; i < units->count; i++)
		if ((thread ? units->units[i].thread : units->units[i].process) == id)
			removal_take_unit(gone, (uint32_t)i);
}

static void take_item(struct reduction *r, struct removal *gone, size_t item)
{
	const struct object *object;

	switch (r->kind) {
	case ITEM_OBJECT:
		removal_take_object(gone, (uint32_t)item);
		break;
	case ITEM_PROCESS:
		for (uint32_t id = 1; (object = trace_object(r->trace, id)); id++)
			if (object->process == item)
				removal_take_object(gone, id);
		take_units_of(gone, false, (uint32_t)item);
		break;
	case ITEM_THREAD:
		take_units_of(gone, true, (uint32_t)item);
		break;
	default:
		removal_take_unit(gone, (uint32_t)item);
	}
}

static int try_items(void *arg, const size_t *items, const struct delta_range *ranges, size_t n)
{
	struct reduction *r = arg;

	if (is_over(r))
		return -EINTR;
	for (size_t t = 0; t < n; t++) {
		removal_copy(&r->tried[t], &r->gone);
		for (size_t i = ranges[t].first; i < ranges[t].last; i++)
			take_item(r, &r->tried[t], items[i]);
	}
	return run_trials(r, n);
}

static bool is_item_left(void *arg, size_t item)
{
	const struct reduction *r = arg;

	if (r->kind == ITEM_OBJECT)
		return !r->gone.gone_objects[item];
	return r->kind == ITEM_PROCESS || r->kind == ITEM_THREAD || !r->gone.gone[item];
}

static bool is_of_kind(const struct reduction *r, size_t unit)
{
	return (r->units.units[unit].kind == UNIT_MESSAGE) == (r->kind == ITEM_MESSAGES);
}

static size_t list_numbers(size_t *items, size_t most)
{
	for (size_t i = 0; i < most; i++)
		items[i] = i + 1;
	return most;
}

/* Returns how many. */
static size_t list_items(struct reduction *r, size_t *items)
{
	size_t n = 0;

	switch (r->kind) {
	case ITEM_PROCESS:
		while (trace_process(r->trace, (uint32_t)n + 1))
			n++;
		return list_numbers(items, n);
	case ITEM_THREAD:
		while (trace_thread(r->trace, (uint32_t)n + 1))
			n++;
		return list_numbers(items, n);
	case ITEM_OBJECT:
		return list_numbers(items, r->units.most);
	default:
		for (size_t i = 0; i < r->units.count; i++)
			if (is_of_kind(r, i))
				items[n++] = i;
		return n;
	}
}

static size_t most_items(const struct reduction *r)
{
	size_t n = r->units.count > r->units.most ? r->units.count : r->units.most;

	for (uint32_t id = 1; trace_thread(r->trace, id) || trace_process(r->trace, id); id++)
		n = id > n ? id : n;
	return n;
}

static int reduce_kind(struct reduction *r, enum item_kind kind)
{
	const struct delta delta = { try_items, is_item_left, r, r->set->jobs };
	size_t *items = calloc(most_items(r) + 1, sizeof(*items));
	int err;

	if (!items)
		return log_err(-ENOMEM, "reduce");
	r->kind = kind;
	err = delta_reduce(&delta, items, list_items(r, items));
	free(items);
	return err;
}

/* Steps */

static int try_until(struct reduction *r)
{
	int err;

	if (!r->goal.id.thread)
		return 0;
	err = excerpt_find(r->trace, r->goal.id, false, &r->next);
	if (err > 0) {
		removal_copy(&r->tried[0], &r->gone);
		err = run_trials(r, 1);
	}
	r->next = r->until;
	return err < 0 ? err : 0;
}

/* The last messages are most likely the ones that count. */
static int try_last_messages(struct reduction *r)
{
	size_t messages = 0, left = 0;

	for (size_t i = 0; i < r->units.count; i++)
		messages += r->units.units[i].kind == UNIT_MESSAGE && !r->gone.gone[i];
	for (size_t last = 1; last < messages / 2; last *= 4) {
		int taken;

		removal_copy(&r->tried[0], &r->gone);
		left = messages;
		for (size_t i = 0; i < r->units.count; i++)
			if (r->units.units[i].kind == UNIT_MESSAGE && !r->gone.gone[i] &&
			    left-- > last)
				r->tried[0].gone[i] = true;
		taken = is_over(r) ? -EINTR : run_trials(r, 1);
		if (taken <= 0)
			return taken;
	}
	return 0;
}

static void close_units(struct reduction *r)
{
	removal_fini(&r->gone);
	for (uint32_t i = 0; i < r->set->jobs; i++)
		removal_fini(&r->tried[i]);
	units_fini(&r->units);
}

static int open_units(struct reduction *r)
{
	int err = units_read(r->trace, &r->units);

	if (!err)
		err = removal_init(&r->gone, &r->units);
	for (uint32_t i = 0; i < r->set->jobs && !err; i++)
		err = removal_init(&r->tried[i], &r->units);
	r->until = r->next = (struct excerpt_place){ INT64_MAX, { 0 } };
	return err;
}

/* Where completion r->goal.i of its poll is when others of that poll are gone. */
static void move_goal(struct reduction *r)
{
	uint32_t before = 0;

	for (uint32_t i = 0; i < r->goal.i; i++) {
		const struct unit_row *row = units_find(&r->units, r->goal.id, i);

		before += row && removal_leaves(&r->gone, row);
	}
	r->goal.i = before;
}

/* Go on with the smallest alone. */
static int open_smallest(struct reduction *r)
{
	char path[TRIAL_PATH + 8];
	int err;

	if (r->goal.kind == GOAL_STATUS)
		move_goal(r);
	close_units(r);
	trace_close(r->trace);
	r->trace = NULL;
	snprintf(path, sizeof(path), "%s/source.db", r->folder);
	if (rename(r->smallest, path))
		return log_err(-errno, "open %s", r->smallest);
	err = trace_open(path, &r->trace);
	r->found = false;
	return err ?: open_units(r);
}

/* 1: something was taken out; 0; or -errno. */
static int reduce_once(struct reduction *r)
{
	static const enum item_kind kinds[] = { ITEM_PROCESS,  ITEM_THREAD, ITEM_OBJECT,
						ITEM_MESSAGES, ITEM_OBJECT, ITEM_OTHERS };
	int any = 0;

	for (size_t i = 0; i < sizeof(kinds) / sizeof(*kinds); i++) {
		int taken = reduce_kind(r, kinds[i]);

		if (taken < 0)
			return taken;
		any |= taken;
		if (r->found)
			taken = open_smallest(r);
		if (taken < 0)
			return taken;
	}
	return any;
}

/* As small as it gets; it stops there where time is over. */
static int reduce_all(struct reduction *r)
{
	int err = try_until(r);

	if (!err && r->found)
		err = open_smallest(r);
	if (!err)
		err = try_last_messages(r);
	if (!err && r->found)
		err = open_smallest(r);
	while (err >= 0 && (err = reduce_once(r)) > 0)
		;
	return err == -EINTR ? 0 : err;
}

/* The whole */

static int refuse_goal(const struct reduction *r, int exit, const char *text, size_t bytes)
{
	char why[GOAL_COMPLAINT], what[GOAL_COMPLAINT];

	goal_explain(&r->goal, exit, text, bytes, why);
	log_note("reduce: %s does not show %s: %s", r->source, goal_text(&r->goal, what), why);
	return CLI_FINDINGS;
}

/* Does the whole show it? How long that takes tells how long to wait for a part. */
static int try_whole(struct reduction *r, const char *path)
{
	const struct timespec wait = { .tv_nsec = WAIT_NS };
	struct trial *trial = &r->trials[0];
	uint64_t begin = clock_monotonic();
	int ended, exit = -1, status;
	char *text = NULL;
	size_t bytes = 0;

	snprintf(trial->path, sizeof(trial->path), "%s/whole.db", r->folder);
	if (strlen(path) >= sizeof(trial->path))
		return cli_status(log_err(-ENAMETOOLONG, "open %s", path));
	snprintf(trial->path, sizeof(trial->path), "%s", path);
	ended = trial_start(trial, &r->goal, &r->set->how, UINT64_MAX / 4);
	while (!ended && !(ended = trial_poll(trial, &exit, &text, &bytes)) && !stopped)
		nanosleep(&wait, NULL);
	trial_stop(trial);
	r->patience =
		r->set->patience ?: (int64_t)(clock_monotonic() - begin) * GRACE + 5ll * SHOW_NS;
	if (ended < 0)
		status = cli_status(ended);
	else if (stopped)
		status = cli_status(log_err(-EINTR, "try %s as a whole", r->source));
	else if (!ended || !goal_shown(&r->goal, true, exit, text, bytes))
		status = refuse_goal(r, exit, text ?: "", bytes);
	else
		status = CLI_FINE;
	free(text);
	return status;
}

static void tell_result(const struct reduction *r)
{
	char what[GOAL_COMPLAINT], events[FORMAT_TEXT], of[FORMAT_TEXT], time[FORMAT_TEXT];

	printf("%s: %s of %s events, %u of %u objects show %s%s\n%" PRIu64 " trials in %s\n",
	       r->set->path, format_count(r->size.events, events),
	       format_count(r->first.events, of), r->size.objects, r->first.objects,
	       goal_text(&r->goal, what), is_over(r) ? "; ended before no less would" : "",
	       r->ntrials, format_time((int64_t)(clock_monotonic() - r->begin), time));
}

/* The smallest so far, as the trace that was asked for. */
static int write_result(struct reduction *r)
{
	struct excerpt excerpt = EXCERPT_ALL;
	char goal[GOAL_COMPLAINT];
	struct text what = { 0 };
	int err;

	text_addf(&what, "what shows %s of %s", goal_text(&r->goal, goal), r->source);
	excerpt.has = removal_has;
	excerpt.arg = &r->gone;
	excerpt.until = r->until;
	excerpt.what = what.at;
	err = what.failed ? log_err(-ENOMEM, "reduce")
			  : excerpt_write(r->trace, &excerpt, r->set->path, &r->size);
	text_fini(&what);
	if (!err)
		tell_result(r);
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

static int reduce_trace(struct reduction *r, const char *path)
{
	int status = try_whole(r, path), err;

	if (status)
		return status;
	err = open_units(r);
	if (!err)
		err = write_trial(r, &r->gone, r->until, r->smallest, &r->first);
	unlink(r->smallest);
	r->size = r->first;
	if (!err)
		err = reduce_all(r);
	end_progress();
	if (!err)
		err = write_result(r);
	close_units(r);
	return cli_status(err);
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

static int check_use(const struct settings *set, const struct arguments *arguments)
{
	struct stat a, b;

	if (!set->path)
		return cli_misuse("reduce", "where to is not given: -o FILE");
	if (!set->keep)
		return cli_misuse("reduce", "what it must show is not given: --keep WHAT");
	if (arguments->n && !stat(arguments->at[0], &a) && !stat(set->path, &b) &&
	    a.st_dev == b.st_dev && a.st_ino == b.st_ino)
		return cli_misuse("reduce", "'%s' cannot become itself", set->path);
	return cli_status(file_check_way(set->path));
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
	goal_fini(&r.goal);
	trace_close(r.trace);
	return status;
}
