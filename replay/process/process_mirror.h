#pragma once
/*
 * Objects of replayed processes, as the replaying process has them: copies, whose pointers lead to
 * other copies. Any thread.
 */
#include "replay/process/process_wire.h"

struct mirrors;

struct mirror {
	uint64_t real;    /* its address in its process */
	uint32_t process; /* that made it */
	enum object_kind kind;
	bool builds;            /* QP: it has builders */
	bool extended;          /* CQ */
	struct mirror *next;    /* free */
	struct process_wc *wcs; /* CQ: that an iterator took, and were not asked for yet */
	uint32_t at, n;
	_Alignas(16) char copy[PROCESS_COPY];
};

/*
 * @hook puts functions of ours into a copy. @parent: of a process, from which it has inherited
 * objects; 0: none. Returns 0 or -ENOMEM.
 */
int mirrors_new(void (*hook)(struct mirror *mirror),
		uint32_t (*parent)(void *arg, uint32_t process), void *arg,
		struct mirrors **ret_mirrors);

/* Accepts NULL. */
void mirrors_free(struct mirrors *mirrors);

/* The mirror that an object is the copy of; NULL: it is an object of our own. */
struct mirror *mirror_of(const void *object);

/* The address in its process; of an object of our own the same. */
uint64_t mirror_real(uint64_t object);

/* The copy of the object at @real of @process, or of a process that it was forked from; or NULL. */
void *mirror_at(struct mirrors *mirrors, uint32_t process, uint64_t real);

/*
 * A new object of @process (@made), or what has become of one. @device: of a new context, here.
 * Returns the copy; NULL without memory.
 */
void *mirror_put(struct mirrors *mirrors, uint32_t process, const struct process_copy *copy,
		 bool made, struct ibv_device *device);

/* It was destroyed. */
void mirror_drop(struct mirrors *mirrors, struct mirror *mirror);

/* What @process made is @heir's, which was forked from it. */
void mirrors_give(struct mirrors *mirrors, uint32_t process, uint32_t heir);
