/*
 * Objects of the control plane, and the calls that they need
 *
 * 	process -- context -- PD -- MR, QP ...     each with its needed calls
 *
 * An object belongs to the first object among the arguments of the call that created it. Objects
 * end with their context or process, even if the program did not destroy them.
 *
 * A trace may begin at any time up to now. So a call that a later one has replaced, and calls of a
 * destroyed object, are dropped only when the trace begins after the replacement or destruction:
 * needed_forget().
 *
 * Not here: the effect of a verb on an object (needed_call.c).
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/vec.h"
#include "core/store/write/needed_priv.h"

enum { HELD_MOST = 128 }; /* calls of one object: more than programs need */

static uint64_t place_key(uint32_t process, int kind, uint64_t handle)
{
	return handle ^ (process * 0x9e3779b97f4a7c15ull) ^
	       ((uint64_t)(kind + 1) * 0xff51afd7ed558ccdull);
}

static uint64_t call_key(struct event_id id)
{
	return id.n ^ ((uint64_t)id.thread * 0x9e3779b97f4a7c15ull);
}

static uint64_t count_of(const struct map *map, uint64_t key)
{
	uint64_t n;

	return map_get(map, key, &n) ? n : 0;
}

static int increase_count(struct map *map, uint64_t key)
{
	return map_put(map, key, count_of(map, key) + 1);
}

static void decrease_count(struct map *map, uint64_t key)
{
	uint64_t n = count_of(map, key);

	if (n > 1)
		map_put(map, key, n - 1);
	else
		map_remove(map, key);
}

int needed_new(struct needed **ret_needed)
{
	struct needed *needed = calloc(1, sizeof(*needed));

	if (!needed)
		return -ENOMEM;
	needed->fresh.last = &needed->fresh.first;
	needed->dying.last = &needed->dying.first;
	*ret_needed = needed;
	return 0;
}

static void free_thing(struct thing *thing)
{
	free(thing->calls);
	free(thing);
}

void needed_free(struct needed *needed)
{
	struct thing *thing;

	if (!needed)
		return;
	while ((thing = needed->all)) {
		needed->all = thing->after_all;
		free_thing(thing);
	}
	map_fini(&needed->by_place);
	map_fini(&needed->calls);
	map_fini(&needed->by_thread);
	map_fini(&needed->tallies);
	free(needed->doomed);
	free(needed);
}

struct thing *needed_find(const struct needed *needed, uint32_t process, int kind, uint64_t handle)
{
	uint64_t at;

	return map_get(&needed->by_place, place_key(process, kind, handle), &at)
		       ? (struct thing *)(uintptr_t)at
		       : NULL;
}

struct thing *needed_find_inherited(const struct needed *needed, uint32_t process, int kind,
				    uint64_t handle)
{
	struct thing *found = NULL;

	/* terminates: a process is younger than its parent */
	while (process && !found) {
		const struct thing *of = needed_find(needed, process, KIND_PROCESS, 0);

		found = needed_find(needed, process, kind, handle);
		process = of && of->origin < process ? of->origin : 0;
	}
	return found;
}

bool needed_has(const struct needed *needed, struct event_id id)
{
	return count_of(&needed->calls, call_key(id)) != 0;
}

bool needed_is_alive(const struct needed *needed, uint32_t process, uint64_t handle)
{
	static const enum object_kind queues[] = { OBJECT_qp, OBJECT_cq, OBJECT_srq, OBJECT_wq };
	bool found = false;

	for (size_t i = 0; i < sizeof(queues) / sizeof(*queues) && !found; i++)
		found = needed_find_inherited(needed, process, (int)queues[i], handle);
	return found;
}

bool needed_has_thread(const struct needed *needed, uint32_t thread)
{
	return count_of(&needed->by_thread, thread) != 0;
}

/* Objects */

static void link_thing(struct thing *thing, struct thing *parent)
{
	thing->parent = parent;
	if (!parent)
		return;
	thing->sibling = parent->children;
	thing->link = &parent->children;
	if (thing->sibling)
		thing->sibling->link = &thing->sibling;
	parent->children = thing;
}

static void unlink_thing(struct thing *thing)
{
	if (!thing->parent)
		return;
	*thing->link = thing->sibling;
	if (thing->sibling)
		thing->sibling->link = thing->link;
	thing->parent = NULL;
}

