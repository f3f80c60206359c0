#pragma once
/*
 * The state of a replay, shared by the files of this folder.
 *
 * In names, "there" is the recorded side, "here" the replayed one.
 *
 * Not thread-safe.
 */
#include <infiniband/verbs.h>
#include <stdbool.h>
#include <stdint.h>

#include "core/store/read/trace.h"
#include "replay/device/devices.h"
#include "core/base/lines.h"
#include "core/base/map.h"
#include "replay/device/memory.h"
#include "replay/report/options.h"
#include "replay/report/outcome.h"
#include "replay/state/queue.h"

enum side { SIDE_SEND, SIDE_RECV, SIDES };

/* The state of a queue pair. */
struct replica_qp {
	enum ibv_qp_type type;
	uint8_t port;          /* as recorded; 1 if not known */
	uint32_t peer;         /* object; 0 none */
	bool swapped;          /* datagrams of two senders came in another order */
	bool no_flow;          /* a flow rule by which it received in the recording is missing */
	bool signals_all;      /* sq_sig_all */
	bool flushes;          /* it has ibv_wr_flush() */
	bool one_cq;           /* sends and receives complete on the same CQ */
	bool shared;           /* it receives with requests of a shared queue */
	const char *cut;       /* why it is no longer used, or NULL */
	unsigned int missed;   /* number of completions that did not arrive */
	unsigned int received; /* messages that are still in the peer's `sent`: sent.c */
	struct requests out[SIDES];
	/*
	 * messages that need a receive request of the peer, in order; UD: messages to this one,
	 * wr_id is the sender
	 */
	struct requests sent;
	struct arrivals in[SIDES];
	/* expect_late.c: recorded completions that are expected later */
	struct deferred_completion *late[SIDES];
	/* completions that were passed over, since a recorded poll returned a later one */
	struct arrivals passed[SIDES];
};

/*
 * When a CQ was armed: how many completions recorded polls had returned. An event without an
 * earlier arming that explains it announces a completion that came, in the replay, before the queue
 * was armed.
 */
enum { ARMINGS_MAX = 16 };
struct arming {
	uint64_t asked[ARMINGS_MAX]; /* for each arming whose event was not read yet */
	unsigned int n;
	unsigned int before; /* number of armings that preceded the last event */
};

/* The replayed counterpart of an object of the trace. */
struct replica {
	void *handle;                /* NULL: not created yet, destroyed, or never created */
	struct ibv_context *context; /* the replay's; for a context: itself */
	bool made;                   /* the object has existed in the replay */
	bool region;                 /* MR: it has existed in the replay */
	bool implicit;         /* MR: of the whole address space; only its used parts are memory */
	bool created;          /* the call that created it is in the trace */
	bool undestroyed;      /* the call that destroyed it is missing in the trace */
	const char *why;       /* why it does not exist, if known */
	uint32_t number, rkey; /* in the replay; struct object has the recorded numbers */
	/* MR: the recorded and the replayed address that its keys count from */
	uint64_t recorded_base, replayed_base;
	struct replica_qp *qp;
	struct requests *requests; /* SRQ */
	/*
	 * SRQ: number of requests left because messages did not come in the replay; the queue pair
	 * of the last such message
	 */
	uint32_t spare, spare_of;
	bool tags; /* SRQ: it matches tags */
	struct replica *next_holder;
	bool holds;            /* it has requests that wait for free entries: held_requests.c */
	struct replica *last;  /* CQ: the queue pair of its last completion */
	bool extended;         /* CQ: created by create_cq_ex */
	int vectors_there;     /* context: recorded number of completion vectors; 0: not known */
	bool half_gone;        /* CQ: its destruction failed; a provider may have unmapped it */
	unsigned int events;   /* CQ: completion events that no recorded call has read yet */
	unsigned int unacked;  /* CQ: events that were read but not acknowledged */
	unsigned int fresh;    /* CQ: replayed completions not yet polled in the recording */
	uint64_t asked;        /* CQ: completions of recorded polls so far */
	struct arming arming;  /* CQ */
	int64_t armed;         /* CQ: time of the last recorded arming */
	uint64_t empty, given; /* CQ: recorded empty polls so far, and completions */
	unsigned int pollers;  /* CQ: threads that polled it in the recording; 0: not computed */
	uint32_t polled_by;    /* CQ: a thread that has a poll of it in the trace; 0: none */
	bool polled_by_others; /* CQ: other threads have polls of it in the trace, too */
	struct event_id poll;  /* CQ: its last recorded poll */
	int64_t polled;        /* CQ: when the last recorded poll had a completion, ns */
	unsigned int silent;   /* CQ, context: number of events that did not arrive */
	/* CQ: polled, but not matched yet; POLLS_BATCH of them, or NULL */
	struct ibv_wc *unsorted;
	unsigned int nunsorted;
	uint32_t owner; /* the only player that uses the queue: owner.h */
} __attribute__((aligned(CACHE_LINE)));

