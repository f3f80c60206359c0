#pragma once
/*
 * Which queues belong to a recorded queue pair, and who is at its other end, as the events of a
 * trace go by.
 *
 * Used by one thread.
 */
#include <stdbool.h>
#include <stdint.h>

#include "core/store/read/trace.h"

struct peers;

/* Of an object that is a queue pair or a CQ; 0: not known, or none. Objects. */
struct relation {
	uint32_t send_cq, recv_cq;
	uint32_t receives;   /* where its receive requests are: itself, or an SRQ */
	uint32_t peer;       /* the queue pair that it is connected to */
	bool unreliable;     /* a message that finds no receive request is lost */
	bool stopped;        /* it is in RESET or ERR, or destroyed */
	struct event_id end; /* the call that stopped it */
	/* CQ: how many completions it can hold, and how many its queue pairs can owe it */
	uint64_t room, promised;
};

struct relations {
	struct trace *trace;       /* NULL, */
	const struct peers *peers; /* and no peers: in tests, which fill in what follows */
	const struct queue_table *queues;
	struct relation *of; /* by object */
	uint32_t nobjects;   /* and one */
};

/* Returns 0 or -ENOMEM. */
int relations_init(struct relations *relations, struct trace *trace, const struct peers *peers,
		   uint32_t nobjects);
void relations_fini(struct relations *relations);

/* What a control verb changes. Returns 0 or -errno: its arguments cannot be read. */
int relations_note(struct relations *relations, const struct trace_event *event);

/* Never NULL: one of which nothing is known. */
const struct relation *relation_of(const struct relations *relations, uint32_t object);

/* The queue pair that a datagram of @event goes to by its number; 0: not known. */
uint32_t relations_datagram(const struct relations *relations, const struct trace_event *event,
			    uint32_t number);

/* The completion queue that a return of ibv_get_cq_event() tells of; 0: not known. */
uint32_t relations_event_queue(const struct relations *relations, const struct trace_event *event);