static struct thing *add_thing(struct needed *needed, uint32_t process, int kind, uint64_t handle)
{
	struct thing *thing = calloc(1, sizeof(*thing));

	if (!thing ||
	    map_put(&needed->by_place, place_key(process, kind, handle), (uintptr_t)thing)) {
		free(thing);
		return NULL;
	}
	thing->process = process;
	thing->kind = kind;
	thing->handle = handle;
	thing->gone_at = INT64_MAX;
	thing->after_all = needed->all;
	thing->all_link = &needed->all;
	if (needed->all)
		needed->all->all_link = &thing->after_all;
	needed->all = thing;
	return thing;
}

struct thing *needed_process(struct needed *needed, uint32_t process)
{
	struct thing *thing = needed_find(needed, process, KIND_PROCESS, 0);

	if (!thing)
		thing = add_thing(needed, process, KIND_PROCESS, 0);
	if (thing)
		thing->counted = true;
	return thing;
}

struct thing *needed_make(struct needed *needed, const struct needed_call *call, int kind,
			  uint64_t handle, struct thing *parent)
{
	struct thing *process = needed_process(needed, call->process);
	struct thing *thing = process ? add_thing(needed, call->process, kind, handle) : NULL;

	if (!thing)
		return NULL;
	thing->made = call->id;
	thing->end_n = call->end_n;
	thing->made_at = call->end;
	link_thing(thing, parent ? parent : process);
	*needed->fresh.last = thing;
	needed->fresh.last = &thing->after_fresh;
	needed->objects++;
	return thing;
}

/* Children of a thing that ends: those of a context or a process end with it. */
static void release_children(struct needed *needed, struct thing *thing, struct thing *parent,
			     int64_t time)
{
	while (thing->children) {
		struct thing *child = thing->children;

		if (thing->kind == OBJECT_context || thing->kind == KIND_PROCESS) {
			needed_end(needed, child, time);
		} else {
			unlink_thing(child);
			link_thing(child, parent);
		}
	}
}

void needed_end(struct needed *needed, struct thing *thing, int64_t time)
{
	struct thing *parent = thing->parent;

	release_children(needed, thing, parent, time);
	unlink_thing(thing);
	thing->gone_at = time;
	if (needed_find(needed, thing->process, thing->kind, thing->handle) == thing)
		map_remove(&needed->by_place,
			   place_key(thing->process, thing->kind, thing->handle));
	*needed->dying.last = thing;
	needed->dying.last = &thing->after_dying;
	needed->objects -= thing->kind != KIND_PROCESS;
	/* a device in no list existed only for its contexts */
	if (parent && parent->kind == OBJECT_device && !parent->listed && !parent->children &&
	    parent->gone_at == INT64_MAX)
		needed_end(needed, parent, time);
}

int needed_fork(struct needed *needed, uint32_t child, uint32_t parent)
{
	struct thing *thing = needed_process(needed, child);

	if (!thing)
		return -ENOMEM;
	thing->origin = parent;
	return 0;
}

void needed_exit(struct needed *needed, uint32_t process, int64_t time)
{
	struct thing *thing = needed_find(needed, process, KIND_PROCESS, 0);

	if (thing)
		needed_end(needed, thing, time);
}

/* Calls of the objects */

static int expire_call(struct needed *needed, const struct held_call *held, int64_t time)
{
	if (vec_reserve(needed->doomed, needed->doomed_size, needed->ndoomed + 1))
		return -ENOMEM;
	needed->doomed[needed->ndoomed++] = (struct doomed_call){ held->id, held->stack, time };
	return 0;
}

int needed_release(struct needed *needed, struct thing *thing, size_t i, int64_t time)
{
	int err = expire_call(needed, &thing->calls[i], time);

	if (err)
		return err;
	thing->ncalls--;
	memmove(&thing->calls[i], &thing->calls[i + 1],
		(thing->ncalls - i) * sizeof(*thing->calls));
	return 0;
}

int needed_append(struct needed *needed, struct thing *thing, const struct held_call *held,
		  int64_t time)
{
	/* the first one created it */
	int err = thing->ncalls < HELD_MOST ? 0 : needed_release(needed, thing, 1, time);
	struct held_call *call = err ? NULL : vec_push(thing->calls, thing->ncalls);

	if (!call || increase_count(&needed->calls, call_key(held->id)) ||
	    increase_count(&needed->by_thread, held->id.thread))
		return -ENOMEM;
	*call = *held;
	return 0;
}

