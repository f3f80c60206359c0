#pragma once
/*
 * The state of a queue: outstanding requests, and completions that came but were not polled by a
 * recorded poll yet.
 *
 * Not thread-safe. All zero is empty.
 */
#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/store/read/trace.h"

struct request {
	uint64_t wr_id;        /* the recorded wr_id */
	uint64_t posted;       /* wr_id as posted in the replay: the same, or request_cookie() */
	struct event_id event; /* the post */
	uint32_t index;        /* index of the request in that post */
	uint32_t length;       /* total bytes of its buffers */
	bool done;
	bool signaled;    /* a send: it completes even if it does not fail */
	bool forced;      /* signaled, although the recorded one was not: held_must_signal() */
	uint32_t landing; /* of a receive: see contents_note_buffers(); 0: not known */
};

/*
 * The replay's wr_id of a request whose recorded one is ambiguous: the object of its queue, the
 * side, and its number in the queue.
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
	uint32_t size; /* 0 or a power of two */
	/* the oldest, and one past the newest; they are not reduced modulo the size */
	uint32_t head, tail;
	uint32_t length, length_there; /* of the replayed and of the recorded queue; 0: not known */
	struct held_request *held; /* the last request that waits for an entry: held_requests.c */
	/* requests since the last signaled one, if the queue is shorter than recorded */
	uint32_t silent;
	uint64_t last_wr_id; /* the wr_id of the last request posted with its recorded wr_id */
	bool stuck;          /* waiting for a free entry has failed */
};

/* Double the ring; 0 or -ENOMEM. */
int requests_grow(struct requests *requests);
int arrivals_grow(struct arrivals *arrivals);

/* Add a request, to be filled in; its number is the tail before the call. NULL if out of memory. */
static inline struct request *requests_add(struct requests *requests)
{
	if (__builtin_expect(requests->tail - requests->head == requests->size, 0) &&
	    requests_grow(requests))
		return NULL;
	return &requests->cells[requests->tail++ & (requests->size - 1)];
}

/* Returns 0 and the request's number; or -ENOMEM. */
int requests_put(struct requests *requests, const struct request *request, uint32_t *ret_number);

/* Remove the last @n requests, which were not posted after all. */
void requests_undo(struct requests *requests, uint32_t n);

/* The request with @number, or NULL if it is not outstanding. Borrowed until the next call. */
const struct request *requests_get(const struct requests *requests, uint32_t number);

/*
 * The request is complete; with @all_before, so are all earlier requests (on a send queue:
 * unsignaled ones).
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

/* Remove all outstanding requests. */
void requests_clear(struct requests *requests);

/* Complete the oldest outstanding request. Returns false if there is none. */
bool requests_next(struct requests *requests, struct request *ret_request);

/* Is a request of this post outstanding? */
bool requests_has(const struct requests *requests, struct event_id event, uint32_t index);

/* May that request, or any with @wr_id, still complete? @signaled: look at signaled ones only. */
bool requests_await(const struct requests *requests, struct event_id event, uint32_t index,
		    uint64_t wr_id, bool signaled);

/* The oldest outstanding request, or with @signaled the oldest signaled one; NULL: none. */
const struct request *requests_oldest(const struct requests *requests, bool signaled);

static inline uint32_t requests_count(const struct requests *requests)
{
	return requests->tail - requests->head;
}

void requests_fini(struct requests *requests);

/* A completion that came, with a copy of its request; event 0:0 if unknown. */
struct arrival {
	struct ibv_wc wc;
	bool tagged; /* the CQ reported a flow tag: */
	uint32_t flow_tag;
	struct request request;
	struct event_id sender;    /* of a receive: the post of the received message; 0:0 unknown */
	uint32_t sender_index;     /* index of the request in the sender's post */
	struct event_id passed_by; /* the recorded poll that returned a later completion */
	bool unasked;              /* polled by the replay before the queue was destroyed */
	uint32_t cq;               /* object: the CQ of the completion */
	int64_t time;              /* the time in the recording when it came, ns */
	int64_t polled;            /* the time of that CQ's last recorded poll with a completion */
	uint64_t empty;            /* recorded empty polls of that CQ until then */
	/* the thread that posted the request whose completion @passed_by returned */
	uint32_t passed_for;
};

struct arrivals {
	struct arrival *cells;
	uint32_t size, head, tail;
};

/* Add a completion, to be filled in; NULL if out of memory. */
static inline struct arrival *arrivals_add(struct arrivals *arrivals)
{
	if (__builtin_expect(arrivals->tail - arrivals->head == arrivals->size, 0) &&
	    arrivals_grow(arrivals))
		return NULL;
	return &arrivals->cells[arrivals->tail++ & (arrivals->size - 1)];
}

int arrivals_put(struct arrivals *arrivals, const struct arrival *arrival);

/* The oldest completion, or NULL. Borrowed until the next one is added. */
const struct arrival *arrivals_first(const struct arrivals *arrivals);
void arrivals_drop(struct arrivals *arrivals);

/* The completion of request @index of post @event, or NULL. Borrowed likewise. */
const struct arrival *arrivals_find(const struct arrivals *arrivals, struct event_id event,
				    uint32_t index);

/* Remove @arrival, one of @arrivals. */
void arrivals_remove(struct arrivals *arrivals, const struct arrival *arrival);

void arrivals_fini(struct arrivals *arrivals);
