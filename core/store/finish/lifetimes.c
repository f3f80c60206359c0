/*
 * Deriving the objects of a trace from its calls
 *
 * An object lives from the return of its creation to the begin of its
 * destruction: so an address belongs to at most one object at a time. Only calls
 * that succeeded count; a destruction that failed (EBUSY) ends nothing. An object
 * that a library or provider creates inside another creation, and returns to the
 * application, counts as made by the outermost call. A device is made by the
 * first list that has it.
 *
 * A handle that is used but was made neither in the process nor in one that it was
 * forked from is an object that existed before the recording: made by 0:0.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/map.h"
#include "core/base/vec.h"
#include "core/store/db/args.h"
#include "core/store/finish/objects.h"
#include "core/store/finish/refs.h"
#include "core/base/text.h"
#include "core/wire/log.h"

struct action {
	int64_t time;
	uint32_t thread, process;
	uint64_t n, end_n;
	bool create;
	enum object_kind kind;
	uint64_t handle;
	struct object_made made;
	char *name; /* a device's */
};

/* The live object at an address, while the actions are played in order. */
struct slot {
	uint32_t object; /* index + 1, 0 empty */
	uint64_t end_n;  /* number of the return of the call that made it */
	uint32_t thread;
};

/* An ordinal that was given before the trace was cut (core/store/write/forget.c). */
struct given {
	struct event_id made; /* thread 0: @ordinal is the number of objects created by the cut */
	uint32_t process, ordinal;
	int kind;
};

struct build {
	sqlite3 *db;
	struct given *given; /* sorted by made */
	size_t ngiven;
	struct action *actions;
	size_t nactions;
	struct objects objects;
	size_t list_size;
	struct {
		uint64_t parent;
		enum object_kind kind;
	} * parents; /* by the place in list before it is sorted */
	uint32_t nparents;
	struct slot *slots; /* open addressing: the last object at each address */
	size_t slots_size;
	uint64_t *end_ns; /* parallel to list: slot.end_n */
};

static struct action *add_action(struct build *b)
{
	return vec_push(b->actions, b->nactions);
}

int object_read_made(enum object_kind kind, const struct args *out, struct object_made *ret_made)
{
	struct object_made made = { .parent_kind = OBJECT_pd };
	int err = args_parse(out);

	if (err)
		return err;
	switch (kind) {
	case OBJECT_qp:
		made.number = (uint32_t)args_number(out, ARG(ret.qp_num));
		break;
	case OBJECT_mr:
		made.number = (uint32_t)args_number(out, ARG(ret.lkey));
		made.rkey = (uint32_t)args_number(out, ARG(ret.rkey));
		break;
	case OBJECT_mw:
		made.number = (uint32_t)args_number(out, ARG(ret.rkey));
		break;
	case OBJECT_wq:
		made.number = (uint32_t)args_number(out, ARG(ret.wq_num));
		break;
	default:
		break;
	}
	made.parent = args_number(out, ARG(ret.pd));
	if (!made.parent) {
		made.parent_kind = OBJECT_context;
		made.parent = args_number(out, ARG(ret.context));
	}
	if (!made.parent && kind == OBJECT_context) {
		made.parent_kind = OBJECT_device;
		made.parent = args_number(out, ARG(ret.device));
	}
	*ret_made = made;
	return 0;
}

/* Add an action for each device of a list. */
static int read_devices(struct build *b, const struct action *call, const struct args *out)
{
	int64_t handle;
	int err = args_parse(out);

	for (unsigned int i = 0; !err; i++) {
		struct action *action;
		const char *name;

		if (!args_get_at(out, ARG(ret.handle), i, &handle))
			break;
		action = add_action(b);
		if (!action) {
			err = log_err(-ENOMEM, "read calls");
			break;
		}
		*action = *call;
		action->handle = (uint64_t)handle;
		name = args_text_at(out, ARG(ret.name), i);
		action->name = name ? strdup(name) : NULL;
	}
	return err;
}