int needed_hold(struct needed *needed, struct thing *thing, const struct held_call *held,
		int64_t time)
{
	int err = 0;

	for (size_t i = 0; i < thing->ncalls && !err; i++)
		if (thing->calls[i].verb == held->verb && thing->calls[i].key == held->key) {
			err = needed_release(needed, thing, i, time);
			break;
		}
	return err ? err : needed_append(needed, thing, held, time);
}

/* Forgetting */

static int drop_call(struct needed *needed, const struct needed_sink *sink, struct event_id id)
{
	decrease_count(&needed->calls, call_key(id));
	decrease_count(&needed->by_thread, id.thread);
	return sink->drop(sink->arg, id);
}

static int number_new_objects(struct needed *needed, int64_t time, int64_t limit,
			      const struct needed_sink *sink)
{
	struct thing *thing;
	int err = 0;

	while (!err && (thing = needed->fresh.first) && thing->made_at < time) {
		uint64_t key = place_key(thing->process, thing->kind, 0);

		if (increase_count(&needed->tallies, key))
			return -ENOMEM;
		needed->fresh.first = thing->after_fresh;
		if (!thing->after_fresh)
			needed->fresh.last = &needed->fresh.first;
		thing->counted = true;
		thing->ordinal = (uint32_t)count_of(&needed->tallies, key);
		thing->row = ++needed->rows;
		err = sink->number(
			sink->arg,
			&(struct needed_object){ thing->process, (enum object_kind)thing->kind,
						 thing->gone_at < limit ? (struct event_id){ 0 }
									: thing->made,
						 thing->ordinal, thing->row });
	}
	return err;
}

static int drop_expired_calls(struct needed *needed, int64_t limit, const struct needed_sink *sink)
{
	size_t i = needed->first_doomed;
	int err = 0;

	for (; i < needed->ndoomed && needed->doomed[i].until < limit && !err; i++)
		err = drop_call(needed, sink, needed->doomed[i].id);
	needed->first_doomed = i;
	if (i > needed->ndoomed / 2) {
		needed->ndoomed -= i;
		memmove(needed->doomed, needed->doomed + i,
			needed->ndoomed * sizeof(*needed->doomed));
		needed->first_doomed = 0;
	}
	return err;
}

static int drop_thing(struct needed *needed, struct thing *thing, const struct needed_sink *sink)
{
	int err = thing->kind == KIND_PROCESS ? 0 : sink->unnumber(sink->arg, thing->row);

	for (size_t i = 0; i < thing->ncalls && !err; i++)
		err = drop_call(needed, sink, thing->calls[i].id);
	for (int kind = 0; kind < OBJECT_COUNT && thing->kind == KIND_PROCESS; kind++)
		map_remove(&needed->tallies, place_key(thing->process, kind, 0));
	*thing->all_link = thing->after_all;
	if (thing->after_all)
		thing->after_all->all_link = thing->all_link;
	free_thing(thing);
	return err;
}

static int drop_dead_objects(struct needed *needed, int64_t limit, const struct needed_sink *sink)
{
	struct thing *thing;
	int err = 0;

	while (!err && (thing = needed->dying.first) && thing->gone_at < limit && thing->counted) {
		needed->dying.first = thing->after_dying;
		if (!thing->after_dying)
			needed->dying.last = &needed->dying.first;
		err = drop_thing(needed, thing, sink);
	}
	return err;
}

int needed_forget(struct needed *needed, int64_t time, int64_t limit,
		  const struct needed_sink *sink)
{
	int err = number_new_objects(needed, time, limit, sink);

	if (!err)
		err = drop_expired_calls(needed, limit, sink);
	return err ? err : drop_dead_objects(needed, limit, sink);
}

void needed_stacks(const struct needed *needed, void (*mark)(void *arg, uint32_t stack), void *arg)
{
	for (const struct thing *thing = needed->all; thing; thing = thing->after_all)
		for (size_t i = 0; i < thing->ncalls; i++)
			mark(arg, thing->calls[i].stack);
	for (size_t i = needed->first_doomed; i < needed->ndoomed; i++)
		mark(arg, needed->doomed[i].stack);
}

struct needed_size needed_size(const struct needed *needed)
{
	return (struct needed_size){ needed->objects, needed->calls.used };
}
