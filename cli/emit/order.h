#pragma once
/*
 * What a thread of the C program must wait for in others.
 *
 * Events read and change what objects are, as locks for readers and writers have it: a change comes
 * after all that went before it, what reads comes after the last change. An event of another thread
 * that is not known to be over is waited for: it counts, and the other waits for the count. Known
 * is what was waited for, and what its sender knew when a message comes.
 *
 * What is waited for is known only after all events. Where there is more than one thread these come
 * twice, with order_restart() between. One thread.
 */
#include "cli/emit/fifo.h"
#include "cli/emit/program.h"

/* What an object is for several. */
enum role {
	ROLE_STATE,    /* it lives, and its attributes */
	ROLE_SENDS,    /* the order of its send queue */
	ROLE_RECEIVES, /* the same of its receive queue */
	ROLE_POLLS,    /* the order in which completions are taken from a CQ */
	ROLE_ARMED,    /* a CQ that tells of its next completion */
	ROLE_EVENTS,   /* a CQ's events that are to be acknowledged */
	ROLE_MADE,     /* it was made: its number is known */
	ROLES,
};

#define ORDER_SEVERAL UINT32_MAX

/* An event that is counted. */
struct place {
	uint32_t thread;
	uint64_t n;
	uint32_t counter, ordinal;
};

struct order {
	struct program *program;
	struct shared *shared; /* by object and role */
	struct counter *counters;
	size_t ncounters;
	struct map by_name; /* number of a text, and the thread, to a counter */
	uint64_t *known;    /* [thread][other]: the other's events up to this n are over */
	struct queue *queues;
	/* by object of a queue pair: its peer, SRQ, completion queues, and enum ibv_qp_type */
	uint32_t *peer, *srq, *send_cq, *recv_cq;
	uint8_t *type;
	uint32_t *feeders; /* of an SRQ: its queue pairs */
	uint32_t *goes_to; /* of a queue pair: where all of its datagrams go; ORDER_SEVERAL; or 0 */
	struct map receives; /* posts of receives of which one fails, by thread and n */
	struct place now;
};

int order_init(struct order *order, struct program *program);
void order_fini(struct order *order);

/* Forget all but which events are waited for. 0 or -ENOMEM. */
int order_restart(struct order *order);

/* The current event, that of program->at, counts as NAME_WHAT. 0 or -ENOMEM. */
int order_begin(struct order *order, const char *name, const char *what);

/* Has that event, or one behind it in its thread, been the current one? */
bool order_has_begun(const struct order *order, struct event_id id);

/* It reads @object; or changes it. Adds statements that wait. 0 or -errno. */
int order_read(struct order *order, uint32_t object, enum role role);
int order_change(struct order *order, uint32_t object, enum role role);

/* It waits for @place, unless that is known to be over. 0 or -errno. */
int order_wait_for(struct order *order, const struct place *place);

/* It waits for event @id, the next in its thread that counts as @name. 0 or -errno. */
int order_await(struct order *order, struct event_id id, const char *name);

/* It has used @object, whose next change waits for it; it does not wait. */
int order_touch(struct order *order, uint32_t object, enum role role);

/*
 * After its statement was added: that is what counts. What its thread has done goes to its loops.
 * 0, -ENOMEM, or -ENOTSUP where the program becomes too large.
 */
int order_end(struct order *order);

/*
 * A receive queue (of a queue pair or an SRQ) gets a request by the current event; a message takes
 * the next, and is sent after it was posted. A message that @peer sent is received: 0 or -errno.
 */
int order_post_receive(struct order *order, uint32_t queue, uint32_t requests);
int order_take_receive(struct order *order, uint32_t queue);
int order_send(struct order *order, uint32_t qp);
int order_receive(struct order *order, uint32_t peer);

/* After all events: what is left goes to the loops, which are finished. 0 or -errno. */
int order_finish(struct order *order);

/* The names of the counters that are used, one after the other; NULL behind the last. */
const char *order_counter(const struct order *order, size_t i);
