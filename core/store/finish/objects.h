#pragma once
/*
 * Finding the objects of a trace by address and time.
 *
 * Not thread-safe.
 */
#include "core/store/db/sql.h"
#include "core/store/db/args.h"
#include "core/store/db/ids.h"

/* The ancestry of a process. */
struct lineage {
	uint32_t parent; /* number of the process; 0: none */
	int64_t fork_time;
	int64_t start;
};

struct objects {
	struct object *list; /* by id - 1 */
	uint32_t count;
	struct object **by_handle; /* by process, kind, handle, created_at */
	struct object **qps;       /* by process, number, created_at */
	uint32_t nqps;
	struct lineage *lineages; /* by number of the process - 1 */
	uint32_t nlineages;
};

struct references_bounds;

/*
 * Read tables `object` and `process`. @bounds: bounds for the references of objects; NULL: these
 * were checked before. Returns 0 or -errno after log_err().
 */
int objects_load(sqlite3 *db, const struct references_bounds *bounds, struct objects *ret_objects);

/* The same for table `process` only. */
int objects_load_lineages(sqlite3 *db, struct objects *objects);

/* Accepts zeroed objects. */
void objects_fini(struct objects *objects);

/* Build objects->by_handle and objects->qps from objects->list. 0 or -ENOMEM. */
int objects_index(struct objects *objects);

/* Same as trace_object_at(). */
struct object *objects_at(const struct objects *objects, uint32_t process, enum object_kind kind,
			  uint64_t handle, int64_t time);

/* The next object created at @handle in the same process after @time, or NULL. */
struct object *objects_after(const struct objects *objects, uint32_t process, enum object_kind kind,
			     uint64_t handle, int64_t time);

/* An object's number and keys, and its parent's handle (0: none), from the call that created it. */
struct object_creation {
	uint32_t number, rkey;
	enum object_kind parent_kind;
	uint64_t parent;
};
int object_read_created(enum object_kind kind, const struct args *out,
			struct object_creation *ret_made);

/* Build table `object` from table `call`, and resolve the references to it (refs.h). */
int objects_build(sqlite3 *db);

enum { OBJECTS_QP_NUMBER = -1 }; /* as a kind: a queue pair, by its number */

/*
 * A cache for objects_at(): a scan asks for the same few objects
 * millions of times. Empty when zeroed.
 */
struct objects_cache_entry {
	uint32_t process, cq, id;
	int kind;            /* enum object_kind, or OBJECTS_QP_NUMBER */
	uint64_t handle;     /* the handle, or the queue pair number */
	int64_t from, until; /* the answer is valid for these times */
};

struct objects_cache {
	struct objects_cache_entry entries[512];
};

/* The index of the first of two entries that may have an answer; the second follows it. */
static inline unsigned int objects_entry(uint32_t process, int kind, uint64_t handle, uint32_t cq)
{
	uint64_t h = (handle ^ (uint64_t)process << 48 ^ (uint64_t)(kind + 1) << 40 ^
		      (uint64_t)cq << 24) *
		     0x9e3779b97f4a7c15ull;

	return (unsigned int)(h >> 56) * 2;
}

static inline bool objects_answers(const struct objects_cache_entry *e, uint32_t process, int kind,
				   uint64_t handle, uint32_t cq, int64_t time)
{
	return e->handle == handle && e->process == process && e->kind == kind && e->cq == cq &&
	       time >= e->from && time < e->until;
}

/* The entry with the answer at @time; NULL: it is not cached. */
static inline const struct objects_cache_entry *objects_cached(const struct objects_cache *cache,
							       uint32_t process, int kind,
							       uint64_t handle, uint32_t cq,
							       int64_t time)
{
	unsigned int i = objects_entry(process, kind, handle, cq);

	if (objects_answers(&cache->entries[i], process, kind, handle, cq, time))
		return &cache->entries[i];
	i++;
	return objects_answers(&cache->entries[i], process, kind, handle, cq, time)
		       ? &cache->entries[i]
		       : NULL;
}

/* Slow paths of objects_cached_at() and objects_cached_qp(): call those. */
uint32_t objects_cache_at(struct objects_cache *cache, const struct objects *objects,
			  uint32_t process, enum object_kind kind, uint64_t handle, int64_t time);
uint32_t objects_cache_qp(struct objects_cache *cache, const struct objects *objects,
			  uint32_t process, uint32_t number, uint32_t cq, int64_t time);

/* The id of the object; 0: none. */
static inline uint32_t objects_cached_at(struct objects_cache *cache, const struct objects *objects,
					 uint32_t process, enum object_kind kind, uint64_t handle,
					 int64_t time)
{
	const struct objects_cache_entry *e =
		objects_cached(cache, process, (int)kind, handle, 0, time);

	return e ? e->id : objects_cache_at(cache, objects, process, kind, handle, time);
}

static inline uint32_t objects_cached_qp(struct objects_cache *cache, const struct objects *objects,
					 uint32_t process, uint32_t number, uint32_t cq,
					 int64_t time)
{
	const struct objects_cache_entry *e;

	if (!number)
		return 0;
	e = objects_cached(cache, process, OBJECTS_QP_NUMBER, number, cq, time);
	return e ? e->id : objects_cache_qp(cache, objects, process, number, cq, time);
}
