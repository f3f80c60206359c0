#pragma once
/*
 * The state of a replay, shared by the files of this folder.
 *
 * "There" is the recorded side, "here" the replayed one.
 *
 * One thread.
 */
#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/model/peers.h"
#include "core/store/read/trace.h"
#include "replay/device/devices.h"
#include "core/base/lines.h"
#include "core/base/map.h"
#include "replay/device/memory.h"
#include "replay/report/options.h"
#include "replay/report/outcome.h"
#include "replay/state/queue.h"

enum side { SIDE_SEND, SIDE_RECV, SIDES };

/* A queue pair beyond its handle. */
struct replica_qp {
	enum ibv_qp_type type;
	uint8_t port;          /* as recorded; 1 until it is known */
	uint32_t peer;         /* object; 0 none */
	bool swapped;          /* datagrams of two senders came in another order */
	bool no_flow;          /* a flow rule by which it received there is missing here */
	bool signals_all;      /* sq_sig_all */
	bool flushes;          /* it has ibv_wr_flush() */
	bool one_cq;           /* of both sides */
	bool shared;           /* it receives by a shared queue's requests */
	const char *cut;       /* why it is no longer used, or NULL */
	unsigned int missed;   /* completions that did not come */
	unsigned int received; /* messages that the peer's `sent` still has: sent.c */
	struct requests out[SIDES];
	/* those that take a receive request of the peer, in order; UD: of this, wr_id the sender */
	struct requests sent;
	struct arrivals in[SIDES];
	struct late *late[SIDES];      /* expect_late.c: recorded, and to come here later */
	struct arrivals passed[SIDES]; /* of these, passed over: a later one was asked for */
};

/*
 * When a CQ was armed: how many of its completions here had been asked for by then. An event that
 * no arming before it explains announces a completion that came here before the queue was armed.
 */
struct arming {
	uint64_t first, last; /* of those since the last event */
	unsigned int n;
};

/* An object of the trace, as it is here. */
struct replica {
	void *handle;                   /* NULL: not made yet, destroyed, or never made */
	struct ibv_context *context;    /* here, which it goes with; a context: itself */
	bool made;                      /* it has existed */
	bool created;                   /* the trace has the call that made it */
	bool undestroyed;               /* the trace lacks the call that destroyed it */
	const char *why;                /* why it does not exist, if known */
	uint32_t number, rkey;          /* here; as struct object has them there */
	uint64_t base_there, base_here; /* MR: what its keys count from */
	struct replica_qp *qp;
	struct requests *requests; /* SRQ */
	/* SRQ: requests of messages that did not come here, and the queue pair of the last */
	uint32_t spare, spare_of;
	bool tags; /* SRQ: it matches tags */
	struct replica *next_holder;
	bool holds;            /* requests that wait for room: full.c */
	bool implicit;         /* MR: of the whole address space, only what is used */
	struct replica *last;  /* CQ: the queue pair of its last completion */
	bool extended;         /* CQ: made by create_cq_ex */
	int vectors_there;     /* context: completion vectors; 0: not known */
	bool half_gone;        /* CQ: its destruction failed; a provider may have unmapped it */
	unsigned int events;   /* CQ: completion events not yet asked for */
	unsigned int unacked;  /* CQ: of those taken, not acknowledged */
	unsigned int fresh;    /* CQ: completions here that were not asked for yet */
	uint64_t asked;        /* CQ: those that were */
	struct arming arming;  /* CQ */
	int64_t armed;         /* CQ: when that was last done there */
	uint64_t empty, given; /* CQ: empty polls there so far, and completions */
	unsigned int pollers;  /* CQ: threads that polled it there; 0: not looked up */
	struct event_id poll;  /* CQ: the last recorded one */
	int64_t polled;        /* CQ: when it last gave one there, ns */
	unsigned int silent;   /* CQ, context: events that did not come */
	/* CQ: polled, but not sorted in; of POLLS_BATCH, or NULL */
	struct ibv_wc *unsorted;
	unsigned int nunsorted;
	uint32_t owner; /* the player that has the queue for itself: owner.h */
} __attribute__((aligned(CACHE_LINE)));

