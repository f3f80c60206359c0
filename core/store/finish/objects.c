/*
 * Finding the objects of a trace by address and time
 *
 * An address is used again as soon as it is free, so an object is identified by an address and an
 * interval of time. An array sorted by process, kind, address and time has all objects of an
 * address next to each other: at a given time, the last one created by then is valid.
 *
 * Not here: deriving objects from calls (lifetimes.c).
 */
#include "core/store/finish/objects.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "core/base/map.h"
#include "core/base/text.h"
#include "core/base/vec.h"
#include "core/store/db/references.h"
#include "core/store/db/row_blocks.h"
#include "core/wire/log.h"

static int compare_u64(uint64_t a, uint64_t b)
{
	return a < b ? -1 : a > b;
}

static int compare_i64(int64_t a, int64_t b)
{
	return a < b ? -1 : a > b;
}

/* Compare process, kind and address, without the time. */
static int compare_place(const struct object *a, const struct object *b)
{
	int order = compare_u64(a->process, b->process);

	if (!order)
		order = (int)a->kind - (int)b->kind;
	return order ? order : compare_u64(a->handle, b->handle);
}

static int by_handle(const void *a, const void *b)
{
	const struct object *x = *(struct object *const *)a, *y = *(struct object *const *)b;
	int order = compare_place(x, y);

	if (!order)
		order = compare_i64(x->created_at, y->created_at);
	return order ? order : compare_u64(x->id, y->id);
}

static int compare_qp_numbers(const void *a, const void *b)
{
	const struct object *x = *(struct object *const *)a, *y = *(struct object *const *)b;
	int order = compare_u64(x->process, y->process);

	if (!order)
		order = compare_u64(x->number, y->number);
	if (!order)
		order = compare_i64(x->created_at, y->created_at);
	return order ? order : compare_u64(x->id, y->id);
}

/* The objects with one process, kind and address, in the order of their time: indexes from 1. */
struct chain {
	uint32_t first, last;
};

static int compare_chain_places(const void *a, const void *b, void *list)
{
	const struct chain *x = a, *y = b;
	const struct object *objects = list;

	return compare_place(&objects[x->first - 1], &objects[y->first - 1]);
}

/*
 * A key of process, kind and address. Different ones may have the same key: chain_object() notices.
 */
static uint64_t place_key(const struct object *o)
{
	return o->handle * 0x9e3779b97f4a7c15ull + o->process * 0xbf58476d1ce4e5b9ull + o->kind;
}

/*
 * Append object @i to the chain of its address. 1; 0: its time is not after that of the last one in
 * the chain, or two addresses have the same key; or -ENOMEM.
 */
static int chain_object(const struct objects *objects, uint32_t i, struct map *places,
			struct chain *chains, uint32_t *next)
{
	const struct object *o = &objects->list[i - 1], *last;
	uint64_t at = places->used;

	if (!map_get(places, place_key(o), &at)) {
		chains[at] = (struct chain){ i, i };
		return map_put(places, place_key(o), at) ? -ENOMEM : 1;
	}
	last = &objects->list[chains[at].last - 1];
	if (compare_place(last, o) || by_handle(&last, &o) > 0)
		return 0;
	next[chains[at].last] = i;
	chains[at].last = i;
	return 1;
}

/*
 * Rows are in the order in which objects were created, and a program that creates many mostly
 * creates them at few addresses: so only the addresses are sorted. False: the rows are not in that
 * order.
 */
static bool sort_chains(struct objects *objects, struct chain *chains, uint32_t *next)
{
	struct map places = { 0 };
	struct object **to = objects->by_handle;
	int chained = 1;
	size_t n;

	for (uint32_t i = 1; i <= objects->count && chained > 0; i++)
		chained = chain_object(objects, i, &places, chains, next);
	n = places.used;
	map_fini(&places);
	if (chained <= 0)
		return false;
	qsort_r(chains, n, sizeof(*chains), compare_chain_places, objects->list);
	for (size_t k = 0; k < n; k++)
		for (uint32_t i = chains[k].first; i; i = next[i])
			*to++ = &objects->list[i - 1];
	return true;
}

static void sort_by_handle(struct objects *objects)
{
	struct chain *chains = calloc(objects->count + 1ul, sizeof(*chains));
	uint32_t *next = calloc(objects->count + 1ul, sizeof(*next));

	if (!chains || !next || !sort_chains(objects, chains, next)) {
		for (uint32_t i = 0; i < objects->count; i++)
			objects->by_handle[i] = &objects->list[i];
		qsort(objects->by_handle, objects->count, sizeof(*objects->by_handle), by_handle);
	}
	free(chains);
	free(next);
}

