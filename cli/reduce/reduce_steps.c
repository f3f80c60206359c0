/*
 * The steps of `verbatim reduce`: what is removed first, and what next
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/cli.h"
#include "cli/reduce/reduce_priv.h"
#include "core/store/open.h"
#include "core/wire/log.h"

static int try_end_of_goal(struct reduction *r)
{
	int err;

	if (!r->goal.id.thread)
		return 0;
	err = excerpt_find(r->trace, r->goal.id, false, &r->next);
	if (err > 0) {
		removal_copy(&r->tried[0], &r->gone);
		err = reduce_try(r, 1);
	}
	r->next = r->until;
	return err < 0 ? err : 0;
}

static bool is_message_left(const struct reduction *r, size_t unit)
{
	return r->units.units[unit].kind == UNIT_MESSAGE && !r->gone.gone[unit];
}

static int compare_sizes(const void *a, const void *b)
{
	const size_t *x = a, *y = b;

	return *x < *y ? -1 : *x > *y;
}

/* The ends of the messages that are left, sorted. Returns how many. */
static size_t list_ends(const struct reduction *r, size_t *ends)
{
	size_t n = 0;

	for (size_t i = 0; i < r->units.count; i++)
		if (is_message_left(r, i))
			ends[n++] = r->units.units[i].last;
	if (n)
		qsort(ends, n, sizeof(*ends), compare_sizes);
	return n;
}

/* Try to remove the messages that ended before @end. */
static int try_messages_from(struct reduction *r, size_t end)
{
	removal_copy(&r->tried[0], &r->gone);
	for (size_t i = 0; i < r->units.count; i++)
		if (is_message_left(r, i) && r->units.units[i].last < end)
			r->tried[0].gone[i] = true;
	return reduce_is_over(r) ? -EINTR : reduce_try(r, 1);
}

/* Try to leave only the messages that end last: they are most likely needed. */
static int try_last_messages(struct reduction *r)
{
	size_t *ends = calloc(r->units.count + 1, sizeof(*ends)), n;
	int taken = 1;

	if (!ends)
		return log_err(-ENOMEM, "reduce");
	n = list_ends(r, ends);
	for (size_t last = 1; taken > 0 && last < n / 2; last *= 4)
		taken = try_messages_from(r, ends[n - last]);
	free(ends);
	return taken < 0 ? taken : 0;
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

uint32_t reduce_goal_index(const struct reduction *r)
{
	uint32_t before = 0;

	for (uint32_t i = 0; i < r->goal.i; i++) {
		const struct unit_row *row = units_find(&r->units, r->goal.id, i);

		before += row && removal_keeps_row(&r->gone, row);
	}
	return before;
}

/* Continue with the smallest trace so far; the larger ones are no longer needed. */
static int open_smallest(struct reduction *r)
{
	char path[TRIAL_PATH + 8];
	int err;

	if (r->goal.kind == GOAL_STATUS)
		r->goal.i = reduce_goal_index(r);
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
	static const enum item_kind kinds[] = { ITEM_PROCESS, ITEM_CONNECTION, ITEM_THREAD,
						ITEM_IDLE,    ITEM_OBJECT,     ITEM_MESSAGES,
						ITEM_OBJECT,  ITEM_OTHERS };
	int any = 0;

	for (; r->step <= sizeof(kinds) / sizeof(*kinds); r->step++) {
		int taken = reduce_items(r, kinds[r->step - 1]);

		if (taken < 0)
			return taken;
		any |= taken;
		if (r->found)
			taken = open_smallest(r);
		if (taken < 0)
			return taken;
	}
	r->step = 1;
	return any;
}

/* Try the steps that remove most at once. */
static int reduce_coarsely(struct reduction *r)
{
	int err = try_end_of_goal(r);

	if (!err && r->found)
		err = open_smallest(r);
	if (!err)
		err = reduce_items(r, ITEM_IDLE);
	if (err >= 0 && r->found)
		err = open_smallest(r);
	if (err >= 0)
		err = try_last_messages(r);
	if (err >= 0 && r->found)
		err = open_smallest(r);
	return err;
}

/* A round that began in the middle proves nothing: one whole round must remove nothing. */
int reduce_all(struct reduction *r)
{
	int err = 0;

	if (!r->step) {
		err = reduce_coarsely(r);
		if (err >= 0)
			r->step = 1;
	} else {
		err = reduce_once(r);
	}
	while (err >= 0 && (err = reduce_once(r)) > 0)
		;
	return err == -EINTR ? 0 : err;
}
