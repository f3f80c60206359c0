#pragma once
/*
 * Internals of needed.c (objects and how long they are needed) and needed_call.c (the effect of
 * each verb). Not thread-safe.
 */
#include "core/base/map.h"
#include "core/store/write/needed.h"

enum { KIND_PROCESS = OBJECT_COUNT }; /* kind of a thing for calls without an object */

/* A call that is needed as long as its object is alive and no later call replaces it. */
struct held_call {
	struct event_id id;
	uint32_t stack;
	enum verb verb;
	uint64_t key; /* hash of its arguments: replaces a call with the same verb and key */
	int state;    /* ibv_modify_qp(): state of the queue pair after the call */
	int64_t begin;
};

/* An object, or the process itself. */
struct thing {
	uint32_t process, ordinal;
	uint32_t origin; /* for a process: the one that it was forked from; 0: none */
	uint64_t row;
	int kind; /* enum object_kind or KIND_PROCESS */
	uint64_t handle;
	struct event_id made;
	uint64_t end_n;
	int64_t made_at, gone_at; /* gone_at INT64_MAX: alive */
	bool counted;             /* its ordinal is known */
	bool told;                /* to the sink, or no trace needs it */
	bool brief;               /* no cut was between its creation and its end */
	bool listed;              /* for a device: it is in the last list of devices */
	uint64_t list;            /* for a device: address of its first list; 0: freed */
	struct held_call *calls;  /* oldest first */
	size_t ncalls;
	struct thing *parent, *children, *sibling, **link;
	struct thing *after_fresh, *after_gone; /* next in fresh or counted, in gone or dying */
	struct thing *after_all, **all_link;
};

struct doomed_call {
	struct event_id id;
	uint32_t stack;
	int64_t begin;
	int64_t until; /* a trace that begins later than this does not need it */
};

/* How many objects of a kind a process had created at a cut. */
struct object_count {
	int64_t time;
	uint32_t process, objects;
	int kind;
};

struct things {
	struct thing *first, **last;
};

struct needed {
	struct map by_place;  /* process, kind, handle: to struct thing */
	struct map calls;     /* thread, n: needed calls, as keys */
	struct map by_thread; /* by thread: number of needed calls */
	struct map tallies;   /* by process and kind: the number created */
	struct thing *all;
	int64_t last_cut;
	struct things fresh;         /* not counted yet, in the order of creation */
	struct things counted;       /* counted, but not told, in that order */
	struct things gone;          /* destroyed since the last cut, in that order */
	struct things dying;         /* destroyed before it, in that order */
	struct object_count *counts; /* by time; those from first_count on are not told */
	size_t ncounts, first_count;
	struct doomed_call *doomed; /* before new_doomed: replaced before the last cut */
	size_t ndoomed, doomed_size, first_doomed, new_doomed;
	size_t objects;
	uint64_t rows; /* the last row number used */
};

/* needed.c */
struct thing *needed_find(const struct needed *needed, uint32_t process, int kind, uint64_t handle);
/* The same, for the process or one that it was forked from. */
struct thing *needed_find_inherited(const struct needed *needed, uint32_t process, int kind,
				    uint64_t handle);
/* NULL if out of memory. A NULL parent means the process. */
struct thing *needed_make(struct needed *needed, const struct needed_call *call, int kind,
			  uint64_t handle, struct thing *parent);
struct thing *needed_process(struct needed *needed, uint32_t process);
void needed_end(struct needed *needed, struct thing *thing, int64_t time);
/* 0 or -ENOMEM. needed_hold(): @held replaces one with the same verb and key. */
int needed_append(struct needed *needed, struct thing *thing, const struct held_call *held,
		  int64_t time);
int needed_hold(struct needed *needed, struct thing *thing, const struct held_call *held,
		int64_t time);
/* The call is not needed after @time. */
int needed_release(struct needed *needed, struct thing *thing, size_t i, int64_t time);
