#pragma once
/*
 * Objects by process, kind and address, and their dependencies.
 *
 * Not thread-safe.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "analyzer/model/moment.h"
#include "core/base/pool.h"

enum {
	LIFE_NAME = 32,
	LIVES_DEAD = 1 << 16, /* dead objects that are remembered */
};

enum life_state {
	LIFE_LIVE,
	LIFE_DYING,  /* its destroy has begun and not returned */
	LIFE_GONE,   /* its destroy succeeded */
	LIFE_CLOSED, /* its context was closed while it was alive */
};

struct life_link;
struct device;
struct qp;
struct qp_path;
struct queue;
struct queue_cq;
struct key;
struct peer;

struct life {
	enum object_kind kind;
	enum life_state state;
	uint32_t process;
	uint64_t handle;
	uint32_t number; /* as in struct object */
	uint32_t id;     /* the trace's number of the object; 0: not known */
	uint32_t srqn;   /* of an SRQ: its number, if the program asked for it; 0: not known */
	uint64_t bytes;  /* of an MR, or device memory */
	uint64_t addr;   /* of an MR that pins memory: the program's address; pinned.h */
	uint64_t pinned; /* bytes of its pages; 0: nothing */
	/* sends of its process before its creation; only for the kinds that steady.h counts */
	uint64_t made_after;
	char name[LIFE_NAME];
	bool inherited;          /* created by a process that this one was forked from */
	bool destroyed_by_child; /* a process forked from this one has destroyed it */
	bool borrowed;     /* imported, or owned by librdmacm: the program must not destroy it */
	bool hashed;       /* found by lives_find() */
	bool placed;       /* of a librdmacm identifier: its address was resolved or bound */
	bool bound;        /* rdma_bind_addr() was called for it */
	bool ended;        /* its connection has ended, or could not be made */
	bool disconnected; /* RDMA_CM_EVENT_DISCONNECTED was retrieved */
	/* the event that its connection could not be made, and when it was retrieved; 0:0: none */
	struct moment unmade;
	int64_t unmade_event, unmade_at; /* enum rdma_cm_event_type */
	bool resolved;                   /* RDMA_CM_EVENT_ADDR_RESOLVED has come */
	bool listens;                    /* rdma_listen() was called for it */
	uint16_t port;                   /* the port that rdma_bind_addr() set; 0: not known */
	bool routed;                     /* RDMA_CM_EVENT_ROUTE_RESOLVED has come */
	bool ps_datagrams; /* created with a port space of datagrams, RDMA_PS_UDP or _IPOIB */
	/* a librdmacm identifier of a queue pair that librdmacm does not know: */
	struct moment responded; /* RDMA_CM_EVENT_CONNECT_RESPONSE has come; 0:0: not */
	struct moment prepared;  /* the last rdma_init_qp_attr(); 0:0: none */
	bool established;        /* rdma_establish() was called */
	struct moment cm_call;   /* its last connect, accept, reject or disconnect; 0:0: none */
	/* that call, a connect or accept, gave initiator_depth or responder_resources 0 */
	bool sends_no_reads, takes_no_reads;
	/* created by a connection request: the number of the requesting queue pair, or 0 */
	uint32_t asked;
	struct moment created, destroyed;
	struct moment ending; /* the last destroy that began */
	/* a rdma_migrate_id() of the identifier that has not returned; 0:0: none */
	struct moment leaving;
	struct moment met;      /* the first event of another thread during `ending`; or none */
	struct moment refused;  /* the last failed call that should have destroyed the object */
	struct moment orphaned; /* of a QP: its librdmacm identifier was destroyed before it */
	uint64_t events;        /* of a CQ: retrieved from the channel and not acknowledged */
	/*
	 * of a context, or of an object: asynchronous events that were retrieved and not
	 * acknowledged
	 */
	uint64_t async_events;
	/* when the last such event was retrieved; of a channel: when it was last read */
	struct moment got;
	int64_t got_event; /* of an identifier: that event, enum rdma_cm_event_type */
	bool dry;          /* of a channel: the last read found no event */
	/* events of both kinds that were acknowledged without having been retrieved */
	uint64_t over;
	struct moment over_at; /* the first of these acknowledgements */
	uint64_t *groups;      /* multicast groups that a QP is attached to, hashed */
	unsigned int ngroups;
	uint64_t last_group;   /* the group to which it was attached last; 0: none */
	struct qp *qp;         /* of a QP, SRQ or WQ: model/qp.h; NULL: not known */
	struct qp_path *path;  /* of an AH: model/qp.h; NULL: not known */
	struct device *device; /* of a context: model/device.h; NULL: not known */
	struct event_id bind;  /* of an MW: the call that bound it last */
	struct queue *sq, *rq; /* queue.h; the rq of a QP with an SRQ is that of the SRQ */
	struct queue_cq *cq;   /* of a CQ */
	struct batch *batch;   /* of an extended CQ: batch.h */
	struct misuse *misuse; /* of a QP, CQ or SRQ: misuse.h; NULL: none was seen */
	struct cq_event *wake; /* of a CQ with a channel: cq_event.h */
	bool no_channel;       /* of a CQ: it was created without one */
	struct moment deaf;    /* of such a CQ: the last ibv_req_notify_cq(); 0:0: none */
	/* of a QP: receives that completed as seen by the peer; receives that were polled */
	uint64_t arrived, taken;
	int64_t arrival; /* when the last message had arrived */
	/*
	 * messages to a UD or UC QP (unreceived.h): all; those without a receive; those certainly
	 * lost
	 */
	uint64_t datagrams, lacking, lost;
	int64_t lacking_since, late; /* late: how much later the next receive was posted, ns */
	bool unwatched;              /* @arrived and @taken are no longer known */
	uint64_t context, pd; /* addresses; @pd is the one below a parent domain; 0 unknown */
	struct peer *peer;    /* of a QP: peer.h */
	struct {
		struct key *key; /* valid while @changes is what key_post.c compares it with */
		uint64_t changes;
	} seen[3]; /* of a queue: the last keys used in receives, sends, and as remote keys */
	struct life_link *children, *parents;
	struct pool *links;         /* the pool from which these links are allocated */
	struct life *next;          /* next object in the hash bucket */
	struct life *kin, **kin_at; /* next object of the process: lives_next() */
	struct life *older, *newer; /* in the list of dead objects */
};

