#pragma once
/*
 * Finding the objects of a trace by address and time.
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

/* The same for table `process` only. */
int objects_load_lineages(sqlite3 *db, struct objects *objects);

/* Accepts zeroed objects. */
void objects_fini(struct objects *objects);

/* Make by_handle and qps from list. 0 or -ENOMEM. */
int objects_index(struct objects *objects);

/* As trace_object_at(). */
struct object *objects_at(const struct objects *objects, uint32_t process, enum object_kind kind,
			  uint64_t handle, int64_t time);

/* The next object made at that address in the same process after @time, or NULL. */
struct object *objects_after(const struct objects *objects, uint32_t process, enum object_kind kind,
			     uint64_t handle, int64_t time);

/* An object's number, keys, and parent's handle (0: none), from the call that created it. */
struct object_made {
	uint32_t number, rkey;
	enum object_kind parent_kind;
	uint64_t parent;
};
int object_made(enum object_kind kind, const struct args *out, struct object_made *ret_made);

/* Build table `object` from table `call`, and resolve the references to it (refs.h). */
int objects_build(sqlite3 *db);

/*
 * A cache for objects_at(): a scan asks for the same few objects
 * millions of times. Empty when zeroed.
 */
struct objects_cache {
	struct {
		uint32_t process, cq, id;
		int kind;            /* -1: by number */
		uint64_t handle;     /* or the number */
		int64_t from, until; /* the answer is valid for these times */
	} entries[512];
};

/* Returns the id, 0 if there is none. */
uint32_t objects_cached_at(struct objects_cache *cache, const struct objects *objects,
			   uint32_t process, enum object_kind kind, uint64_t handle, int64_t time);
uint32_t objects_cached_qp(struct objects_cache *cache, const struct objects *objects,
			   uint32_t process, uint32_t number, uint32_t cq, int64_t time);
