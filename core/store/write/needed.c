/*
 * Objects of the control plane, and the calls that they need
 *
 *	process -- context -- PD -- MR, QP ...     each with its needed calls
 *
 * The parent of an object is the first object among the arguments of the call that created it.
 * Objects end with their context or process, even if the program did not destroy them.
 *
 * A trace may begin at any cut up to now. So a call that a later call has replaced, and the calls
 * of a destroyed object, are dropped only when the trace begins after the replacement or the
 * destruction: needed_forget(). Most objects of a service that creates many are created and
 * destroyed between two cuts: they are dropped at the second cut, and only their number is stored.
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
	struct needed_list *lists[] = { &needed->fresh, &needed->counted, &needed->gone,
					&needed->dying };

	if (!needed)
		return -ENOMEM;
	needed->last_cut = INT64_MIN;
	for (size_t i = 0; i < sizeof(lists) / sizeof(*lists); i++)
		lists[i]->last = &lists[i]->first;
	*ret_needed = needed;
	return 0;
}

static void free_entry(struct needed_entry *entry)
{
	free(entry->calls);
	free(entry);
}

void needed_free(struct needed *needed)
{
	struct needed_entry *entry;

	if (!needed)
		return;
	while ((entry = needed->all)) {
		needed->all = entry->after_all;
		free_entry(entry);
	}
	map_fini(&needed->by_place);
	map_fini(&needed->calls);
	map_fini(&needed->by_thread);
	map_fini(&needed->tallies);
	free(needed->counts);
	free(needed->expiring);
	free(needed);
}

struct needed_entry *needed_find(const struct needed *needed, uint32_t process, int kind,
				 uint64_t handle)
{
	uint64_t at;

	return map_get(&needed->by_place, place_key(process, kind, handle), &at)
		       ? (struct needed_entry *)(uintptr_t)at
		       : NULL;
}

struct needed_entry *needed_find_inherited(const struct needed *needed, uint32_t process, int kind,
					   uint64_t handle)
{
	struct needed_entry *found = NULL;

	/* this ends: the number of a parent is lower than its child's */
	while (process && !found) {
		const struct needed_entry *of = needed_find(needed, process, KIND_PROCESS, 0);

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

/* Lists of objects */

static void push_gone(struct needed_list *list, struct needed_entry *entry)
{
	entry->after_gone = NULL;
	*list->last = entry;
	list->last = &entry->after_gone;
}

static struct needed_entry *pop_gone(struct needed_list *list)
{
	struct needed_entry *entry = list->first;

	list->first = entry->after_gone;
	if (!entry->after_gone)
		list->last = &list->first;
	return entry;
}

static void push_new(struct needed_list *list, struct needed_entry *entry)
{
	entry->after_fresh = NULL;
	*list->last = entry;
	list->last = &entry->after_fresh;
}

static struct needed_entry *pop_new(struct needed_list *list)
{
	struct needed_entry *entry = list->first;

	list->first = entry->after_fresh;
	if (!entry->after_fresh)
		list->last = &list->first;
	return entry;
}

/* Objects */

static void link_entry(struct needed_entry *entry, struct needed_entry *parent)
{
	entry->parent = parent;
	if (!parent)
		return;
	entry->sibling = parent->children;
	entry->link = &parent->children;
	if (entry->sibling)
		entry->sibling->link = &entry->sibling;
	parent->children = entry;
}

static void unlink_entry(struct needed_entry *entry)
{
	if (!entry->parent)
		return;
	*entry->link = entry->sibling;
	if (entry->sibling)
		entry->sibling->link = entry->link;
	entry->parent = NULL;
}

static struct needed_entry *add_entry(struct needed *needed, uint32_t process, int kind,
				      uint64_t handle)
{
	struct needed_entry *entry = calloc(1, sizeof(*entry));

	if (!entry ||
	    map_put(&needed->by_place, place_key(process, kind, handle), (uintptr_t)entry)) {
		free(entry);
		return NULL;
	}
	entry->process = process;
	entry->kind = kind;
	entry->handle = handle;
	entry->gone_at = INT64_MAX;
	entry->after_all = needed->all;
	entry->all_link = &needed->all;
	if (needed->all)
		needed->all->all_link = &entry->after_all;
	needed->all = entry;
	return entry;
}

struct needed_entry *needed_add_process(struct needed *needed, uint32_t process)
{
	struct needed_entry *entry = needed_find(needed, process, KIND_PROCESS, 0);

	if (!entry)
		entry = add_entry(needed, process, KIND_PROCESS, 0);
	if (entry)
		entry->counted = entry->in_sink = true;
	return entry;
}

struct needed_entry *needed_add_object(struct needed *needed, const struct needed_call *call,
				       int kind, uint64_t handle, struct needed_entry *parent)
{
	struct needed_entry *process = needed_add_process(needed, call->process);
	struct needed_entry *entry =
		process ? add_entry(needed, call->process, kind, handle) : NULL;

	if (!entry)
		return NULL;
	entry->made = call->id;
	entry->end_n = call->end_n;
	entry->made_at = call->end;
	link_entry(entry, parent ? parent : process);
	push_new(&needed->fresh, entry);
	needed->objects++;
	return entry;
}

/*
 * End the children of a context or a process, which end with it; move the children of other list
 * to @parent.
 */
static void release_children(struct needed *needed, struct needed_entry *entry,
			     struct needed_entry *parent, int64_t time)
{
	while (entry->children) {
		struct needed_entry *child = entry->children;

		if (entry->kind == OBJECT_context || entry->kind == KIND_PROCESS) {
			needed_end_object(needed, child, time);
		} else {
			unlink_entry(child);
			link_entry(child, parent);
		}
	}
}

void needed_end_object(struct needed *needed, struct needed_entry *entry, int64_t time)
{
	struct needed_entry *parent = entry->parent;

	release_children(needed, entry, parent, time);
	unlink_entry(entry);
	entry->gone_at = time;
	if (needed_find(needed, entry->process, entry->kind, entry->handle) == entry)
		map_remove(&needed->by_place,
			   place_key(entry->process, entry->kind, entry->handle));
	push_gone(&needed->gone, entry);
	needed->objects -= entry->kind != KIND_PROCESS;
	/* a device that is not in the last list of devices exists only as long as its contexts */
	if (parent && parent->kind == OBJECT_device && !parent->listed && !parent->children &&
	    parent->gone_at == INT64_MAX)
		needed_end_object(needed, parent, time);
}

int needed_note_fork(struct needed *needed, uint32_t child, uint32_t parent)
{
	struct needed_entry *entry = needed_add_process(needed, child);

	if (!entry)
		return -ENOMEM;
	entry->origin = parent;
	return 0;
}

void needed_note_exit(struct needed *needed, uint32_t process, int64_t time)
{
	struct needed_entry *entry = needed_find(needed, process, KIND_PROCESS, 0);

	if (entry)
		needed_end_object(needed, entry, time);
}

/* Calls of the objects */

static int expire_call(struct needed *needed, const struct held_call *held, int64_t time)
{
	if (vec_reserve(needed->expiring, needed->expiring_size, needed->nexpiring + 1))
		return -ENOMEM;
	needed->expiring[needed->nexpiring++] =
		(struct expiring_call){ held->id, held->stack, held->begin, time };
	return 0;
}

int needed_release(struct needed *needed, struct needed_entry *entry, size_t i, int64_t time)
{
	int err = expire_call(needed, &entry->calls[i], time);

	if (err)
		return err;
	entry->ncalls--;
	memmove(&entry->calls[i], &entry->calls[i + 1],
		(entry->ncalls - i) * sizeof(*entry->calls));
	return 0;
}

int needed_append(struct needed *needed, struct needed_entry *entry, const struct held_call *held,
		  int64_t time)
{
	/* index 1 is the oldest after the call that created the object */
	int err = entry->ncalls < HELD_MOST ? 0 : needed_release(needed, entry, 1, time);
	struct held_call *call = err ? NULL : vec_push(entry->calls, entry->ncalls);

	if (!call || increase_count(&needed->calls, call_key(held->id)) ||
	    increase_count(&needed->by_thread, held->id.thread))
		return -ENOMEM;
	*call = *held;
	return 0;
}

int needed_hold_call(struct needed *needed, struct needed_entry *entry,
		     const struct held_call *held, int64_t time)
{
	int err = 0;

	for (size_t i = 0; i < entry->ncalls && !err; i++)
		if (entry->calls[i].verb == held->verb && entry->calls[i].key == held->key) {
			err = needed_release(needed, entry, i, time);
			break;
		}
	return err ? err : needed_append(needed, entry, held, time);
}

/* Counting the objects */

static bool is_thread_before(const void *open, const void *thread)
{
	return ((const struct event_id *)open)->thread < *(const uint32_t *)thread;
}

/* May the object have been created by a call that has not returned yet? See is_created_inside(). */
static bool is_created_in_open_call(const struct needed_entry *entry, const struct needed_cut *cut)
{
	size_t at = vec_count_before(cut->open, cut->nopen, sizeof(*cut->open), is_thread_before,
				     &entry->made.thread);

	return at < cut->nopen && cut->open[at].thread == entry->made.thread &&
	       cut->open[at].n < entry->made.n;
}

/* Was the object created and destroyed between two cuts? Then no trace needs it. */
static bool is_brief(const struct needed *needed, const struct needed_entry *entry, int64_t limit)
{
	bool brief = entry->gone_at < limit;

	for (size_t i = 0; i < entry->ncalls && brief; i++)
		brief = entry->calls[i].begin >= needed->last_cut;
	return brief;
}

/* Add a count to the list, which is sorted by time. */
static int insert_count(struct needed *needed, const struct object_count *new, size_t *ret_at)
{
	size_t at = needed->ncounts;

	if (!vec_push(needed->counts, needed->ncounts))
		return -ENOMEM;
	for (; at > needed->first_count && needed->counts[at - 1].time > new->time; at--)
		needed->counts[at] = needed->counts[at - 1];
	needed->counts[at] = *new;
	*ret_at = at;
	return 0;
}

/* Count an object. @noted: by process and kind, index + 1 of the count at @time. */
static int count_object(struct needed *needed, struct map *noted, struct needed_entry *entry,
			int64_t time)
{
	uint64_t key = place_key(entry->process, entry->kind, 0), at = count_of(noted, key);
	struct object_count count = { time, entry->process, 0, entry->kind };
	size_t new = 0;
	int err = increase_count(&needed->tallies, key);

	if (err)
		return err;
	count.objects = (uint32_t)count_of(&needed->tallies, key);
	entry->ordinal = count.objects;
	entry->counted = true;
	if (at) {
		needed->counts[at - 1].objects = count.objects;
		return 0;
	}
	return insert_count(needed, &count, &new) ?: map_put(noted, key, new + 1);
}

/*
 * An object that was not yet counted has delayed counting the objects after it, so the counts at
 * later cuts may be too low.
 */
static void raise_later_counts(struct needed *needed, const struct map *noted, int64_t time)
{
	for (size_t i = needed->ncounts; i > needed->first_count; i--) {
		struct object_count *count = &needed->counts[i - 1];
		uint64_t at = count_of(noted, place_key(count->process, count->kind, 0));

		if (count->time <= time)
			break;
		if (at && count->objects < needed->counts[at - 1].objects)
			count->objects = needed->counts[at - 1].objects;
	}
}

/* Count the objects created before the cut. */
static int count_objects(struct needed *needed, const struct needed_cut *cut)
{
	struct map noted = { 0 };
	struct needed_entry *entry;
	int err = 0;

	while (!err && (entry = needed->fresh.first) && entry->made_at < cut->time &&
	       !is_created_in_open_call(entry, cut)) {
		pop_new(&needed->fresh);
		err = count_object(needed, &noted, entry, cut->time);
		entry->brief = entry->in_sink = is_brief(needed, entry, cut->limit);
		if (!entry->brief)
			push_new(&needed->counted, entry);
	}
	raise_later_counts(needed, &noted, cut->time);
	map_fini(&noted);
	return err;
}

/* Forgetting objects that existed at no cut */

static void forget_call(struct needed *needed, struct event_id id)
{
	decrease_count(&needed->calls, call_key(id));
	decrease_count(&needed->by_thread, id.thread);
}

static void unlink_all(struct needed_entry *entry)
{
	*entry->all_link = entry->after_all;
	if (entry->after_all)
		entry->after_all->all_link = entry->all_link;
}

static void forget_brief_objects(struct needed *needed)
{
	while (needed->gone.first) {
		struct needed_entry *entry = pop_gone(&needed->gone);

		if (!entry->brief) {
			push_gone(&needed->dying, entry);
			continue;
		}
		for (size_t i = 0; i < entry->ncalls; i++)
			forget_call(needed, entry->calls[i].id);
		unlink_all(entry);
		free_entry(entry);
	}
}

static void forget_brief_calls(struct needed *needed, int64_t limit)
{
	size_t left = needed->new_expiring;

	for (size_t i = left; i < needed->nexpiring; i++) {
		const struct expiring_call *expiring = &needed->expiring[i];

		if (expiring->begin >= needed->last_cut && expiring->until < limit)
			forget_call(needed, expiring->id);
		else
			needed->expiring[left++] = *expiring;
	}
	needed->nexpiring = needed->new_expiring = left;
}

int needed_cut(struct needed *needed, const struct needed_cut *cut)
{
	int err = count_objects(needed, cut);

	if (err)
		return err;
	forget_brief_objects(needed);
	forget_brief_calls(needed, cut->limit);
	needed->last_cut = cut->time;
	return 0;
}

/* Forgetting what is before the trace */

static int drop_call(struct needed *needed, const struct needed_sink *sink, struct event_id id)
{
	forget_call(needed, id);
	return sink->drop(sink->arg, id);
}

static int report_objects(struct needed *needed, int64_t time, int64_t limit,
			  const struct needed_sink *sink)
{
	struct needed_entry *entry;
	int err = 0;

	while (!err && (entry = needed->counted.first) && entry->made_at < time) {
		pop_new(&needed->counted);
		entry->in_sink = true;
		if (entry->gone_at < limit)
			continue;
		entry->row = ++needed->rows;
		err = sink->number(sink->arg, &(struct needed_object){
						      entry->process, (enum object_kind)entry->kind,
						      entry->made, entry->ordinal, entry->row });
	}
	return err;
}

static int report_counts(struct needed *needed, int64_t time, const struct needed_sink *sink)
{
	size_t i = needed->first_count;
	int err = 0;

	for (; i < needed->ncounts && needed->counts[i].time <= time && !err; i++) {
		const struct object_count *count = &needed->counts[i];

		err = sink->number(sink->arg,
				   &(struct needed_object){ .process = count->process,
							    .kind = (enum object_kind)count->kind,
							    .ordinal = count->objects });
	}
	needed->first_count = i;
	if (i == needed->ncounts) {
		free(needed->counts);
		needed->counts = NULL;
		needed->ncounts = needed->first_count = 0;
	}
	return err;
}

static int drop_expired_calls(struct needed *needed, int64_t limit, const struct needed_sink *sink)
{
	size_t i = needed->first_expiring;
	int err = 0;

	for (; i < needed->nexpiring && needed->expiring[i].until < limit && !err; i++)
		err = drop_call(needed, sink, needed->expiring[i].id);
	needed->first_expiring = i;
	if (needed->new_expiring < i)
		needed->new_expiring = i;
	if (i > needed->nexpiring / 2) {
		needed->nexpiring -= i;
		needed->new_expiring -= i;
		memmove(needed->expiring, needed->expiring + i,
			needed->nexpiring * sizeof(*needed->expiring));
		needed->first_expiring = 0;
	}
	return err;
}

static int drop_entry(struct needed *needed, struct needed_entry *entry,
		      const struct needed_sink *sink)
{
	int err = entry->row ? sink->unnumber(sink->arg, entry->row) : 0;

	for (size_t i = 0; i < entry->ncalls && !err; i++)
		err = drop_call(needed, sink, entry->calls[i].id);
	for (int kind = 0; kind < OBJECT_COUNT && entry->kind == KIND_PROCESS; kind++)
		map_remove(&needed->tallies, place_key(entry->process, kind, 0));
	unlink_all(entry);
	free_entry(entry);
	return err;
}

static int drop_dead_objects(struct needed *needed, struct needed_list *list, int64_t limit,
			     const struct needed_sink *sink)
{
	int err = 0;

	while (!err && list->first && list->first->gone_at < limit && list->first->in_sink)
		err = drop_entry(needed, pop_gone(list), sink);
	return err;
}

int needed_forget(struct needed *needed, int64_t time, int64_t limit,
		  const struct needed_sink *sink)
{
	/* do not let a call that does not return delay counting the objects after it any longer */
	int err = count_objects(needed, &(struct needed_cut){ .time = time, .limit = INT64_MIN });

	if (!err)
		err = report_objects(needed, time, limit, sink);
	if (!err)
		err = report_counts(needed, time, sink);
	if (!err)
		err = drop_expired_calls(needed, limit, sink);
	if (!err)
		err = drop_dead_objects(needed, &needed->dying, limit, sink);
	return err ? err : drop_dead_objects(needed, &needed->gone, limit, sink);
}

void needed_stacks(const struct needed *needed, void (*mark)(void *arg, uint32_t stack), void *arg)
{
	for (const struct needed_entry *entry = needed->all; entry; entry = entry->after_all)
		for (size_t i = 0; i < entry->ncalls; i++)
			mark(arg, entry->calls[i].stack);
	for (size_t i = needed->first_expiring; i < needed->nexpiring; i++)
		mark(arg, needed->expiring[i].stack);
}

struct needed_size needed_size(const struct needed *needed)
{
	return (struct needed_size){ needed->objects, needed->calls.used };
}
