/*
 * Deriving the objects of a trace from its calls
 *
 * An object lives from the return of its creation to the begin of its destruction: so an address
 * belongs to at most one object at a time. Only calls that succeeded count; a destruction that
 * failed (EBUSY) ends nothing. An object that a library or provider creates inside another
 * creation, and returns to the application, counts as created by the outermost call. A device is
 * created by the first device list that contains it.
 *
 * A handle that is used, but was created neither in the process nor in an ancestor by fork, is an
 * object that existed before the recording: created by 0:0.
 *
 * Not here: reading the calls (actions.c).
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/map.h"
#include "core/base/vec.h"
#include "core/store/finish/actions.h"
#include "core/store/finish/refs.h"
#include "core/base/text.h"
#include "core/wire/log.h"

/* An ordinal that was assigned before the trace was cut (core/store/write/forget.c). */
struct given_ordinal {
	/* thread 0: @ordinal is the number of objects that were created before the cut */
	struct event_id made;
	uint32_t process, ordinal;
	int kind;
};

struct object_build {
	sqlite3 *db;
	struct given_ordinal *given; /* sorted by @made */
	size_t ngiven;
	struct map processes; /* by thread */
	struct actions actions;
	/*
	 * before ids are assigned, id is 1 if a call created the object, ordinal is how long that
	 * call lasted, and parent is index + 1 of the creation
	 */
	struct objects objects;
	size_t list_size;
	uint32_t *slots; /* open addressing: index + 1 of the last object at each address */
	size_t slots_size, slots_used;
};

static uint32_t process_of(const struct object_build *b, const struct action *action)
{
	uint64_t process;

	return map_get(&b->processes, action->thread, &process) ? (uint32_t)process : 0;
}

static int read_threads(struct object_build *b)
{
	sqlite3_stmt *stmt;
	int err = sql_prepare(b->db, "SELECT id, process FROM thread", &stmt);

	while (!err && (err = sql_step(stmt)) > 0)
		err = map_put(&b->processes, sql_u32(stmt, 0), sql_u32(stmt, 1))
			      ? log_err(-ENOMEM, "read threads")
			      : 0;
	sqlite3_finalize(stmt);
	return err;
}

static uint64_t hash_place(uint32_t process, enum object_kind kind, uint64_t handle)
{
	return map_hash(handle ^ (uint64_t)process << 40 ^ (uint64_t)kind << 56);
}

/* The slot of the last object at that address, or the empty one where it would be. */
static uint32_t *slot_of(struct object_build *b, uint32_t process, enum object_kind kind,
			 uint64_t handle)
{
	size_t i = hash_place(process, kind, handle) & (b->slots_size - 1);

	for (; b->slots[i]; i = (i + 1) & (b->slots_size - 1)) {
		const struct object *o = &b->objects.list[b->slots[i] - 1];

		if (o->process == process && o->kind == kind && o->handle == handle)
			break;
	}
	return &b->slots[i];
}

/* Make space for one more address. */
static int reserve_slot(struct object_build *b)
{
	uint32_t *old = b->slots;
	size_t size = b->slots_size;

	if (size > b->slots_used * 2)
		return 0;
	b->slots_size = size ? size * 2 : 64;
	b->slots = calloc(b->slots_size, sizeof(*b->slots));
	for (size_t i = 0; b->slots && i < size; i++)
		if (old[i]) {
			const struct object *o = &b->objects.list[old[i] - 1];

			*slot_of(b, o->process, o->kind, o->handle) = old[i];
		}
	free(old);
	return b->slots ? 0 : log_err(-ENOMEM, "order %zu calls", b->actions.n);
}

/* Was the object created by a call inside @outer? Then @outer counts as its creator. */
static bool is_created_inside(const struct object *o, const struct action *outer)
{
	return o->created.thread == outer->thread && o->created.n > outer->n && o->id &&
	       o->created.n + o->ordinal < action_end(outer);
}