/* An asynchronous event that came. */
struct async {
	struct async *next;
	struct ibv_async_event event;
	uint32_t context; /* object */
	bool taken;       /* by a recorded call; else it waits for one */
};

struct made;
struct cm;
struct pair;

struct replay {
	struct trace *trace;
	const struct replay_options *options;
	struct outcome *outcome;
	struct devices *devices;
	const struct peers *peers; /* the trace's */
	struct made *far;          /* the made peer; NULL: none is needed */
	struct pair *pair;         /* pair.c; NULL: there is no other half */
	struct cm *cm;             /* cm.c; NULL: the trace has no calls of librdmacm */
	uint64_t cm_calls;         /* of librdmacm, by the program */
	struct replica *replicas;  /* by object */
	uint32_t nreplicas;        /* objects and one */
	uint32_t *made;            /* objects as they were made */
	uint32_t nmade;
	struct memory **memory; /* by process */
	bool *implicit;         /* by process: it has had an implicit region */
	bool any_implicit;
	const char *gaps;        /* why calls may be missing from the trace; NULL: none are */
	bool undestroyed;        /* some object is */
	uint32_t nlacking;       /* regions that the trace has, and that could not be made here */
	const char *no_posts;    /* why there is no post in the trace; NULL: there are */
	const char *no_arming;   /* the same of ibv_req_notify_cq() */
	bool leaving;            /* completions are taken that nobody will ask for */
	bool lossy;              /* events are missing in the trace */
	uint32_t *nthreads;      /* by process: threads with events */
	uint32_t nprocesses;     /* processes and one */
	struct map lkeys, rkeys; /* process << 32 | key there, to object */
	struct map srqns;        /* XRC receive queue there, to here */
	struct map numbers;      /* qp_num here, to object */
	struct map handles;      /* handle here, to object */
	struct map left_out;     /* posts that were left out: event, to first such request + 1 */
	struct async *asyncs;
	struct replica *holders; /* queues where requests wait for room: full.c */
	bool resuming;
	unsigned int nlate;          /* completions that wait for a shared queue: expect_late.c */
	struct wrs *wrs;             /* posts.c */
	struct strangers *strangers; /* expect_end.c */
	struct fault_plan *faults;   /* faults.c; NULL: nothing is made to fail */
	bool failing;                /* of posts and polls, some is */
	struct needs *needs;         /* needs.c; NULL: nothing is lacking */
	struct contents *contents;   /* contents.c; NULL: the trace has no contents */
	void *scratch;               /* a page for outputs that nobody reads */
	int xrc_file;
	int64_t cut;      /* before it the data plane is missing, but for what was outstanding */
	uint64_t changes; /* grows with what may change objects, keys and connections */
	int64_t start;    /* ns of the clock here when it began */
	int64_t last;     /* the time of the last event there */
};

/* One of the requests of a post, one of the completions of a poll: as a key of a map. */
static inline uint64_t event_part_key(struct event_id id, uint32_t index)
{
	return map_hash(event_key(id)) + index;
}

static inline uint64_t process_key(uint32_t process, uint32_t key)
{
	return (uint64_t)process << 32 | key;
}

static inline struct replica *replica_of(struct replay *r, uint32_t object)
{
	return object && object < r->nreplicas ? &r->replicas[object] : NULL;
}

/*
 * The same of an object that the trace uses as one of @kind. NULL where it is of another kind, so
 * that its handle is not used as what it is not.
 */
static inline struct replica *replica_as(struct replay *r, uint32_t object, enum object_kind kind)
{
	struct replica *replica = replica_of(r, object);

	return replica && trace_object(r->trace, object)->kind == kind ? replica : NULL;
}
