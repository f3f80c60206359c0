#pragma once
/*
 * The first pass over a trace, before peers are synthesized: shared by synth_learn.c,
 * synth_traffic.c, synth_told.c and synth_host.c. One thread.
 */
#include "replay/synth/synth_priv.h"

/* The last recorded events of one object. */
struct told {
	struct event_id id; /* the event that announced a completion, until it is polled */
	bool solicited;     /* the queue was armed for solicited completions */
	unsigned int left;  /* SRQ: messages that its limit event may have been caused by, */
	uint32_t last;      /* and 1 + the last of them in made.early */
};

struct pass {
	struct replay *r;
	struct made *far;
	uint64_t longest;  /* the longest receive of the recorded side */
	struct told *told; /* by object: completion queue, queue pair, SRQ */
};

/* synth_host.c: the host at that address, 1 + its index; 0 without memory. */
uint32_t synth_host_find(const struct pass *p, const struct synth_plan *plan,
			 const struct ibv_ah_attr *av);
/* The same; if the address is not known, or @av is NULL, the host that is known already. */
uint32_t synth_host_at(const struct pass *p, const struct synth_plan *plan,
		       const struct ibv_ah_attr *av);
/* The host that @plan is connected to at this point of the trace, or NULL. */
struct synth_host *synth_host_now(const struct pass *p, const struct synth_plan *plan);
/* The plan of @object, if its other end at this point of the trace is synthesized; or NULL. */
struct synth_plan *synth_plan_now(const struct pass *p, uint32_t object);

/* synth_traffic.c */
int synth_learn_event(struct pass *p, const struct trace_event *event);
/* Requests before @end succeeded. */
int synth_close_requests(struct pass *p, struct synth_plan *plan, size_t end);

/* synth_told.c: messages of a poll that an event announced before; an event. */
int synth_learn_announced(struct pass *p, const struct trace_event *poll);
int synth_learn_return(struct pass *p, const struct trace_event *event);