static void add_object(struct object_build *b, uint32_t *slot, const struct action *action)
{
	static const struct object_creation none;
	const struct object_creation *made =
		action->creation ? &b->actions.creations[action->creation - 1] : &none;

	b->objects.list[b->objects.count] = (struct object){ .process = process_of(b, action),
							     .kind = action->kind,
							     .handle = action->handle,
							     .number = made->number,
							     .rkey = made->rkey,
							     .parent = action->creation,
							     .destroyed_at = INT64_MAX };
	if (action->kind == OBJECT_device)
		b->objects.list[b->objects.count].name =
			actions_take_name(&b->actions, action->creation);
	b->slots_used += !*slot;
	*slot = ++b->objects.count;
}

static void apply_create(struct object_build *b, const struct action *action)
{
	uint32_t *slot = slot_of(b, process_of(b, action), action->kind, action->handle);
	struct object *o = *slot ? &b->objects.list[*slot - 1] : NULL;

	if (o && action->kind == OBJECT_device)
		return;
	if (!o || o->destroyed_at != INT64_MAX || !is_created_inside(o, action)) {
		add_object(b, slot, action);
		o = &b->objects.list[*slot - 1];
	}
	o->created = (struct event_id){ action->thread, action->n };
	o->created_at = action->time;
	o->id = 1;
	o->ordinal = action->lasts;
}

/* May the handle belong to an object of an ancestor? Then it is not an unknown object. */
static bool is_inherited(struct object_build *b, uint32_t process, enum object_kind kind,
			 uint64_t handle)
{
	while (process && process <= b->objects.nlineages) {
		uint32_t parent = b->objects.lineages[process - 1].parent;

		process = parent < process ? parent : 0;
		if (process && *slot_of(b, process, kind, handle))
			return true;
	}
	return false;
}

static void apply_destroy(struct object_build *b, const struct action *action)
{
	uint32_t process = process_of(b, action);
	uint32_t *slot = slot_of(b, process, action->kind, action->handle);
	struct object *o;

	if (!*slot) {
		if (is_inherited(b, process, action->kind, action->handle))
			return;
		add_object(b, slot, action);
		b->objects.list[*slot - 1].created_at = b->objects.lineages[process - 1].start;
	}
	o = &b->objects.list[*slot - 1];
	if (o->destroyed_at != INT64_MAX)
		return; /* destroyed already, possibly by a call inside this one */
	o->destroyed = (struct event_id){ action->thread, action->n };
	o->destroyed_at = action->time;
}

static int apply_action(struct object_build *b, const struct action *action)
{
	uint32_t process = process_of(b, action);

	if (!process || process > b->objects.nlineages)
		return 0;
	if (reserve_slot(b))
		return -ENOMEM;
	if (action->creation)
		apply_create(b, action);
	else
		apply_destroy(b, action);
	return 0;
}

static int apply_actions(struct object_build *b)
{
	int err = 0;

	b->list_size = b->actions.n + 1;
	b->objects.list = calloc(b->list_size, sizeof(*b->objects.list));
	if (!b->objects.list || reserve_slot(b))
		return log_err(-ENOMEM, "order %zu calls", b->actions.n);
	for (size_t i = 0; i < b->actions.n && !err; i++) {
		err = apply_action(b, action_at(&b->actions, i));
		actions_free_until(&b->actions, i);
	}
	return err;
}

/*
 * Add an object that existed before the recording for each handle in arguments that no object has.
 */