/* A connection request makes a new identifier. */
static int read_request(struct build *b, const struct action *call, const struct args *out)
{
	const char *type;
	int64_t id;
	int err = args_parse(out);

	if (err)
		return err;
	type = args_text(out, ARG(event.event));
	if (type && !strcmp(type, "RDMA_CM_EVENT_CONNECT_REQUEST") &&
	    args_get(out, ARG(event.id), &id)) {
		struct action *action = add_action(b);

		if (action) {
			*action = *call;
			action->kind = OBJECT_cm_id;
			action->handle = (uint64_t)id;
		} else {
			err = log_err(-ENOMEM, "read calls");
		}
	}
	return err;
}

/* Columns of read_calls(). */
enum { THREAD, N, PROCESS, VERB, BEGIN, END, END_N, HANDLE, OUT };

static int read_call(struct build *b, sqlite3_stmt *stmt, const struct args *out)
{
	int verb = verb_find((const char *)sqlite3_column_text(stmt, VERB));
	const struct verb_info *info = &verb_infos[verb];
	struct action call = {
		.thread = sql_u32(stmt, THREAD),
		.process = sql_u32(stmt, PROCESS),
		.n = (uint64_t)sqlite3_column_int64(stmt, N),
		.end_n = (uint64_t)sqlite3_column_int64(stmt, END_N),
		.create = info->effect != EFFECT_DESTROY,
		.kind = info->object,
		.handle = (uint64_t)sqlite3_column_int64(stmt, HANDLE),
	};
	struct action *action;

	call.time = sqlite3_column_int64(stmt, call.create ? END : BEGIN);
	if (verb == VERB_get_device_list)
		return read_devices(b, &call, out);
	if (verb == VERB_rdma_get_cm_event)
		return read_request(b, &call, out);
	if (!call.handle)
		return 0;
	action = add_action(b);
	if (!action)
		return log_err(-ENOMEM, "read calls");
	*action = call;
	return call.create ? object_read_made(action->kind, out, &action->made) : 0;
}

static int read_row(struct build *b, sqlite3_stmt *stmt)
{
	const char *json = (const char *)sqlite3_column_text(stmt, OUT);
	struct args *out = json ? args_new(json, strlen(json)) : NULL;
	int err = json && !out ? log_err(-ENOMEM, "read calls") : read_call(b, stmt, out);

	args_unref(out);
	return err;
}

/*
 * Read all calls that succeeded and make or destroy objects. In one pass: if the verbs were given
 * to the table (without the +), SQLite would search all blocks for each of them.
 */
static int read_calls(struct build *b)
{
	struct text sql = { 0 };
	sqlite3_stmt *stmt = NULL;
	int err;

	text_addf(&sql,
		  "SELECT thread, n, process, verb, begin, end, end_n, handle, out FROM call"
		  " WHERE failed = 0 AND +verb IN ('%s', '%s'",
		  verb_infos[VERB_get_device_list].name, verb_infos[VERB_rdma_get_cm_event].name);
	for (int v = 0; v < VERB_COUNT; v++)
		if (verb_infos[v].effect == EFFECT_CREATE || verb_infos[v].effect == EFFECT_DESTROY)
			text_addf(&sql, ", '%s'", verb_infos[v].name);
	text_addf(&sql, ")");
	err = sql.failed ? log_err(-ENOMEM, "read calls") : sql_prepare(b->db, sql.at, &stmt);
	while (!err && (err = sql_step(stmt)) > 0)
		err = read_row(b, stmt);
	sqlite3_finalize(stmt);
	text_fini(&sql);
	return err;
}

static int by_time(const void *a, const void *b)
{
	const struct action *x = a, *y = b;

	if (x->time != y->time)
		return x->time < y->time ? -1 : 1;
	if (x->thread != y->thread)
		return x->thread < y->thread ? -1 : 1;
	return x->end_n < y->end_n ? -1 : x->end_n > y->end_n;
}

