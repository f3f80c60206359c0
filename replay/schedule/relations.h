#pragma once
/*
 * The queues of each recorded queue pair, and its peer, updated event by event.
 *
 * Used by one thread.
 */
#include <stdbool.h>
#include <stdint.h>

#include "core/store/read/trace.h"

struct connections;

/* For an object that is a queue pair or a CQ; fields are objects, 0: not known, or none. */
struct relation {
	uint32_t send_cq, recv_cq;
	uint32_t receives;   /* object: the queue of its receive requests: itself, or an SRQ */
	uint32_t peer;       /* the queue pair that it is connected to */
	bool unreliable;     /* a message without a receive request is lost */
	bool stopped;        /* it is in RESET or ERR, or destroyed */
	struct event_id end; /* the call that stopped it */
	/* CQ: its capacity, and the largest number of completions on it */
	uint64_t room, promised;
};

struct relations {
	struct trace *trace; /* NULL, */
	/* in tests both are NULL, and the other fields are filled in */
	const struct connections *connections;
	const struct queue_table *queues;
	struct relation *of; /* by object */
	uint32_t nobjects;   /* number of objects, plus one */
};

/* Returns 0 or -ENOMEM. */
int relations_init(struct relations *relations, struct trace *trace,
		   const struct connections *connections, uint32_t nobjects);
void relations_fini(struct relations *relations);

/* Apply a control verb. Returns 0 or -errno: its arguments cannot be read. */
int relations_note_call(struct relations *relations, const struct trace_event *event);

/* Apply an event; only control verbs have an effect. Returns the same. */
static inline int relations_note(struct relations *relations, const struct trace_event *event)
{
	return event->kind == TRACE_CALL ? relations_note_call(relations, event) : 0;
}

extern const struct relation relation_unknown;

/* Never NULL: all fields are 0 if nothing is known. */
static inline const struct relation *relation_of(const struct relations *relations, uint32_t object)
{
	return object < relations->nobjects ? &relations->of[object] : &relation_unknown;
}

/* The queue pair to which @event's datagram goes, given its destination @number; 0: not known. */
uint32_t relations_find_datagram_qp(const struct relations *relations,
				    const struct trace_event *event, uint32_t number);

/* The completion queue that a return of ibv_get_cq_event() reports; 0: not known. */
uint32_t relations_find_event_queue(const struct relations *relations,
				    const struct trace_event *event);
