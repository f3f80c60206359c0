#pragma once
/*
 * Objects of replayed processes, as the replaying process has them: copies, whose pointers lead to
 * other copies. Any thread.
 */
#include "replay/process/process_wire.h"

struct mirrors;

struct mirror {
	uint64_t real;    /* its address in its process */
	uint32_t process; /* that made it, or its heir */
	uint32_t holders; /* processes that have it */
	enum object_kind kind;
	bool builds;            /* QP: it has builders */
	bool extended;          /* CQ */
	struct mirror *next;    /* free */
	struct process_wc *wcs; /* CQ: that an iterator took, and were not asked for yet */
	uint32_t at, n;
	_Alignas(16) char copy[PROCESS_COPY];
};

/* @hook puts functions of ours into a copy. Returns 0 or -ENOMEM. */
int mirrors_new(void (*hook)(struct mirror *mirror), struct mirrors **ret_mirrors);

/* Accepts NULL. */
void mirrors_free(struct mirrors *mirrors);

/* The mirror that an object is the copy of; NULL: it is an object of our own. */
struct mirror *mirror_of(const void *object);

/* The address in its process; of an object of our own the same. */
uint64_t mirror_real(uint64_t object);

/* The copy of the object that @process has at @real; or NULL. */
void *mirror_at(struct mirrors *mirrors, uint32_t process, uint64_t real);

/*
 * Has @process the object at its address? It made it, or was forked when the process that it was
 * forked from had it; and has not destroyed it since.
 */
bool mirror_has(struct mirrors *mirrors, uint32_t process, const struct mirror *mirror);

/* @child, which was just forked from @parent, has what that has. Returns 0 or -ENOMEM. */
int mirrors_fork(struct mirrors *mirrors, uint32_t parent, uint32_t child);

/*
 * A new object of @process (@made), or what has become of one. @device: of a new context, here.
 * Returns the copy; NULL without memory.
 */
void *mirror_put(struct mirrors *mirrors, uint32_t process, const struct process_copy *copy,
		 bool made, struct ibv_device *device);

/* @process destroyed its own. */
void mirror_drop(struct mirrors *mirrors, uint32_t process, struct mirror *mirror);

/* @process has ended: @heir, which was forked from it, is asked for what it has of that. */
void mirrors_give(struct mirrors *mirrors, uint32_t process, uint32_t heir);