static uint64_t hash_place(uint32_t process, enum object_kind kind, uint64_t handle)
{
	return map_hash(handle ^ (uint64_t)process << 40 ^ (uint64_t)kind << 56);
}

/* The slot of the last object at that address, or the empty one where it would be. */
static struct slot *slot_of(struct build *b, uint32_t process, enum object_kind kind,
			    uint64_t handle)
{
	size_t i = hash_place(process, kind, handle) & (b->slots_size - 1);

	for (; b->slots[i].object; i = (i + 1) & (b->slots_size - 1)) {
		const struct object *o = &b->objects.list[b->slots[i].object - 1];

		if (o->process == process && o->kind == kind && o->handle == handle)
			break;
	}
	return &b->slots[i];
}

static int make_room(struct build *b)
{
	b->slots_size = 64;
	while (b->slots_size < b->nactions * 2)
		b->slots_size *= 2;
	b->slots = calloc(b->slots_size, sizeof(*b->slots));
	b->list_size = b->nactions + 1;
	b->objects.list = calloc(b->list_size, sizeof(*b->objects.list));
	b->parents = calloc(b->list_size, sizeof(*b->parents));
	b->end_ns = calloc(b->list_size, sizeof(*b->end_ns));
	if (!b->slots || !b->objects.list || !b->parents || !b->end_ns)
		return log_err(-ENOMEM, "order %zu calls", b->nactions);
	return 0;
}

/* Was the object created by a call inside @outer? Then it counts as created by @outer. */
static bool is_made_inside(const struct build *b, const struct object *o,
			   const struct action *outer)
{
	return o->created.thread == outer->thread && o->created.n > outer->n &&
	       b->end_ns[o - b->objects.list] < outer->end_n;
}

static void add_object(struct build *b, struct slot *slot, const struct action *action)
{
	struct object *o = &b->objects.list[b->objects.count];

	b->parents[b->objects.count].parent = action->made.parent;
	b->parents[b->objects.count].kind = action->made.parent_kind;
	*o = (struct object){ .process = action->process,
			      .kind = action->kind,
			      .handle = action->handle,
			      .number = action->made.number,
			      .rkey = action->made.rkey,
			      .destroyed_at = INT64_MAX,
			      .name = action->name };
	slot->object = ++b->objects.count;
}

static void play_create(struct build *b, struct action *action)
{
	struct slot *slot = slot_of(b, action->process, action->kind, action->handle);
	struct object *o = slot->object ? &b->objects.list[slot->object - 1] : NULL;

	if (o && action->kind == OBJECT_device) {
		free(action->name);
		return;
	}
	if (!o || o->destroyed_at != INT64_MAX || !is_made_inside(b, o, action)) {
		add_object(b, slot, action);
		o = &b->objects.list[slot->object - 1];
	}
	o->created = (struct event_id){ action->thread, action->n };
	o->created_at = action->time;
	b->end_ns[o - b->objects.list] = action->end_n;
}

/* May the handle be that of an ancestor's object? Then it is not an unknown object. */
static bool is_inherited(struct build *b, const struct action *action)
{
	uint32_t process = action->process;

	while (process && process <= b->objects.nlineages) {
		uint32_t parent = b->objects.lineages[process - 1].parent;

		process = parent < process ? parent : 0;
		if (process && slot_of(b, process, action->kind, action->handle)->object)
			return true;
	}
	return false;
}

static void play_destroy(struct build *b, const struct action *action)
{
	struct slot *slot = slot_of(b, action->process, action->kind, action->handle);
	struct object *o;

	if (!slot->object) {
		if (is_inherited(b, action))
			return;
		add_object(b, slot, action);
		b->objects.list[slot->object - 1].created_at =
			b->objects.lineages[action->process - 1].start;
	}
	o = &b->objects.list[slot->object - 1];
	if (o->destroyed_at != INT64_MAX)
		return; /* destroyed twice, or by a call inside the one that destroyed it */
	o->destroyed = (struct event_id){ action->thread, action->n };
	o->destroyed_at = action->time;
}

