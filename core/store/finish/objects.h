#pragma once
/*
 * The objects of a trace: found by address and time.
 *
 * One thread.
 */
#include "core/store/db/sql.h"
#include "core/store/db/args.h"
#include "core/store/db/ids.h"

/* Where a process comes from. */
struct lineage {
	uint32_t parent; /* process, 0 none */
	int64_t fork_time;
	int64_t start;
};

struct objects {
	struct object *list; /* by id - 1 */
	uint32_t count;
	struct object **by_handle; /* by process, kind, handle, created_at */
	struct object **qps;       /* by process, number, created_at */
	uint32_t nqps;
	struct lineage *lineages; /* by process - 1 */
	uint32_t nlineages;
};

/* Read tables `object` and `process`. Returns 0 or -errno after log_err(). */
int objects_load(sqlite3 *db, struct objects *ret_objects);

/* Only the processes. */
int objects_load_lineages(sqlite3 *db, struct objects *objects);

/* Accepts one that is zeroed. */
void objects_fini(struct objects *objects);

/* Sort what is in list: by_handle, qps. 0 or -ENOMEM. */
int objects_index(struct objects *objects);

/* trace_object_at() */
struct object *objects_at(const struct objects *objects, uint32_t process, enum object_kind kind,
			  uint64_t handle, int64_t time);

/* The next object at that address to be made after @time in the same process, or NULL. */
struct object *objects_after(const struct objects *objects, uint32_t process, enum object_kind kind,
			     uint64_t handle, int64_t time);

/*
 * The queue pair of that number at @time. The same number may live on two
 * devices of a process: the one on the device of CQ @cq (an id, 0 any).
 */
struct object *objects_qp(const struct objects *objects, uint32_t process, uint32_t number,
			  uint32_t cq, int64_t time);

/* The device context that an object belongs to, id; 0 unknown. */
uint32_t objects_context(const struct objects *objects, const struct object *object);

/* What a creation tells of its object: number, keys, and its parent's handle (0 none). */
struct object_made {
	uint32_t number, rkey;
	enum object_kind parent_kind;
	uint64_t parent;
};
int object_made(enum object_kind kind, const struct args *out, struct object_made *ret_made);

/* Build table `object` from table `call`, and resolve what refers to it (refs.h). */
int objects_build(sqlite3 *db);

/*
 * Answers of objects_at() and objects_qp(), remembered: a scan asks the same
 * few objects millions of times. Zeroed it is empty.
 */
struct objects_cache {
	struct {
		uint32_t process, cq, id;
		int kind;            /* -1: by number */
		uint64_t handle;     /* or the number */
		int64_t from, until; /* the answer holds for these times */
	} entries[512];
};

/* The id, 0 if there is none. */
uint32_t objects_cached_at(struct objects_cache *cache, const struct objects *objects,
			   uint32_t process, enum object_kind kind, uint64_t handle, int64_t time);
uint32_t objects_cached_qp(struct objects_cache *cache, const struct objects *objects,
			   uint32_t process, uint32_t number, uint32_t cq, int64_t time);
