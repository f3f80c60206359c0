/*
 * The steps of `verbatim reduce`
 */
#include "cli/reduce/reduce_priv.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cli/cli.h"
#include "cli/format.h"
#include "cli/reduce/delta.h"
#include "core/store/open.h"
#include "core/store/read/trace.h"
#include "core/wire/clock.h"
#include "core/wire/log.h"

volatile sig_atomic_t reduce_stopped;

/* A deadline is for parts: until the whole was tried there is no smallest one. */
bool reduce_is_over(const struct reduction *r)
{
	return reduce_stopped || (r->set->deadline && r->patience &&
				  clock_monotonic() - r->begin >= (uint64_t)r->set->deadline);
}

/* On a terminal a line that is overwritten, else a line now and then. */
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

/* Does it still contain the completion with the wanted status? Without it a trial is useless. */
static bool has_goal(const struct reduction *r, const struct removal *gone)
{
	const struct unit_row *row = units_find(&r->units, r->goal.id, r->goal.i);

	return r->goal.kind != GOAL_STATUS || (row && removal_leaves(gone, row));
}

static int start_trial(struct reduction *r, size_t i, struct excerpt_size *ret_size)
{
	struct trial *trial = &r->trials[i];
	const char *argv[GOAL_ARGUMENTS];
	int err;

	if (!has_goal(r, &r->tried[i]) ||
	    (removal_is(&r->tried[i], &r->gone) && r->next.time == r->until.time))
		return 0;
	snprintf(trial->path, sizeof(trial->path), "%s/%zu.db", r->folder, i);
	err = reduce_write(r, &r->tried[i], r->next, trial->path, ret_size);
	r->ntrials++;
	goal_command(&r->goal, &r->set->how, trial->path, argv);
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
static int judge_trial(struct reduction *r, size_t i)
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
	shown = goal_shown(&r->goal, false, end.exit, end.text, end.bytes);
	free(end.text);
	if (!shown || !r->goal.replays)
		return shown;
	goal_replay_command(&r->set->how, trial->path, argv);
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

/*
 * Run those of r->tried up to @n; the first one that shows the goal is taken. Its index; @n; or
 * -errno.
 */
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

/* What can be removed */

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

	if (reduce_is_over(r))
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

/* The last messages are most likely the ones that matter. */
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
		taken = reduce_is_over(r) ? -EINTR : run_trials(r, 1);
		if (taken <= 0)
			return taken;
	}
	return 0;
}

void reduce_close(struct reduction *r)
{
	removal_fini(&r->gone);
	for (uint32_t i = 0; i < r->set->jobs; i++)
		removal_fini(&r->tried[i]);
	units_fini(&r->units);
}

int reduce_open(struct reduction *r)
{
	int err = units_read(r->trace, &r->units);

	if (!err)
		err = removal_init(&r->gone, &r->units);
	for (uint32_t i = 0; i < r->set->jobs && !err; i++)
		err = removal_init(&r->tried[i], &r->units);
	r->until = r->next = (struct excerpt_place){ INT64_MAX, { 0 } };
	return err;
}

/* The index of completion r->goal.i of its poll when others of that poll are gone. */
static void move_goal(struct reduction *r)
{
	uint32_t before = 0;

	for (uint32_t i = 0; i < r->goal.i; i++) {
		const struct unit_row *row = units_find(&r->units, r->goal.id, i);

		before += row && removal_leaves(&r->gone, row);
	}
	r->goal.i = before;
}

/* Continue with the smallest alone. */
static int open_smallest(struct reduction *r)
{
	char path[TRIAL_PATH + 8];
	int err;

	if (r->goal.kind == GOAL_STATUS)
		move_goal(r);
	reduce_close(r);
	trace_close(r->trace);
	r->trace = NULL;
	snprintf(path, sizeof(path), "%s/source.db", r->folder);
	if (rename(r->smallest, path))
		return log_err(-errno, "open %s", r->smallest);
	err = cli_open_trace(path, &r->trace);
	r->found = false;
	return err ?: reduce_open(r);
}

/* 1: something was removed; 0; or -errno. */
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

/* Reduce as far as possible; stop at the deadline. */
int reduce_all(struct reduction *r)
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