static int play_actions(struct build *b)
{
	int err = make_room(b);

	if (err)
		return err;
	if (b->nactions)
		qsort(b->actions, b->nactions, sizeof(*b->actions), by_time);
	for (size_t i = 0; i < b->nactions; i++) {
		struct action *action = &b->actions[i];

		if (!action->process || action->process > b->objects.nlineages)
			continue;
		if (action->create)
			play_create(b, action);
		else
			play_destroy(b, action);
	}
	b->nparents = b->objects.count;
	return 0;
}

/* Handles in arguments that belong to no object: these existed before the recording. */
static int add_unknown(struct build *b)
{
	sqlite3_stmt *stmt;
	int err = sql_prepare(b->db,
			      "SELECT DISTINCT t.process, r.kind, r.handle FROM ref r"
			      " JOIN thread t ON t.id = r.thread ORDER BY 1, 2, 3",
			      &stmt);

	while (!err && (err = sql_step(stmt)) > 0) {
		struct action a = { .process = sql_u32(stmt, 0) };
		int kind = object_find((const char *)sqlite3_column_text(stmt, 1));

		err = 0;
		a.kind = (enum object_kind)kind;
		a.handle = (uint64_t)sqlite3_column_int64(stmt, 2);
		if (kind < 0 || !a.process || a.process > b->objects.nlineages ||
		    slot_of(b, a.process, a.kind, a.handle)->object || is_inherited(b, &a))
			continue;
		if (vec_reserve(b->objects.list, b->list_size, b->objects.count + 1ul)) {
			err = log_err(-ENOMEM, "add objects");
			break;
		}
		b->objects.list[b->objects.count++] =
			(struct object){ .process = a.process,
					 .kind = a.kind,
					 .handle = a.handle,
					 .created_at = b->objects.lineages[a.process - 1].start,
					 .destroyed_at = INT64_MAX };
	}
	sqlite3_finalize(stmt);
	return err;
}

static int by_creation(const void *a, const void *b)
{
	const struct object *x = a, *y = b;

	if (x->created_at != y->created_at)
		return x->created_at < y->created_at ? -1 : 1;
	if (x->created.thread != y->created.thread)
		return x->created.thread < y->created.thread ? -1 : 1;
	if (x->created.n != y->created.n)
		return x->created.n < y->created.n ? -1 : 1;
	return x->id < y->id ? -1 : x->id > y->id;
}

static int compare_made(struct event_id a, struct event_id b)
{
	if (a.thread != b.thread)
		return a.thread < b.thread ? -1 : 1;
	return a.n < b.n ? -1 : a.n > b.n;
}

static int by_made(const void *a, const void *b)
{
	return compare_made(((const struct given *)a)->made, ((const struct given *)b)->made);
}

static int read_given(struct build *b)
{
	sqlite3_stmt *stmt;
	int err = sql_prepare(b->db,
			      "SELECT created_thread, created_n, process, ordinal, kind FROM object"
			      " WHERE id < 0 OR created_thread > 0",
			      &stmt);

	while (!err && (err = sql_step(stmt)) > 0) {
		struct given *given = vec_push(b->given, b->ngiven);

		err = given ? 0 : log_err(-ENOMEM, "number objects");
		if (given)
			*given = (struct given){
				{ sql_u32(stmt, 0), (uint64_t)sqlite3_column_int64(stmt, 1) },
				sql_u32(stmt, 2),
				sql_u32(stmt, 3),
				object_find((const char *)sqlite3_column_text(stmt, 4) ?: ""),
			};
	}
	sqlite3_finalize(stmt);
	if (b->ngiven)
		qsort(b->given, b->ngiven, sizeof(*b->given), by_made);
	return err;
}

static bool is_made_before(const void *given, const void *id)
{
	return compare_made(((const struct given *)given)->made, *(const struct event_id *)id) < 0;
}