static int add_unknown(struct object_build *b)
{
	sqlite3_stmt *stmt;
	int err = sql_prepare(b->db,
			      "SELECT DISTINCT t.process, r.kind, r.handle FROM ref r"
			      " JOIN thread t ON t.id = r.thread ORDER BY 1, 2, 3",
			      &stmt);

	while (!err && (err = sql_step(stmt)) > 0) {
		uint32_t process = sql_u32(stmt, 0);
		int kind = object_find((const char *)sqlite3_column_text(stmt, 1));
		uint64_t handle = (uint64_t)sqlite3_column_int64(stmt, 2);

		err = 0;
		if (kind < 0 || !process || process > b->objects.nlineages ||
		    *slot_of(b, process, (enum object_kind)kind, handle) ||
		    is_inherited(b, process, (enum object_kind)kind, handle))
			continue;
		if (vec_reserve(b->objects.list, b->list_size, b->objects.count + 1ul)) {
			err = log_err(-ENOMEM, "add objects");
			break;
		}
		b->objects.list[b->objects.count++] =
			(struct object){ .process = process,
					 .kind = (enum object_kind)kind,
					 .handle = handle,
					 .created_at = b->objects.lineages[process - 1].start,
					 .destroyed_at = INT64_MAX };
	}
	sqlite3_finalize(stmt);
	return err;
}

/* Compare objects; @a, @b: their indexes */
static int compare_creations(const void *a, const void *b, void *list)
{
	const struct object *x = (const struct object *)list + *(const uint32_t *)a;
	const struct object *y = (const struct object *)list + *(const uint32_t *)b;

	if (x->created_at != y->created_at)
		return x->created_at < y->created_at ? -1 : 1;
	if (x->created.thread != y->created.thread)
		return x->created.thread < y->created.thread ? -1 : 1;
	if (x->created.n != y->created.n)
		return x->created.n < y->created.n ? -1 : 1;
	return x < y ? -1 : x > y;
}

/* Sort the objects in place: object @order[i] moves to i. */
static void move_objects(struct object *list, uint32_t *order, uint32_t count)
{
	for (uint32_t i = 0; i < count; i++) {
		struct object first = list[i];
		uint32_t to = i, from;

		while ((from = order[to]) != i) {
			list[to] = list[from];
			order[to] = to;
			to = from;
		}
		list[to] = first;
		order[to] = to;
	}
}

static int compare_event_ids(struct event_id a, struct event_id b)
{
	if (a.thread != b.thread)
		return a.thread < b.thread ? -1 : 1;
	return a.n < b.n ? -1 : a.n > b.n;
}

static int compare_creation_events(const void *a, const void *b)
{
	return compare_event_ids(((const struct given_ordinal *)a)->made,
				 ((const struct given_ordinal *)b)->made);
}

static int read_given(struct object_build *b)
{
	sqlite3_stmt *stmt;
	int err = sql_prepare(b->db,
			      "SELECT created_thread, created_n, process, ordinal, kind FROM object"
			      " WHERE id < 0 OR created_thread > 0",
			      &stmt);

	while (!err && (err = sql_step(stmt)) > 0) {
		struct given_ordinal *given = vec_push(b->given, b->ngiven);

		err = given ? 0 : log_err(-ENOMEM, "number objects");
		if (given)
			*given = (struct given_ordinal){
				{ sql_u32(stmt, 0), (uint64_t)sqlite3_column_int64(stmt, 1) },
				sql_u32(stmt, 2),
				sql_u32(stmt, 3),
				object_find((const char *)sqlite3_column_text(stmt, 4) ?: ""),
			};
	}
	sqlite3_finalize(stmt);
	if (b->ngiven)
		qsort(b->given, b->ngiven, sizeof(*b->given), compare_creation_events);
	return err;
}

static bool is_created_before(const void *given, const void *id)
{
	return compare_event_ids(((const struct given_ordinal *)given)->made,
				 *(const struct event_id *)id) < 0;
}

/* The ordinal that was assigned to the object before the cut; 0: none. */
static uint32_t given_ordinal(const struct object_build *b, const struct object *o)
{
	size_t at = vec_count_before(b->given, b->ngiven, sizeof(*b->given), is_created_before,
				     &o->created);

	for (; at < b->ngiven && !compare_event_ids(b->given[at].made, o->created); at++)
		if (o->created.thread && b->given[at].kind == (int)o->kind)
			return b->given[at].ordinal;
	return 0;
}

