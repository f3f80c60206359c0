#pragma once
/*
 * Determines which events of other threads a thread of the C program must wait for.
 *
 * Events read and change objects, like readers and writers of a lock: a change comes after all
 * earlier events, a read after the last change. If an event of another thread is not known to be
 * over, it increments a counter, and the thread waits for the count. Events are known to be over if
 * the thread has waited for them, or if the sender of a message that it received knew them.
 *
 * The counters are known only after all events. If there is more than one thread the events are
 * passed twice, with order_restart() in between. Not thread-safe.
 */
#include "cli/emit/fifo.h"
#include "cli/emit/program.h"

/* The aspects of an object that are ordered separately. */
enum role {
	ROLE_STATE,     /* the object's existence and its attributes */
	ROLE_SENDS,     /* the order of its send queue */
	ROLE_RECEIVES,  /* the order of its receive queue */
	ROLE_POLLS,     /* the order of polls of a CQ */
	ROLE_ARMED,     /* the arming of a CQ */
	ROLE_EVENTS,    /* unacknowledged events of a CQ, asynchronous events of any object */
	ROLE_DATAGRAMS, /* the datagrams that a queue pair receives, from all senders */
	ROLE_MADE,      /* its creation, after which its number is known */
	ROLE_WINDOWS,   /* the memory windows that a queue pair binds and invalidates */
	ROLES,
};

#define ORDER_SEVERAL UINT32_MAX

/* An event with a counter. */
struct order_place {
	uint32_t thread;
	uint64_t n;
	uint32_t counter, ordinal;
};

struct order {
	struct program *program;
	struct shared_object *shared; /* by object and role */
	struct counter *counters;
	size_t ncounters;
	struct map by_name; /* number of a text, and the thread, to a counter */
	uint64_t *known;    /* [thread][other]: up to this n, events of the other thread are over */
	struct receive_queue *queues;
	/* by object of a queue pair: its peer, SRQ, completion queues, and enum ibv_qp_type */
	uint32_t *peer, *srq, *send_cq, *recv_cq;
	uint8_t *type;
	uint32_t *feeders; /* for an SRQ: the objects of its queue pairs */
	/* for a queue pair: the destination of all its datagrams; ORDER_SEVERAL; or 0 */
	uint32_t *goes_to;
	struct map receives; /* posts of receives of which one failed, by thread and n */
	struct order_place now;
};

int order_init(struct order *order, struct program *program);
void order_fini(struct order *order);

/* Forget everything except which events are waited for. 0 or -ENOMEM. */
int order_restart(struct order *order);

/* The current event, program->at, increments counter NAME_WHAT. 0 or -ENOMEM. */
int order_begin(struct order *order, const char *name, const char *what);

/* Has the event, or a later event of its thread, been the current event? */
bool order_has_begun(const struct order *order, struct event_id id);

/* The current event reads @object; or changes it. Adds statements that wait. 0 or -errno. */
int order_read(struct order *order, uint32_t object, enum role role);
int order_change(struct order *order, uint32_t object, enum role role);

/*
 * The current event waits for @place, unless the event of @place is known to be over. 0 or -errno.
 */
int order_wait_for(struct order *order, const struct order_place *place);

/*
 * The current event waits for event @id, the next in its thread that increments counter @name. 0 or
 * -errno.
 */
int order_await(struct order *order, struct event_id id, const char *name);

/*
 * The current event uses @object: the object's next change waits for the event, but the event waits
 * for nothing.
 */
int order_note_use(struct order *order, uint32_t object, enum role role);

/*
 * The statement of the current event has been added, with its counter. Moves statements of the
 * thread to its loops. 0, -ENOMEM, or -ENOTSUP if the program becomes too large.
 */
int order_end(struct order *order);

/*
 * The current event posts @requests receives to @queue (of a queue pair or an SRQ); a message takes
 * a receive, so it is sent after that receive was posted; @qp sends a message. 0 or -errno.
 */
int order_post_receive(struct order *order, uint32_t queue, uint32_t requests);
int order_take_receive(struct order *order, uint32_t queue);
int order_send(struct order *order, uint32_t qp);
int order_receive(struct order *order, uint32_t peer);

/* After all events: the remaining statements go to the loops, which are finished. 0 or -errno. */
int order_finish(struct order *order);

/* The names of the used counters, one after the other; NULL after the last. */
const char *order_counter(const struct order *order, size_t i);