/* The ordinal that was assigned to the object before the cut; 0: none. */
static uint32_t given_ordinal(const struct build *b, const struct object *o)
{
	size_t at = vec_count_before(b->given, b->ngiven, sizeof(*b->given), is_made_before,
				     &o->created);

	for (; at < b->ngiven && !compare_made(b->given[at].made, o->created); at++)
		if (o->created.thread && b->given[at].kind == (int)o->kind)
			return b->given[at].ordinal;
	return 0;
}

/* How many objects were numbered before the trace was cut, by process and kind. */
static uint32_t *count_given(const struct build *b)
{
	uint32_t *ordinals = calloc((b->objects.nlineages + 1ul) * OBJECT_COUNT, sizeof(*ordinals));

	for (size_t i = 0; ordinals && i < b->ngiven && !b->given[i].made.thread; i++)
		if (b->given[i].process <= b->objects.nlineages && b->given[i].kind >= 0)
			ordinals[b->given[i].process * (size_t)OBJECT_COUNT +
				 (size_t)b->given[i].kind] = b->given[i].ordinal;
	return ordinals;
}

/* Assign ids in the order of creation; ordinals and names by process and kind. */
static int number_objects(struct build *b)
{
	uint32_t *ordinals = count_given(b);

	if (!ordinals)
		return log_err(-ENOMEM, "number objects");
	for (uint32_t i = 0; i < b->objects.count; i++)
		b->objects.list[i].id = i + 1;
	qsort(b->objects.list, b->objects.count, sizeof(*b->objects.list), by_creation);
	for (uint32_t i = 0; i < b->objects.count; i++) {
		struct object *o = &b->objects.list[i];
		char name[64];

		o->ordinal = given_ordinal(b, o);
		if (!o->ordinal)
			o->ordinal = ++ordinals[o->process * (size_t)OBJECT_COUNT + o->kind];
		snprintf(name, sizeof(name), "%s%u", object_names[o->kind], o->ordinal);
		if (!o->name)
			o->name = strdup(name);
		o->parent = o->id; /* for find_parents() */
		o->id = i + 1;
	}
	free(ordinals);
	return 0;
}

/* Parents were noted as indexes into the list before it was sorted. */
static void find_parents(struct build *b)
{
	for (uint32_t i = 0; i < b->objects.count; i++) {
		struct object *o = &b->objects.list[i], *parent = NULL;
		uint32_t first = o->parent - 1;

		o->parent = 0;
		if (first < b->nparents)
			parent = objects_at(&b->objects, o->process, b->parents[first].kind,
					    b->parents[first].parent, o->created_at);
		if (parent)
			o->parent = parent->id;
	}
}

static int write_objects(struct build *b)
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

		err = sql_run(stmt, ended ? "uututiuuzzzzzii" : "uututiuuzzzzzin", o->id,
			      o->process, object_names[o->kind], o->ordinal, o->name, o->handle,
			      o->number, o->rkey, (int64_t)o->parent, (int64_t)o->created.thread,
			      o->created.n, (int64_t)o->destroyed.thread, o->destroyed.n,
			      o->created_at, o->destroyed_at);
	}
	sqlite3_finalize(stmt);
	return err;
}

static void build_fini(struct build *b)
{
	free(b->actions);
	free(b->given);
	free(b->parents);
	free(b->slots);
	free(b->end_ns);
	objects_fini(&b->objects);
}

int objects_build(sqlite3 *db)
{
	struct build b = { .db = db };
	int err = objects_load_lineages(db, &b.objects);

	if (!err)
		err = read_given(&b);
	if (!err)
		err = read_calls(&b);
	if (!err)
		err = play_actions(&b);
	if (!err)
		err = add_unknown(&b);
	if (!err)
		err = number_objects(&b);
	if (!err)
		err = objects_index(&b.objects);
	if (err) {
		build_fini(&b);
		return err;
	}
	find_parents(&b);
	err = write_objects(&b);
	if (!err)
		err = refs_resolve(db, &b.objects);
	build_fini(&b);
	return err;
}
