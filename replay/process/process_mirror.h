#pragma once
/*
 * Copies of the objects of replayed processes, in the replaying process; their pointers lead to
 * other copies. Any thread.
 */
#include "replay/process/process_wire.h"

struct mirrors;

struct mirror {
	uint64_t real;    /* the object's address in its process */
	uint32_t process; /* its creator, or its owner since mirrors_hand_down() */
	uint32_t holders; /* number of processes that have the object */
	enum object_kind kind;
	bool builds;            /* QP: it has ibv_wr_*() builders */
	bool extended;          /* CQ */
	struct mirror *next;    /* next unused mirror */
	struct process_wc *wcs; /* CQ: got from an iterator, but not polled yet */
	uint32_t at, n;
	_Alignas(16) char copy[PROCESS_COPY];
};

/* @hook sets the functions of a copy. Returns 0 or -ENOMEM. */
int mirrors_new(void (*hook)(struct mirror *mirror), struct mirrors **ret_mirrors);

/* Accepts NULL. */
void mirrors_free(struct mirrors *mirrors);

/* The mirror of copy @object; NULL: @object is an object of this process. */
struct mirror *mirror_of(const void *object);

/* The address of @object in its process; for an object of this process, @object. */
uint64_t mirror_real(uint64_t object);

/* The copy of the object that @process has at @real; or NULL. */
void *mirror_at(struct mirrors *mirrors, uint32_t process, uint64_t real);

/*
 * Does @process have the object? Yes, if it created the object, or was forked while its
 * parent had it, and has not destroyed it since.
 */
bool mirror_has(struct mirrors *mirrors, uint32_t process, const struct mirror *mirror);

/*
 * @child, which was just forked from @parent, gets all objects that @parent has. Returns 0 or
 * -ENOMEM.
 */
int mirrors_fork(struct mirrors *mirrors, uint32_t parent, uint32_t child);

/*
 * Note a new object of @process (@made), or the new state of an existing one. @device: for a new
 * context, the device in this process. Returns the copy; NULL if out of memory.
 */
void *mirror_put(struct mirrors *mirrors, uint32_t process, const struct process_copy *copy,
		 bool made, struct ibv_device *device);

/* @process has destroyed the object. */
void mirror_drop(struct mirrors *mirrors, uint32_t process, struct mirror *mirror);

/* @process has ended: @heir, which was forked from it, now serves the objects that both had. */
void mirrors_hand_down(struct mirrors *mirrors, uint32_t process, uint32_t heir);
