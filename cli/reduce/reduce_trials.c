/*
 * The trials of `verbatim reduce`: several at a time, each of an excerpt of the smallest trace
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "cli/format.h"
#include "cli/reduce/reduce_priv.h"
#include "core/store/read/trace.h"
#include "core/wire/clock.h"
#include "core/wire/log.h"

volatile sig_atomic_t reduce_stopped;

/* The deadline applies to parts only: until the whole trace was tried, there is no result. */
bool reduce_is_over(const struct reduction *r)
{
	return reduce_stopped || (r->set->deadline && r->patience &&
				  clock_monotonic() - r->begin >= (uint64_t)r->set->deadline);
}

/* Report progress: on a terminal in a line that is overwritten, else in a line now and then. */
static void report_progress(struct reduction *r)
{
	uint64_t now = clock_monotonic(),
		 every = isatty(STDERR_FILENO) ? SHOW_NS / 4 : 10ull * SHOW_NS;
	char events[FORMAT_TEXT], of[FORMAT_TEXT];

	if (now - r->shown < every || !r->first.events)
		return;
	r->shown = now;
	if (isatty(STDERR_FILENO))
		fprintf(stderr, "\r%" PRIu64 " trials: %s of %s events \b", r->ntrials,
			format_count(r->size.events, events), format_count(r->first.events, of));
	else
		log_info("reduce: %" PRIu64 " trials, %s of %s events are left", r->ntrials,
			 format_count(r->size.events, events), format_count(r->first.events, of));
}

/* Trials */

int reduce_write(struct reduction *r, struct removal *gone, struct excerpt_place until,
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

/* Does the part still contain the completion or event of the goal? Otherwise a trial is useless. */
static bool has_goal(const struct reduction *r, const struct removal *gone)
{
	const struct unit_row *row = units_find(&r->units, r->goal.id, r->goal.i);
	size_t n;

	if (r->goal.kind == GOAL_STATUS)
		return row && removal_keeps_row(gone, row);
	if (r->goal.kind == GOAL_FINDING)
		return true;
	n = units_rows(&r->units, r->goal.id, &row);
	for (size_t i = 0; i < n; i++)
		if (removal_keeps_row(gone, &row[i]))
			return true;
	return !n;
}

/*
 * Does trial @i leave the same events as a trial that failed, or as the smallest trace so far? That
 * happens with steps of different kinds, and with steps that the last round has tried.
 */
static bool was_tried(struct reduction *r, size_t i)
{
	uint64_t until = map_hash((uint64_t)r->next.time), unused;

	r->left[i] = removal_hash(&r->tried[i]) ^ until;
	return map_get(&r->failed, r->left[i], &unused) ||
	       (r->next.time == r->until.time && r->left[i] == (removal_hash(&r->gone) ^ until));
}

static int start_trial(struct reduction *r, size_t i, struct excerpt_size *ret_size)
{
	struct trial *trial = &r->trials[i];
	const char *argv[GOAL_ARGUMENTS];
	int err;

	r->left[i] = 0;
	if (!has_goal(r, &r->tried[i]) || was_tried(r, i))
		return 0;
	snprintf(trial->path, sizeof(trial->path), "%s/%zu.db", r->folder, i);
	err = reduce_write(r, &r->tried[i], r->next, trial->path, ret_size);
	r->ntrials++;
	goal_command(&r->goal, &r->how, trial->path, argv);
	return err ?: trial_start(trial, argv, (uint64_t)r->patience);
}

int reduce_wait(struct reduction *r, struct trial *trial, struct trial_end *ret_end)
{
	const struct timespec wait = { .tv_nsec = WAIT_NS };
	int ended;

	while (!(ended = trial_poll(trial, ret_end))) {
		if (reduce_is_over(r))
			return -EINTR;
		report_progress(r);
		nanosleep(&wait, NULL);
	}
	return ended < 0 ? ended : 0;
}

/* Wait for a trial: 1 it shows the goal, 0 it does not, or -errno. */
static int evaluate_trial(struct reduction *r, size_t i)
{
	struct trial *trial = &r->trials[i];
	const char *argv[GOAL_ARGUMENTS];
	struct trial_end end;
	bool shown;
	int err;

	if (!trial->pid)
		return 0;
	err = reduce_wait(r, trial, &end);
	if (err)
		return err;
	shown = goal_is_shown(&r->goal, false, end.exit, end.text, end.bytes);
	free(end.text);
	if (!shown || !r->goal.replays)
		return shown;
	goal_replay_command(&r->how, trial->path, argv);
	err = trial_start(trial, argv, (uint64_t)r->patience);
	if (!err)
		err = reduce_wait(r, trial, &end);
	if (err)
		return err;
	shown = goal_replays(&r->goal, false, end.exit, end.text, end.bytes);
	free(end.text);
	return shown;
}

/* Make the part of trial @i the smallest so far. */
static int accept_trial(struct reduction *r, size_t i, const struct excerpt_size *size)
{
	removal_copy(&r->gone, &r->tried[i]);
	r->until = r->next;
	r->size = *size;
	r->found = true;
	if (rename(r->trials[i].path, r->smallest))
		return log_err(-errno, "keep %s", r->trials[i].path);
	return 0;
}

/* Let a part's replay wait as long as the last good one needed, not as long as for a device. */
static void limit_waits(struct reduction *r)
{
	if (r->set->how.timeout)
		return;
	snprintf(r->timeout, sizeof(r->timeout), "%" PRId64 "ms", goal_timeout(&r->goal) / 1000000);
	r->how.timeout = r->timeout;
}

int reduce_try(struct reduction *r, size_t n)
{
	struct excerpt_size sizes[TRIALS_MAX];
	int taken = (int)n, err = 0;

	limit_waits(r);
	for (size_t i = 0; i < n && !err; i++)
		err = start_trial(r, i, &sizes[i]);
	for (size_t i = 0; i < n && !err && taken == (int)n; i++) {
		int shown = evaluate_trial(r, i);

		if (shown > 0)
			taken = (int)i;
		err = shown > 0 ? accept_trial(r, i, &sizes[i]) : shown;
		if (!shown && map_put(&r->failed, r->left[i], 1))
			err = log_err(-ENOMEM, "reduce");
	}
	for (size_t i = 0; i < n; i++) {
		trial_stop(&r->trials[i]);
		unlink(r->trials[i].path);
	}
	return err ?: taken;
}
