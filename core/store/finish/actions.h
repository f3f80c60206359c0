#pragma once
/*
 * The calls of a trace that create and destroy objects, in the order of time.
 *
 * A trace of a service has millions of objects of 10 bytes each, and completing it should need
 * little memory: so actions are small, are sorted in place, and are freed as they become objects.
 * Not thread-safe.
 */
#include "core/store/finish/objects.h"

/* A call that creates or destroys an object. */
struct action {
	int64_t time;
	uint64_t n, handle;
	uint32_t thread;
	uint32_t lasts;    /* number of events of the thread until the call returns */
	uint32_t creation; /* index + 1; 0: the call destroys */
	enum object_kind kind;
};

enum { ACTIONS_BLOCK = 32768 }; /* actions that are freed at once */

struct actions {
	struct action **blocks;
	size_t nblocks, n;
	struct object_creation *creations;
	size_t ncreations;
	struct device_name *names; /* in the order of creations */
	size_t nnames;
};

/* Read the actions of all calls that succeeded, and sort them. 0, or -errno after log_err(). */
int actions_read(sqlite3 *db, struct actions *ret_actions);

/* Accepts zeroed actions. */
void actions_fini(struct actions *actions);

static inline struct action *action_at(const struct actions *actions, size_t i)
{
	return &actions->blocks[i / ACTIONS_BLOCK][i % ACTIONS_BLOCK];
}

/* The number of the thread's event at which the call returns. */
static inline uint64_t action_end(const struct action *action)
{
	return action->n + action->lasts;
}

/* Actions up to @i are not needed any more. */
void actions_free_until(struct actions *actions, size_t i);

/* The device's name that the creation gave; NULL: it is not known. The caller owns it. */
char *actions_take_name(struct actions *actions, uint32_t creation);

/* Creations are needed for longer than actions. */
void actions_free_creations(struct actions *actions);

/*
 * The indexes of the @count elements of @list in the order of @compare, which gets two pointers to
 * indexes (uint32_t), and @list. NULL: out of memory.
 */
uint32_t *actions_sort_indexes(size_t count, void *list,
			       int (*compare)(const void *, const void *, void *));