/* The numbers of objects that were numbered before the trace was cut, by process and kind. */
static uint32_t *count_given(const struct object_build *b)
{
	uint32_t *ordinals = calloc((b->objects.nlineages + 1ul) * OBJECT_COUNT, sizeof(*ordinals));

	for (size_t i = 0; ordinals && i < b->ngiven && !b->given[i].made.thread; i++)
		if (b->given[i].process <= b->objects.nlineages && b->given[i].kind >= 0)
			ordinals[b->given[i].process * (size_t)OBJECT_COUNT +
				 (size_t)b->given[i].kind] = b->given[i].ordinal;
	return ordinals;
}

/* Assign ids in the order of creation, and ordinals for each process and kind. */
static int assign_ordinals(struct object_build *b)
{
	uint32_t *ordinals = count_given(b);
	uint32_t *order =
		actions_sort_indexes(b->objects.count, b->objects.list, compare_creations);

	if (!ordinals || !order) {
		free(ordinals);
		free(order);
		return log_err(-ENOMEM, "number objects");
	}
	move_objects(b->objects.list, order, b->objects.count);
	for (uint32_t i = 0; i < b->objects.count; i++) {
		struct object *o = &b->objects.list[i];

		o->ordinal = given_ordinal(b, o);
		if (!o->ordinal)
			o->ordinal = ++ordinals[o->process * (size_t)OBJECT_COUNT + o->kind];
		o->id = i + 1;
	}
	free(ordinals);
	free(order);
	return 0;
}

static void find_parents(struct object_build *b)
{
	for (uint32_t i = 0; i < b->objects.count; i++) {
		struct object *o = &b->objects.list[i], *parent = NULL;

		if (o->parent) {
			const struct object_creation *made = &b->actions.creations[o->parent - 1];

			parent = objects_at(&b->objects, o->process, made->parent_kind,
					    made->parent, o->created_at);
		}
		o->parent = parent ? parent->id : 0;
	}
}

static int write_objects(struct object_build *b)
{
	sqlite3_stmt *stmt;
	int err = sql_exec(b->db, "DELETE FROM object");

	if (!err)
		err = sql_prepare(b->db,
				  "INSERT INTO object VALUES"
				  "(?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
				  &stmt);
	if (err)
		return err;
	for (uint32_t i = 0; i < b->objects.count && !err; i++) {
		const struct object *o = &b->objects.list[i];
		bool ended = o->destroyed_at != INT64_MAX;
		char name[64];

		snprintf(name, sizeof(name), "%s%u", object_names[o->kind], o->ordinal);
		err = sql_run(stmt, ended ? "uututiuuzzzzzii" : "uututiuuzzzzzin", o->id,
			      o->process, object_names[o->kind], o->ordinal, o->name ?: name,
			      o->handle, o->number, o->rkey, (int64_t)o->parent,
			      (int64_t)o->created.thread, o->created.n,
			      (int64_t)o->destroyed.thread, o->destroyed.n, o->created_at,
			      o->destroyed_at);
	}
	sqlite3_finalize(stmt);
	return err;
}

static void build_fini(struct object_build *b)
{
	actions_fini(&b->actions);
	map_fini(&b->processes);
	free(b->given);
	free(b->slots);
	objects_fini(&b->objects);
}

int objects_build(sqlite3 *db)
{
	struct object_build b = { .db = db };
	int err = objects_load_lineages(db, &b.objects);

	if (!err)
		err = read_given(&b);
	if (!err)
		err = read_threads(&b);
	if (!err)
		err = actions_read(db, &b.actions);
	if (!err)
		err = apply_actions(&b);
	if (!err)
		err = add_unknown(&b);
	if (!err)
		err = assign_ordinals(&b);
	if (!err)
		err = objects_index(&b.objects);
	if (err) {
		build_fini(&b);
		return err;
	}
	find_parents(&b);
	actions_free_creations(&b.actions);
	err = write_objects(&b);
	if (!err)
		err = refs_resolve(db, &b.objects);
	build_fini(&b);
	return err;
}
