#pragma once
/*
 * What is under way on a queue: requests that were posted, and completions that
 * came and were not yet asked for.
 *
 * One thread. Zeroed is empty.
 */
#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/store/read/trace.h"

struct request {
	uint64_t wr_id;        /* as recorded */
	uint64_t posted;       /* as posted here: the same, or request_cookie() */
	struct event_id event; /* the post */
	uint32_t index;        /* which of its requests */
	uint32_t length;       /* bytes in all of its buffers */
	bool done;
	bool signaled;    /* a send: it completes even where it does not fail */
	bool forced;      /* to signal, which it did not there: full_must_signal() */
	uint32_t landing; /* of a receive: see contents_landing(); 0: not known */
};

/*
 * wr_id of a request here where the recorded one would not tell which it is: the object of
 * its queue, the side, and its number in the queue.
 *
 *	63          33 32   31          0
 *	| object      |side| number      |
 */
static inline uint64_t request_cookie(uint32_t object, unsigned int side, uint32_t number)
{
	return (uint64_t)object << 33 | (uint64_t)side << 32 | number;
}

struct arrivals;

struct requests {
	struct request *cells;
	uint32_t size;                 /* 0 or a power of two */
	uint32_t head, tail;           /* oldest, and past the newest; run freely */
	uint32_t length, length_there; /* of the queue here and there; 0: not known */
	struct held *held;             /* the last of them, which wait for room: full.c */
	uint32_t silent;     /* requests since the last with a signal, where the queue is shorter */
	uint64_t last_wr_id; /* the last that was posted as recorded */
	bool stuck;          /* it was waited for room in vain */
};

/* Room for more; 0 or -ENOMEM. */
int requests_grow(struct requests *requests);
int arrivals_grow(struct arrivals *arrivals);

/* One more, to be filled in; its number is the tail before that. NULL without memory. */
static inline struct request *requests_add(struct requests *requests)
{
	if (__builtin_expect(requests->tail - requests->head == requests->size, 0) &&
	    requests_grow(requests))
		return NULL;
	return &requests->cells[requests->tail++ & (requests->size - 1)];
}

/* Returns 0 and the request's number; or -ENOMEM. */
int requests_put(struct requests *requests, const struct request *request, uint32_t *ret_number);

/* Remove the last @n, which were not posted after all. */
void requests_undo(struct requests *requests, uint32_t n);

/* The request of that number, or NULL if it is not under way. Borrowed until the next call. */
const struct request *requests_get(const struct requests *requests, uint32_t number);

/*
 * It is complete; with @all_before so is all that was posted earlier (a send
 * queue: requests that were not signalled).
 */
static inline void requests_complete(struct requests *r, uint32_t number, bool all_before)
{
	if (number - r->head >= r->tail - r->head)
		return;
	r->cells[number & (r->size - 1)].done = true;
	if (all_before)
		r->head = number + 1;
	while (r->head != r->tail && r->cells[r->head & (r->size - 1)].done)
		r->head++;
}

/* Nothing is under way any more. */
void requests_clear(struct requests *requests);

/* The oldest that is under way, completed by that. Returns false if there is none. */
bool requests_next(struct requests *requests, struct request *ret_request);

/* Is a request of this post under way? */
bool requests_has(const struct requests *requests, struct event_id event, uint32_t index);

/* May that one complete, or any with @wr_id? @signaled: one that asks for it. */
bool requests_await(const struct requests *requests, struct event_id event, uint32_t index,
		    uint64_t wr_id, bool signaled);

/* One that is under way, or NULL: the oldest, with @signaled the oldest of those. */
const struct request *requests_oldest(const struct requests *requests, bool signaled);

static inline uint32_t requests_count(const struct requests *requests)
{
	return requests->tail - requests->head;
}

void requests_fini(struct requests *requests);

/* A completion that came, with a copy of its request; event 0:0 if unknown. */
struct arrival {
	struct ibv_wc wc;
	bool tagged; /* the CQ tells which flow rule it matched: */
	uint32_t flow_tag;
	struct request request;
	struct event_id sender;    /* of a receive: the post of what was received; 0:0 unknown */
	uint32_t sender_index;     /* which of its requests */
	struct event_id passed_by; /* the poll that asked for a later one */
	bool unasked;              /* taken before its queue was destroyed */
	uint32_t cq;               /* object that it came from */
	int64_t time;              /* and when: of the recording, ns */
	int64_t polled;            /* when that queue had given one there */
	uint64_t empty;            /* empty polls of that queue there until then */
	uint32_t passed_for;       /* and the thread that posted what that got */
};

struct arrivals {
	struct arrival *cells;
	uint32_t size, head, tail;
};

/* One more, to be filled in; NULL without memory. */
static inline struct arrival *arrivals_add(struct arrivals *arrivals)
{
	if (__builtin_expect(arrivals->tail - arrivals->head == arrivals->size, 0) &&
	    arrivals_grow(arrivals))
		return NULL;
	return &arrivals->cells[arrivals->tail++ & (arrivals->size - 1)];
}

int arrivals_put(struct arrivals *arrivals, const struct arrival *arrival);

/* The oldest, or NULL. Borrowed until the next put. */
const struct arrival *arrivals_first(const struct arrivals *arrivals);
void arrivals_drop(struct arrivals *arrivals);

/* The one whose request is that, or NULL. Borrowed likewise. */
const struct arrival *arrivals_find(const struct arrivals *arrivals, struct event_id event,
				    uint32_t index);

/* Take out @arrival, one of @arrivals. */
void arrivals_remove(struct arrivals *arrivals, const struct arrival *arrival);

void arrivals_fini(struct arrivals *arrivals);