/* An asynchronous event that came. */
struct async {
	struct async *next;
	struct ibv_async_event event;
	uint32_t context; /* object */
	bool taken;       /* a recorded call has read the event; else it is not read yet */
};

struct cm;
struct connections;
struct recorded_faults;
struct synthesized;
struct pair;

struct replay {
	struct trace *trace;
	const struct replay_options *options;
	struct outcome *outcome;
	struct devices *devices;
	const struct connections *connections; /* the trace's */
	struct synthesized *far;               /* the synthesized peer; NULL: none is needed */
	struct pair *pair;                     /* pair.c; NULL: there is no other half */
	struct cm *cm;                         /* cm.c; NULL: the trace has no calls of librdmacm */
	uint64_t cm_calls;                     /* number of calls of librdmacm by the program */
	struct replica *replicas;              /* by object */
	uint32_t nreplicas;                    /* number of objects, plus one */
	uint32_t *made;                        /* created objects, in order */
	uint32_t nmade;
	struct memory **memory; /* by process */
	bool *implicit;         /* by process: did it have an implicit region? */
	bool any_implicit;
	const char *gaps;     /* why calls may be missing in the trace; NULL: none are */
	bool undestroyed;     /* some object has replica.undestroyed */
	uint32_t nlacking;    /* regions of the trace that could not be created */
	const char *no_posts; /* why the trace has no posts; NULL: it has posts */
	/* why the trace has no ibv_req_notify_cq(); NULL: it has such calls */
	const char *no_arming;
	bool leaving;            /* polling completions that no recorded poll returned */
	bool lossy;              /* events are missing in the trace */
	uint32_t *nthreads;      /* by process: number of threads with events */
	uint32_t nprocesses;     /* number of processes, plus one */
	struct map lkeys, rkeys; /* process << 32 | recorded key, to object */
	struct map srqns;        /* recorded number of an XRC receive queue, to the replay's */
	struct map numbers;      /* qp_num in the replay, to object */
	struct map handles;      /* handle in the replay, to object */
	/* posts that were left out: event, to the first such request + 1 */
	struct map left_out;
	struct async *asyncs;
	/* queues in which requests wait for free entries: held_requests.c */
	struct replica *holders;
	bool resuming;
	/* completions that are deferred until a shared queue has a request: expect_late.c */
	unsigned int nlate;
	struct request_memory *wrs;      /* posts.c */
	struct unmatched_wcs *strangers; /* expect_end.c */
	struct fault_plan *faults;       /* faults.c; NULL: no faults are injected */
	/* NULL: none are injected, or the trace has none */
	struct recorded_faults *recorded_faults;
	bool failing;              /* some posts or polls must fail */
	struct needs *needs;       /* needs.c; NULL: no feature is missing */
	struct contents *contents; /* contents.c; NULL: the trace has no contents */
	void *scratch;             /* a page for unused outputs */
	int xrc_file;
	/* before it the trace has no polls, and only posts of requests outstanding at it */
	int64_t cut;
	uint64_t changes; /* incremented when objects, keys or connections may have changed */
	int64_t start;    /* ns of the replay's clock at its start */
	int64_t last;     /* the time of the last replayed event */
};

/* Key of a map for a request of a post, or a completion of a poll. */
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
 * Like replica_of(), for an object that the trace uses as one of @kind. NULL if it is of another
 * kind, so that its handle is never used as a wrong type.
 */
static inline struct replica *replica_as(struct replay *r, uint32_t object, enum object_kind kind)
{
	struct replica *replica = replica_of(r, object);

	return replica && trace_object(r->trace, object)->kind == kind ? replica : NULL;
}