/* A link in two lists: the children of @parent, the parents of @child. */
struct life_link {
	struct life *parent, *child;
	struct life_link *next_child, **child_at;
	struct life_link *next_parent, **parent_at;
};

struct lives {
	struct life **buckets;
	struct life **processes; /* by process, hashed; as many as buckets */
	size_t nbuckets, count, live, dead;
	struct life *dead_oldest, *dead_newest;
	struct pool pool, links; /* of struct life, struct life_link */
	/* called before an object is dead, and before it is @freed; may be NULL */
	void (*leave)(void *arg, struct life *life, bool freed);
	void *arg;
};

int lives_init(struct lives *lives);
void lives_fini(struct lives *lives);

/* An object of zeroes, for lives_add(); NULL if out of memory. */
struct life *lives_new(struct lives *lives);

/* NULL if there is none. */
struct life *lives_find(const struct lives *lives, uint32_t process, enum object_kind kind,
			uint64_t handle);

/*
 * Add @life as alive. A former object at its address is dropped; a dying one stays, but is no
 * longer found.
 */
void lives_add(struct lives *lives, struct life *life);

/* @life is dead now: unlink it, and remember it in @state for a while. */
void lives_mark_dead(struct lives *lives, struct life *life, enum life_state state);

/* Unlink, remove and free; accepts NULL. */
void lives_drop(struct lives *lives, struct life *life);

/*
 * The object of @process after @life, in any order; NULL: the first; returns NULL after the last.
 */
struct life *lives_next(const struct lives *lives, uint32_t process, const struct life *life);

/*
 * All objects of @process in order of creation; the caller frees the array. Their number or
 * -ENOMEM.
 */
ssize_t lives_list_process(const struct lives *lives, uint32_t process, struct life ***ret_found);

/* @child depends on @parent; linking twice changes nothing. Returns 0 or -ENOMEM. */
int life_link(struct life *parent, struct life *child);

/* Remove the links to all parents of one kind. */
void life_unlink_kind(struct life *child, enum object_kind kind);

/* The children of @parent from the oldest to the newest; NULL: no more. */
struct life_link *life_first_child(const struct life *parent);
struct life_link *life_next_child(const struct life *parent, const struct life_link *link);

/* Must its process still destroy @life? */
bool life_awaits_destroy(const struct life *life);

/*
 * The object that explains why @life was not destroyed: a parent that was not destroyed either; a
 * child whose destroy failed; or @life itself.
 */
const struct life *life_root(const struct life *life);

/* The identifier of librdmacm of queue pair @qp, or NULL; and its rdma_disconnect(), or none. */
const struct life *life_cm_id(const struct life *qp);
struct moment life_find_disconnect(const struct life *qp);

/* A QP is attached to a multicast group, or detached; repeating changes nothing. */
int life_attach(struct life *qp, uint64_t group);
void life_detach(struct life *qp, uint64_t group);

/* Name @life, which @trace has as object @id; 0: it has none. @trace may be NULL. */
void life_set_name(struct life *life, struct trace *trace, uint32_t id);