int objects_index(struct objects *objects)
{
	free(objects->by_handle);
	free(objects->qps);
	objects->by_handle = calloc(objects->count + 1, sizeof(*objects->by_handle));
	objects->qps = calloc(objects->count + 1, sizeof(*objects->qps));
	objects->nqps = 0;
	if (!objects->by_handle || !objects->qps)
		return log_err(-ENOMEM, "sort %u objects", objects->count);
	for (uint32_t i = 0; i < objects->count; i++)
		if (objects->list[i].kind == OBJECT_qp)
			objects->qps[objects->nqps++] = &objects->list[i];
	sort_by_handle(objects);
	qsort(objects->qps, objects->nqps, sizeof(*objects->qps), compare_qp_numbers);
	return 0;
}

/* The number of objects in the array that compare less than or equal to @key. */
static uint32_t find_after(struct object **array, uint32_t count, const struct object *key,
			   int (*compare)(const void *, const void *))
{
	uint32_t low = 0, high = count;

	while (low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (compare(&array[middle], &key) <= 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static struct object *last_before(const struct objects *objects, const struct object *key)
{
	uint32_t i = find_after(objects->by_handle, objects->count, key, by_handle);

	if (!i || compare_place(objects->by_handle[i - 1], key))
		return NULL;
	return objects->by_handle[i - 1];
}

struct object *objects_at(const struct objects *objects, uint32_t process, enum object_kind kind,
			  uint64_t handle, int64_t time)
{
	struct object *found = NULL;

	/* this ends: the number of a parent is lower than its child's */
	while (process && process <= objects->nlineages && !found && handle) {
		const struct lineage *from = &objects->lineages[process - 1];
		struct object key = { .id = UINT32_MAX,
				      .process = process,
				      .kind = kind,
				      .handle = handle,
				      .created_at = time };

		found = last_before(objects, &key);
		if (from->fork_time < time)
			time = from->fork_time;
		process = from->parent < process ? from->parent : 0;
	}
	return found;
}

struct object *objects_after(const struct objects *objects, uint32_t process, enum object_kind kind,
			     uint64_t handle, int64_t time)
{
	struct object key = { .id = UINT32_MAX,
			      .process = process,
			      .kind = kind,
			      .handle = handle,
			      .created_at = time };
	uint32_t i = find_after(objects->by_handle, objects->count, &key, by_handle);

	if (i == objects->count || compare_place(objects->by_handle[i], &key))
		return NULL;
	return objects->by_handle[i];
}

/* The id of the device context that an object belongs to; 0: unknown. */
static uint32_t find_context(const struct objects *objects, const struct object *object)
{
	/*
	 * the parents are a PD, a parent domain's PD, a context: never deep; a damaged trace may
	 * have a cycle
	 */
	for (int depth = 0; object && depth < 8; depth++) {
		if (object->kind == OBJECT_context)
			return object->id;
		if (!object->parent || object->parent > objects->count)
			return 0;
		object = &objects->list[object->parent - 1];
	}
	return 0;
}

/*
 * The last queue pair with the number of @key created by the time of @key; if @context is not 0,
 * only of this context.
 */
static struct object *last_qp(const struct objects *objects, const struct object *key,
			      uint32_t context)
{
	struct object *first = NULL;

	for (uint32_t i = find_after(objects->qps, objects->nqps, key, compare_qp_numbers); i > 0;
	     i--) {
		struct object *qp = objects->qps[i - 1];
		uint32_t its;

		if (qp->process != key->process || qp->number != key->number)
			break;
		if (!first)
			first = qp;
		its = context ? find_context(objects, qp) : 0;
		if (!context || !its || its == context)
			return qp;
	}
	return first;
}

/*
 * The queue pair with that number at @time. Two devices of a process may use the same number: then
 * the queue pair on the device of CQ @cq (an id; 0: any) is returned.
 */
static struct object *find_qp(const struct objects *objects, uint32_t process, uint32_t number,
			      uint32_t cq, int64_t time)
{
	struct object *found = NULL;
	uint32_t context = 0;

	if (cq && cq <= objects->count)
		context = find_context(objects, &objects->list[cq - 1]);
	while (process && process <= objects->nlineages && !found) {
		const struct lineage *from = &objects->lineages[process - 1];
		struct object key = {
			.id = UINT32_MAX, .process = process, .number = number, .created_at = time
		};

		found = last_qp(objects, &key, context);
		if (from->fork_time < time)
			time = from->fork_time;
		process = from->parent < process ? from->parent : 0;
	}
	return found;
}

int objects_load_lineages(sqlite3 *db, struct objects *objects)
{
	uint32_t count;
	sqlite3_stmt *stmt;
	int err = sql_max_id(db, "process", &count);

	if (err)
		return err;
	objects->lineages = calloc(count + 1ul, sizeof(*objects->lineages));
	if (!objects->lineages)
		return log_err(-ENOMEM, "read table process");
	objects->nlineages = count;
	err = sql_prepare(db, "SELECT id, parent, fork_time, start FROM process", &stmt);
	while (!err && (err = sql_step(stmt)) > 0) {
		int64_t id = sqlite3_column_int64(stmt, 0);

		err = 0;
		if (id < 1 || id > count)
			continue;
		objects->lineages[id - 1] =
			(struct lineage){ sql_u32(stmt, 1), sql_time(stmt, 2), sql_time(stmt, 3) };
	}
	sqlite3_finalize(stmt);
	return err;
}

static const char load_sql[] =
	"SELECT id, process, kind, ordinal, name, handle, number, rkey, parent, created_thread,"
	" created_n, destroyed_thread, destroyed_n, created_at, destroyed_at FROM object"
	" ORDER BY id";

/* The columns of load_sql. */
enum {
	ID,
	PROCESS,
	KIND,
	ORDINAL,
	NAME,
	HANDLE,
	NUMBER,
	RKEY,
	PARENT,
	CREATED_THREAD,
	CREATED_N,
	DESTROYED_THREAD,
	DESTROYED_N,
	CREATED_AT,
	DESTROYED_AT,
};

struct object_loader {
	sqlite3 *db;
	const struct references_bounds *bounds;
	struct object *list;
	size_t n, size;
	struct text name; /* of the last object */
};

static bool is_at_most(const struct row_value *value, uint32_t most)
{
	return value->kind == ROW_NULL ||
	       (value->kind == ROW_NUMBER && value->number >= 0 && value->number <= most);
}

/* Are the row's references to other tables within @bounds? */
static bool is_sound(const struct row_value *row, const struct references_bounds *bounds)
{
	return is_at_most(&row[ID], bounds->object) && is_at_most(&row[PROCESS], bounds->process) &&
	       is_at_most(&row[PARENT], bounds->object) &&
	       is_at_most(&row[CREATED_THREAD], bounds->thread) &&
	       is_at_most(&row[DESTROYED_THREAD], bounds->thread);
}

static uint32_t get_u32(const struct row_value *value)
{
	return value->number < 0 || value->number > UINT32_MAX ? 0 : (uint32_t)value->number;
}

static int find_kind(const struct row_value *value)
{
	for (int kind = 0; kind < OBJECT_COUNT && value->kind == ROW_TEXT; kind++)
		if (strlen(object_names[kind]) == value->length &&
		    !memcmp(object_names[kind], value->text, value->length))
			return kind;
	return -1;
}

static int load_name(struct text *name, const struct row_value *value, struct object *o)
{
	if (value->kind != ROW_TEXT && value->kind != ROW_NUMBERED)
		return log_why(-EINVAL, "object %u has no name", o->id);
	text_cut(name, 0);
	text_add(name, value->text, value->length);
	if (value->kind == ROW_NUMBERED)
		text_number(name, value->number);
	o->name = name->failed ? NULL : strdup(name->at);
	return o->name ? 0 : log_err(-ENOMEM, "read object %u", o->id);
}

/* Add an object. Rows are in the order of their numbers, without gaps. */
static int load_object(struct object_loader *loader, const struct row_value *row)
{
	int64_t id = row[ID].number;
	int kind = find_kind(&row[KIND]);
	struct object *o;

	if (id != (int64_t)loader->n + 1 || id > UINT32_MAX || kind < 0)
		return log_why(-EINVAL, "table object: row %lld is invalid", (long long)id);
	if (vec_reserve(loader->list, loader->size, loader->n + 1))
		return log_err(-ENOMEM, "read object %lld", (long long)id);
	o = &loader->list[loader->n++];
	*o = (struct object){
		.id = (uint32_t)id,
		.process = get_u32(&row[PROCESS]),
		.kind = (enum object_kind)kind,
		.ordinal = get_u32(&row[ORDINAL]),
		.handle = (uint64_t)row[HANDLE].number,
		.number = get_u32(&row[NUMBER]),
		.rkey = get_u32(&row[RKEY]),
		.parent = get_u32(&row[PARENT]),
		.created = { get_u32(&row[CREATED_THREAD]), (uint64_t)row[CREATED_N].number },
		.destroyed = { get_u32(&row[DESTROYED_THREAD]), (uint64_t)row[DESTROYED_N].number },
		.created_at = span_limit(row[CREATED_AT].number),
		.destroyed_at = row[DESTROYED_AT].kind == ROW_NULL
					? INT64_MAX
					: span_limit(row[DESTROYED_AT].number),
	};
	return load_name(&loader->name, &row[NAME], o);
}

static int visit_object(void *arg, const struct row_value *row)
{
	struct object_loader *loader = arg;
	int err =
		loader->bounds && !is_sound(row, loader->bounds) ? references_check(loader->db) : 0;

	return err ?: load_object(loader, row);
}

/* Check that the parents of each object lead to a context or a device. */
static int check_parents(const struct objects *objects)
{
	enum {
		DEPTH = 16
	}; /* device, context, PD, parent domain, queue pair, ...: fewer than this */

	for (uint32_t i = 0; i < objects->count; i++) {
		uint32_t id = i + 1, steps = 0;

		while (id && id <= objects->count && steps++ < DEPTH)
			id = objects->list[id - 1].parent;
		if (steps > DEPTH)
			return log_why(-EINVAL, "object %u is among its own parents", i + 1);
	}
	return 0;
}

int objects_load(sqlite3 *db, const struct references_bounds *bounds, struct objects *ret_objects)
{
	struct object_loader loader = { .db = db, .bounds = bounds };
	struct objects objects = { 0 };
	int err = objects_load_lineages(db, &objects)
			  ?: row_table_visit(db, "object", load_sql, visit_object, &loader);

	text_fini(&loader.name);
	objects.list = loader.list;
	objects.count = (uint32_t)loader.n;
	if (!err)
		err = check_parents(&objects);
	if (!err)
		err = objects_index(&objects);
	if (err) {
		objects_fini(&objects);
		return err;
	}
	*ret_objects = objects;
	return 0;
}

void objects_fini(struct objects *objects)
{
	for (uint32_t i = 0; objects->list && i < objects->count; i++)
		free((char *)objects->list[i].name);
	free(objects->list);
	free(objects->by_handle);
	free(objects->qps);
	free(objects->lineages);
	*objects = (struct objects){ 0 };
}

/*
 * Replace the older of two entries, and put the newer one first: queries for two answers with the
 * same hash may alternate.
 */
static struct objects_cache_entry *replace_entry(struct objects_cache *cache, unsigned int i)
{
	cache->entries[i + 1] = cache->entries[i];
	return &cache->entries[i];
}

uint32_t objects_cache_at(struct objects_cache *cache, const struct objects *objects,
			  uint32_t process, enum object_kind kind, uint64_t handle, int64_t time)
{
	struct objects_cache_entry *e =
		replace_entry(cache, objects_entry(process, (int)kind, handle, 0));
	const struct object *o = objects_at(objects, process, kind, handle, time);
	const struct object *next = objects_after(objects, process, kind, handle, time);

	*e = (struct objects_cache_entry){ .process = process,
					   .kind = (int)kind,
					   .handle = handle,
					   .id = o ? o->id : 0,
					   .from = time,
					   .until = next ? next->created_at : INT64_MAX };
	return e->id;
}

/* When the process creates the next queue pair with that number. */
static int64_t qp_number_end(const struct objects *objects, uint32_t process, uint32_t number,
			     int64_t time)
{
	struct object key = {
		.id = UINT32_MAX, .process = process, .number = number, .created_at = time
	};
	uint32_t i = find_after(objects->qps, objects->nqps, &key, compare_qp_numbers);

	if (i == objects->nqps || objects->qps[i]->process != process ||
	    objects->qps[i]->number != number)
		return INT64_MAX;
	return objects->qps[i]->created_at;
}

uint32_t objects_cache_qp(struct objects_cache *cache, const struct objects *objects,
			  uint32_t process, uint32_t number, uint32_t cq, int64_t time)
{
	struct objects_cache_entry *e =
		replace_entry(cache, objects_entry(process, OBJECTS_QP_NUMBER, number, cq));
	const struct object *o = find_qp(objects, process, number, cq, time);

	*e = (struct objects_cache_entry){ .process = process,
					   .kind = OBJECTS_QP_NUMBER,
					   .handle = number,
					   .cq = cq,
					   .id = o ? o->id : 0,
					   .from = time,
					   .until = qp_number_end(objects, process, number, time) };
	return e->id;
}
