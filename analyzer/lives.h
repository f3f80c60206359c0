#pragma once
/*
 * Objects by process, kind and address, and who hangs on whom.
 *
 * One thread.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "core/store/read/trace.h"

enum {
	LIFE_NAME = 32,
	LIVES_DEAD = 1 << 16, /* dead objects that are remembered */
};

/* A call, kept when its event has gone by. */
struct mark {
	struct event_id id; /* 0:0: not in the trace */
	enum verb verb;     /* VERB_COUNT: none, or unknown */
	uint32_t process;
	uint32_t stack; /* of the trace, 0 none */
	int64_t time;
};

enum life_state {
	LIFE_LIVE,
	LIFE_DYING,  /* its destroy has begun and not returned */
	LIFE_GONE,   /* its destroy succeeded */
	LIFE_CLOSED, /* its context was closed while it was alive */
};

struct life_link;

struct life {
	enum object_kind kind;
	enum life_state state;
	uint32_t process;
	uint64_t handle;
	uint32_t number; /* as in struct object */
	uint64_t bytes;  /* of an MR */
	char name[LIFE_NAME];
	bool inherited; /* made by a process that this one was forked from */
	bool borrowed;  /* imported, or librdmacm's: it is not the program's to destroy */
	bool hashed;    /* found by lives_find() */
	struct mark created, destroyed;
	uint64_t events;       /* of a CQ: got from the channel, not acknowledged */
	uint64_t async_events; /* the same from the context */
	struct mark got;       /* the last of either */
	uint64_t *groups;      /* multicast groups that a QP is attached to, hashed */
	unsigned int ngroups;
	struct event_id bind; /* of an MW: the call that bound it last */
	struct life_link *children, *parents;
	struct life *next;          /* of the same bucket */
	struct life *older, *newer; /* among the dead */
};

/* In two lists: the children of @parent, the parents of @child. */
struct life_link {
	struct life *parent, *child;
	struct life_link *next_child, **child_at;
	struct life_link *next_parent, **parent_at;
};

struct lives {
	struct life **buckets;
	size_t nbuckets, count, live, dead;
	struct life *dead_oldest, *dead_newest;
};

int lives_init(struct lives *lives);
void lives_fini(struct lives *lives);

/* NULL if there is none. */
struct life *lives_find(const struct lives *lives, uint32_t process, enum object_kind kind,
			uint64_t handle);

/*
 * Take @life in as alive. Whatever was at its address is forgotten, except one
 * that is dying: that is only not found any more.
 */
void lives_add(struct lives *lives, struct life *life);

/* It is dead now: unlinked, remembered as @state for a while. */
void lives_bury(struct lives *lives, struct life *life, enum life_state state);

/* Unlink, take out and free; accepts NULL. */
void lives_drop(struct lives *lives, struct life *life);

/* Those of @process in the order they were made, to be freed. Returns how many or -ENOMEM. */
ssize_t lives_of(const struct lives *lives, uint32_t process, struct life ***ret_found);

/* @child hangs on @parent; twice is once. Returns 0 or -ENOMEM. */
int life_link(struct life *parent, struct life *child);

/* It does no more; @child NULL: nothing does; @parent NULL: it hangs on nothing. */
void life_unlink(struct life *parent, struct life *child);

/* The same for the parents of one kind. */
void life_unlink_kind(struct life *child, enum object_kind kind);

/* A QP is attached to a multicast group, or detached; twice is once. 0 or -ENOMEM. */
int life_attach(struct life *qp, uint64_t group);
void life_detach(struct life *qp, uint64_t group);
