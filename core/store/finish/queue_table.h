#pragma once
/*
 * Which queues queue pairs, SRQs, work queues and completion queues have, and which they use: from
 * the control verbs of a trace.
 *
 * Not thread-safe until it is complete, thread-safe afterwards.
 */
#include <stddef.h>
#include <stdint.h>

#include "core/store/finish/told_calls.h"

struct objects;

enum queue_side { QUEUE_SEND, QUEUE_RECV, QUEUE_CQ, QUEUE_SIDES };

/* A queue during an interval of time: a row of table `queue`. */
struct queue_row {
	struct event_id id; /* the call that created or changed it */
	uint32_t process, object;
	enum queue_side side;
	uint32_t cq;          /* object: where its requests complete; 0: none, or not known */
	uint32_t srq;         /* object that has its receives; 0: its own queue */
	int64_t asked, given; /* requested and granted capacity; -1: not known */
	int64_t since, until; /* INT64_MAX: to the end */
};

struct queue_table {
	struct queue_row *list; /* by object, side, since */
	size_t count;
	size_t *first; /* by object: the index of its first row, or where that would be */
	uint32_t nobjects;
};

/*
 * Find the queues from the calls of @sources, whose objects are @objects. 0 or -errno after
 * log_err().
 */
int queue_table_learn(const struct told_calls *sources, size_t n, const struct objects *objects,
		      struct queue_table *ret);

/* Accepts a zeroed table. */
void queue_table_fini(struct queue_table *table);

/* A queue of @object at @time; NULL: none, or not created yet. */
const struct queue_row *queue_table_at(const struct queue_table *table, uint32_t object,
				       enum queue_side side, int64_t time);

/* "send", as in table `queue` */
const char *queue_side_name(enum queue_side side);

/* Rebuild table `queue` from tables `object` and `call`. 0 or -errno after log_err(). */
int queue_table_build(sqlite3 *db);
