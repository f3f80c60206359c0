#pragma once
/*
 * The queues of queue pairs, SRQs, work queues and completion queues, and the CQ and SRQ that they
 * use: from the control verbs of a trace. Not thread-safe until it is complete, thread-safe
 * afterwards.
 */
#include <stddef.h>
#include <stdint.h>

#include "core/store/finish/source_calls.h"

struct objects;

enum queue_side { QUEUE_SEND, QUEUE_RECV, QUEUE_CQ, QUEUE_SIDES };

/* A queue during an interval of time: a row of table `queue`. */
struct queue_row {
	struct event_id id; /* the call that created or changed it */
	uint32_t process, object;
	enum queue_side side;
	uint32_t cq; /* object: the CQ of its completions; 0: none, or not known */
	/* object: the SRQ that has its receives; 0: the queue itself has them */
	uint32_t srq;
	int64_t asked, given; /* requested and granted capacity; -1: not known */
	int64_t since, until; /* ns; INT64_MAX: to the end of the trace */
};

struct queue_table {
	struct queue_row *list; /* sorted by object, side, since */
	size_t count;
	size_t *first; /* by object: index in @list of its first row, or where it would be */
	uint32_t nobjects;
};

/*
 * Find the queues from the calls of @sources, whose objects are @objects. 0 or -errno after
 * log_err().
 */
int queue_table_learn(const struct source_calls *sources, size_t n, const struct objects *objects,
		      struct queue_table *ret);

/* Accepts a zeroed table. */
void queue_table_fini(struct queue_table *table);

/* The @side queue of @object at @time; NULL: none, or not created yet. */
const struct queue_row *queue_table_at(const struct queue_table *table, uint32_t object,
				       enum queue_side side, int64_t time);

/* The name of @side in table `queue`, such as "send". */
const char *queue_side_name(enum queue_side side);

/* Rebuild table `queue` from tables `object` and `call`. 0 or -errno after log_err(). */
int queue_table_build(sqlite3 *db);
