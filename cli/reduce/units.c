/*
 * Making units of a trace, and taking them out
 *
 * Events are read in time order, and each request, completion or event begins a unit. Two that
 * belong together become one: a completion and its request as the matcher found it; a send and the
 * receive completion that it caused, by the order of the messages between two queue pairs; the
 * arming of a completion queue, the event that it caused and the first completion polled then. A
 * wrong pair makes a unit that cannot be removed, or whose removal hides the goal: each trial is
 * judged by itself.
 */
#include "cli/reduce/units_priv.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/vec.h"
#include "core/store/read/trace.h"
#include "core/wire/log.h"

/* Sorting */

static int compare_rows(const void *a, const void *b)
{
	const struct unit_row *x = a, *y = b;

	if (x->id.thread != y->id.thread)
		return x->id.thread < y->id.thread ? -1 : 1;
	if (x->id.n != y->id.n)
		return x->id.n < y->id.n ? -1 : 1;
	return x->i < y->i ? -1 : x->i > y->i;
}

static int compare_needs(const void *a, const void *b)
{
	const struct unit_need *x = a, *y = b;

	return x->who < y->who ? -1 : x->who > y->who;
}

static bool is_row_before(const void *row, const void *key)
{
	return compare_rows(row, key) < 0;
}

const struct unit_row *units_find(const struct units *units, struct event_id id, uint32_t i)
{
	const struct unit_row key = { .id = id, .i = i };
	size_t at = vec_count_before(units->rows, units->nrows, sizeof(key), is_row_before, &key);

	return at < units->nrows && !compare_rows(&units->rows[at], &key) ? &units->rows[at] : NULL;
}

size_t units_rows(const struct units *units, struct event_id id, const struct unit_row **ret_rows)
{
	const struct unit_row key = { .id = id };
	size_t first =
		vec_count_before(units->rows, units->nrows, sizeof(key), is_row_before, &key);
	size_t end = first;

	while (end < units->nrows && units->rows[end].id.thread == id.thread &&
	       units->rows[end].id.n == id.n)
		end++;
	*ret_rows = units->rows + first;
	return end - first;
}

/* Number the units that are not part of others, in the order of time. */
static int assign_unit_numbers(struct units_reader *r)
{
	struct units *units = r->units;
	uint32_t *numbers = calloc(units->count + 1, sizeof(*numbers));
	size_t count = 0;

	if (!numbers)
		return log_err(-ENOMEM, "reduce the trace");
	for (uint32_t i = 0; i < units->count; i++)
		if (reading_root(r, i) == i) {
			units->units[count] = units->units[i];
			numbers[i] = (uint32_t)count++;
		}
	for (size_t i = 0; i < units->nrows; i++) {
		uint32_t unit = numbers[reading_root(r, units->rows[i].unit)];

		units->rows[i].unit = unit;
		units->units[unit].last = i;
	}
	for (size_t i = 0; i < units->ncalls; i++)
		units->calls[i].who = numbers[reading_root(r, units->calls[i].who)];
	units->count = count;
	free(numbers);
	return 0;
}

/* List which call creates each object; a list of devices creates several. */
static int list_creators(struct trace *trace, struct units *units)
{
	const struct object *object;
	int err = 0;

	for (uint32_t id = 1; !err && (object = trace_object(trace, id)); id++) {
		const struct unit_row *row = units_find(units, object->created, 0);

		if (row)
			err = units_add_need(&units->made, &units->nmade, row->unit, id);
	}
	if (units->nmade)
		qsort(units->made, units->nmade, sizeof(*units->made), compare_needs);
	return err;
}

int units_read(struct trace *trace, struct units *units)
{
	struct units_reader r = { .trace = trace, .units = units };
	int err;

	*units = (struct units){ 0 };
	err = reading_run(&r);
	if (!err)
		err = assign_unit_numbers(&r);
	if (!err && units->nrows)
		qsort(units->rows, units->nrows, sizeof(*units->rows), compare_rows);
	if (!err && units->ncalls)
		qsort(units->calls, units->ncalls, sizeof(*units->calls), compare_needs);
	if (!err)
		err = list_creators(trace, units);
	reading_fini(&r);
	return err;
}

