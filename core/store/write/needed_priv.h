#pragma once
/*
 * Internals of needed.c (objects and how long they are needed) and needed_call.c (the effect of
 * each verb). Not thread-safe.
 */
#include "core/base/map.h"
#include "core/store/write/needed.h"

enum { KIND_PROCESS = OBJECT_COUNT }; /* kind of the entry that has the calls without an object */

/* A call that is needed until its object ends or a later call replaces it. */
struct held_call {
	struct event_id id;
	uint32_t stack;
	enum verb verb;
	/* hash of its arguments: the call replaces an earlier one with the same verb and key */
	uint64_t key;
	int state; /* ibv_modify_qp(): state of the queue pair after the call */
	int64_t begin;
};

/* An object, or the process itself. */
struct needed_entry {
	uint32_t process, ordinal;
	uint32_t origin; /* of a process: the process from which it was forked; 0: none */
	uint64_t row;
	int kind; /* enum object_kind, or KIND_PROCESS */
	uint64_t handle;
	struct event_id made;
	uint64_t end_n;
	int64_t made_at, gone_at; /* when it was created and destroyed; gone_at INT64_MAX: alive */
	bool counted;             /* its ordinal is known */
	bool in_sink;             /* the sink has the object, or no trace needs it */
	bool brief;               /* no cut was between its creation and its end */
	bool listed;              /* of a device: it is in the last list of devices */
	/* of a device: address of the first list that had it; 0: that list was freed */
	uint64_t list;
	struct held_call *calls; /* oldest first */
	size_t ncalls;
	struct needed_entry *parent, *children, *sibling, **link;
	/* the next in the list `fresh` or `counted`; in the list `gone` or `dying` */
	struct needed_entry *after_fresh, *after_gone;
	struct needed_entry *after_all, **all_link;
};

struct expiring_call {
	struct event_id id;
	uint32_t stack;
	int64_t begin;
	int64_t until; /* only a trace that begins at or before this time needs the call */
};

/* How many objects of a kind a process had created at a cut. */
struct object_count {
	int64_t time;
	uint32_t process, objects;
	int kind;
};

struct needed_list {
	struct needed_entry *first, **last;
};

struct needed {
	struct map by_place;  /* process, kind and handle: to struct needed_entry */
	struct map calls;     /* thread and n of needed calls, as keys */
	struct map by_thread; /* by thread: number of needed calls */
	struct map tallies;   /* by process and kind: number of created objects */
	struct needed_entry *all;
	int64_t last_cut;
	struct needed_list fresh; /* not counted yet, in the order of creation */
	/* counted, but not passed to the sink; in the order of creation */
	struct needed_list counted;
	struct needed_list gone; /* destroyed since the last cut, in the order of destruction */
	/* destroyed before the last cut, in the order of destruction */
	struct needed_list dying;
	struct object_count *counts; /* sorted by time; the sink has got those before first_count */
	size_t ncounts, first_count;
	/* those before new_expiring were replaced before the last cut */
	struct expiring_call *expiring;
	size_t nexpiring, expiring_size, first_expiring, new_expiring;
	size_t objects;
	uint64_t rows; /* last row number used */
};

/* needed.c */
struct needed_entry *needed_find(const struct needed *needed, uint32_t process, int kind,
				 uint64_t handle);
/* The same for the process, or else the nearest ancestor that has the object. */
struct needed_entry *needed_find_inherited(const struct needed *needed, uint32_t process, int kind,
					   uint64_t handle);
/* Create a entry; NULL if out of memory. @parent NULL: the process. */
struct needed_entry *needed_add_object(struct needed *needed, const struct needed_call *call,
				       int kind, uint64_t handle, struct needed_entry *parent);
struct needed_entry *needed_add_process(struct needed *needed, uint32_t process);
void needed_end_object(struct needed *needed, struct needed_entry *entry, int64_t time);
/*
 * Add @held to @entry; 0 or -ENOMEM. needed_hold_call(): it replaces one with the same verb and
 * key.
 */
int needed_append(struct needed *needed, struct needed_entry *entry, const struct held_call *held,
		  int64_t time);
int needed_hold_call(struct needed *needed, struct needed_entry *entry,
		     const struct held_call *held, int64_t time);
/* Call @i of @entry is not needed after @time. */
int needed_release(struct needed *needed, struct needed_entry *entry, size_t i, int64_t time);