void units_fini(struct units *units)
{
	free(units->units);
	free(units->rows);
	free(units->calls);
	free(units->objects);
	free(units->made);
	*units = (struct units){ 0 };
}

/* What was removed */

int removal_init(struct removal *removal, const struct units *units)
{
	removal->units = units;
	removal->gone = calloc(units->count + 1, sizeof(*removal->gone));
	removal->gone_objects = calloc(units->most + 1ul, sizeof(*removal->gone_objects));
	return removal->gone && removal->gone_objects ? 0 : log_err(-ENOMEM, "reduce the trace");
}

void removal_fini(struct removal *removal)
{
	free(removal->gone);
	free(removal->gone_objects);
	*removal = (struct removal){ 0 };
}

void removal_copy(struct removal *to, const struct removal *from)
{
	memcpy(to->gone, from->gone, from->units->count * sizeof(*to->gone));
	memcpy(to->gone_objects, from->gone_objects,
	       (from->units->most + 1ul) * sizeof(*to->gone_objects));
}

void removal_add_object(struct removal *removal, uint32_t object)
{
	const struct units *units = removal->units;
	bool more = true;

	removal->gone_objects[object] = true;
	while (more) {
		more = false;
		for (size_t i = 0; i < units->nobjects; i++) {
			const struct unit_need *need = &units->objects[i];

			if (!removal->gone_objects[need->object] ||
			    removal->gone_objects[need->who])
				continue;
			removal->gone_objects[need->who] = more = true;
		}
	}
}

static bool is_need_before(const void *need, const void *unit)
{
	return ((const struct unit_need *)need)->who < *(const uint32_t *)unit;
}

bool units_creates_object(const struct units *units, uint32_t unit)
{
	size_t at = vec_count_before(units->made, units->nmade, sizeof(*units->made),
				     is_need_before, &unit);

	return at < units->nmade && units->made[at].who == unit;
}

uint32_t units_find_creator(const struct units *units, uint32_t object)
{
	for (size_t i = 0; i < units->nmade; i++)
		if (units->made[i].object == object)
			return units->made[i].who;
	return UINT32_MAX;
}

size_t units_first_call(const struct units *units, uint32_t unit)
{
	return vec_count_before(units->calls, units->ncalls, sizeof(*units->calls), is_need_before,
				&unit);
}

void removal_add_unit(struct removal *removal, uint32_t unit)
{
	const struct units *units = removal->units;
	size_t at = vec_count_before(units->made, units->nmade, sizeof(*units->made),
				     is_need_before, &unit);

	removal->gone[unit] = true;
	for (; at < units->nmade && units->made[at].who == unit; at++)
		if (!removal->gone_objects[units->made[at].object])
			removal_add_object(removal, units->made[at].object);
}

/* Was an object removed that a call needs? */
static bool lacks_object(const struct removal *removal, uint32_t unit)
{
	const struct units *units = removal->units;
	size_t at = units_first_call(units, unit);

	for (; at < units->ncalls && units->calls[at].who == unit; at++)
		if (removal->gone_objects[units->calls[at].object])
			return true;
	return false;
}

bool removal_keeps_row(const struct removal *removal, const struct unit_row *row)
{
	return !removal->gone[row->unit] && !removal->gone_objects[row->object] &&
	       !removal->gone_objects[row->cq] &&
	       (row->object || row->cq || !lacks_object(removal, row->unit));
}

uint64_t removal_hash(const struct removal *removal)
{
	const struct units *units = removal->units;
	uint64_t hash = 0;

	for (size_t i = 0; i < units->nrows; i++) {
		const struct unit_row *row = &units->rows[i];

		if (removal_keeps_row(removal, row))
			hash = map_hash(
				hash ^ map_hash(row->id.n ^
						map_hash((uint64_t)row->id.thread << 32 | row->i)));
	}
	return hash;
}

/* A post or poll without its own row remains as long as it has requests or completions. */
bool removal_has(void *arg, const struct excerpt_item *item)
{
	const struct removal *removal = arg;
	bool whole = item->kind == EXCERPT_POST || item->kind == EXCERPT_POLL;
	const struct unit_row *row =
		units_find(removal->units, item->id, whole ? UINT32_MAX : item->i);

	return !row || removal_keeps_row(removal, row);
}
