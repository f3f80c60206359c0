#pragma once
/*
 * The objects of the device in this process.
 *
 * Each begins with the structure of verbs.h that the program knows, so a pointer to one is a
 * pointer to the other. The parts that peers need are in the segment (shared.h), at @shm.
 */
#include <stdbool.h>
#include <stdint.h>
#include <infiniband/tm_types.h>
#include <infiniband/verbs.h>

#include "shim/soft/transport/cqring.h"
#include "shim/soft/fabric/node.h"
#include "shim/soft/fabric/registry.h"
#include "shim/soft/fabric/segment.h"
#include "shim/soft/fabric/process.h"
#include "shim/soft/transport/rq.h"
#include "shim/soft/fabric/shared.h"
#include "shim/soft/wire/route.h"

#define container(ptr, type, member) ((type *)((char *)(ptr)-offsetof(type, member)))

struct soft_context {
	struct verbs_context verbs;
	uint32_t epoch;
	uint32_t async;            /* pipe */
	uint64_t file;             /* inode of its command file; imports have the same */
	uint32_t ports_down;       /* as set by the program itself: inject.c */
	struct soft_context *next; /* in soft_contexts, while open */
};

/* Memory of a queue, possibly from a program's allocator; domain.c. */
struct soft_memory {
	void *mem;
	struct soft_parent *from; /* or NULL */
	uint32_t type;
};

/*
 * An object and its imports are a ring of structures for the same object: when it is destroyed
 * through one, the others become empty. Protected by soft_mutex.
 */
struct soft_twin {
	struct soft_twin *next;
	bool left; /* unimported, but the object still needs the structure */
};

struct soft_pd {
	struct ibv_pd pd; /* for a parent domain: its PD's handle */
	unsigned int refs;
	struct soft_twin twin;
	struct soft_pd *next;       /* of all */
	struct soft_parent *parent; /* or NULL; domain.c */
};

struct soft_mr {
	struct ibv_mr mr;
	struct shm_mr *shm; /* NULL: a twin destroyed it */
	uint32_t key;       /* as the program sees it */
	struct soft_twin twin;
	struct soft_pd *pd; /* counts the region */
	struct soft_dm *dm; /* and, unless NULL, these */
	struct soft_dmah *dmah;
	void *mapping; /* of a dma-buf, or NULL */
	size_t mapped;
	bool imported;
};

struct soft_dm {
	struct ibv_dm dm;
	uint8_t *memory; /* NULL: a twin freed it */
	size_t length;
	unsigned int refs;
	struct soft_twin twin;
	struct soft_dm *next; /* of all */
};

/* Begins as struct ibv_dmah, which not all headers have. */
struct soft_dmah {
	struct ibv_context *context;
	unsigned int refs;
};

/* Begins as struct ibv_comp_cntr. */
struct soft_comp_cntr {
	struct ibv_context *context;
	uint32_t handle;
	struct shm_comp_cntr *shm;
	unsigned int refs; /* queue pairs */
};

struct soft_mw {
	struct ibv_mw mw;
	struct shm_mr *shm;
	uint32_t key;    /* without the bits chosen by the program */
	uint32_t region; /* lkey of its region, while it is bound */
};

struct soft_channel {
	struct ibv_comp_channel channel;
	uint32_t id; /* pipe */
};

/* The state of a CQ when its payload was last checked: land.c. Protected by soft_mutex. */
struct soft_landing {
	uint32_t cons, prod;
	uint32_t quiet; /* checks since the last payload */
	bool awake;
};

struct soft_cq {
	struct ibv_cq_ex ex;
	struct lock polling;
	uint32_t cons; /* next to be polled */
	bool written;  /* senders write payload to memory: shm_cq.written */
	struct cqring ring;
	struct shm_cq *shm;
	uint32_t serial; /* in events */
	uint32_t events; /* delivered to the program */
	uint32_t async_events;
	unsigned int refs;
	bool extended;               /* made by ibv_create_cq_ex() */
	struct soft_pd *parent;      /* domain, or NULL */
	struct shm_cqe *current;     /* current entry of an extended poll */
	const struct shm_cqe *shown; /* entry whose fields the program reads */
	uint64_t wall;               /* time of @shown, ns since 1970; 0: not requested */
	uint64_t poller;             /* the polling thread */
	struct soft_landing landing;
};

struct soft_xrcd {
	struct ibv_xrcd xrcd;
	uint32_t id;     /* in the fabric */
	uint32_t serial; /* as its holder */
	int fd;          /* of its file, or -1 */
	unsigned int refs;
	struct soft_xrcd *next;
};

/* The tag matching list of a shared queue in the owner's process; protected by the posting lock. */
struct soft_tags {
	struct shm_tm *shm;
	uint32_t max;
	uint32_t max_ops;
	uint32_t ops;         /* list operations so far, */
	uint32_t ops_retired; /* number of those whose own or a later completion was polled */
	uint32_t serial;      /* of the last tag */
	uint32_t num_free;
	uint32_t free[SHM_TAG_MAX]; /* slots */
};

struct soft_srq {
	struct ibv_srq srq;
	struct soft_xrcd *xrcd; /* for XRC, or NULL */
	struct soft_cq *cq;     /* for XRC and tag matching, or NULL */
	struct soft_tags *tags; /* or NULL */
	struct lock posting;
	struct shm_srq *shm;
	struct rq rq;
	uint32_t max_wr; /* requests, of */
	uint32_t slots;  /* capacity */
	uint32_t *free;  /* unused slots */
	uint32_t num_free;
	uint32_t events;
	unsigned int refs;
};

/* A send request, from its post to its completion. */
struct soft_wr {
	uint64_t wr_id;
	uint32_t opcode; /* enum ibv_wr_opcode */
	uint32_t flags;  /* enum ibv_send_flags */
	uint32_t num_sge;
	uint32_t length;
	uint32_t imm; /* or the rkey to invalidate, or rights to bind */
	uint32_t rkey;
	union {
		struct { /* RDMA and atomics */
			uint64_t remote_addr;
			uint64_t compare_add; /* or the length of a flush */
			uint64_t swap;        /* of a flush: level << 8 | type */
		};
		struct { /* datagrams */
			struct soft_ah *ah;
			uint32_t remote_qpn;
			uint32_t remote_qkey;
		};
		struct { /* IBV_WR_BIND_MW: the window */
			uint64_t bind_addr;
			uint64_t bind_length;
			uint32_t region; /* lkey, or 0 */
		};
	};
	uint32_t srqn;        /* XRC: the remote queue */
	struct ibv_sge sge[]; /* or the data of an inline request */
};

/* The condition that the head of a send queue waits for. */
enum soft_wait {
	WAIT_NONE,
	WAIT_RNR,
	WAIT_PEER,
	WAIT_COPY,  /* by the peer */
	WAIT_HELD,  /* by a fault */
	WAIT_STATE, /* to return to RTS, or to be failed by its peer */
};

/*
 * The peer's answer when it has read the data of a rendezvous: the header of its message, or a
 * refusal to read. See tag.c.
 */
struct soft_fin {
	struct soft_fin *next;
	bool refused;
	struct ibv_tmh tmh;
};

/* Positions only grow: retired <= next <= head <= retired + depth. */
struct soft_sq {
	struct lock lock;
	uint32_t head;    /* next to be posted */
	uint32_t next;    /* next to be executed */
	uint32_t retired; /* its completion was polled */
	uint32_t depth;
	uint32_t mask;
	uint32_t stride;
	uint8_t *wrs;
	struct soft_memory memory; /* of those */
	uint64_t *due;             /* by slot: when it arrives, ns; NULL: latency.c */
	enum soft_wait wait;
	uint64_t wait_until; /* ns; 0: without limit */
	bool owes;           /* the head was executed, but its completion could not be added */
	uint8_t owed;        /* status of that completion */
	uint32_t rate;       /* kbit/s, or 0; pace.h */
	uint32_t burst;      /* bytes */
	uint64_t paced;      /* end of the time that the sent data takes, ns */
	bool draining;       /* SQD: the head had begun before that state */
	uint8_t vendor_err;  /* from a fault, for the completion */
	uint8_t tries;       /* retries of the head: faults or real timers */
	uint8_t rnr_tries;   /* retries of the head: receiver not ready */
	bool judged;         /* the fault for the head was looked up */
	uint8_t doom;        /* status forced on the head instead of success; 0: none */
	uint8_t doom_vendor_err;
	struct soft_fin *fins;      /* FINs for its own receive queue */
	struct {                    /* between wr_start and _complete */
		uint64_t thread;    /* thread that holds the lock, or 0 */
		uint32_t tail;      /* end of the requests built from head on */
		uint8_t may, must;  /* setters that may, that must be called for the last one */
		int err;            /* the first error */
		struct soft_wr *wr; /* the last one */
	} build;
};

/* The other end, resolved from the queue pair number; see remote.c. */
struct soft_remote {
	struct peer *peer;
	struct shm_qp *shm;
	uint16_t slot; /* of @shm; UINT16_MAX: @shm is that of @xrc */
	struct rq rq;
	struct cqring cq;
	struct shm_srq *srq;      /* owner of @rq, or NULL */
	struct shm_tm *tm;        /* of @srq, or NULL; it has @num_tags */
	struct shm_xrc_qp *xrc;   /* owner of @shm, or NULL */
	uint32_t srqn;            /* for which this was resolved */
	uint64_t held;            /* when @xrc last had a holder */
	struct soft_remote *next; /* shared queue of the same @xrc */
	uint32_t rq_pd;
	uint32_t num_tags;
	uint32_t pd;     /* of remote keys */
	uint32_t resets; /* as of this connection */
	struct {         /* destinations of payload that may still be in flight */
		uintptr_t from, to;
		uint32_t pos; /* of the last such entry of @cq */
	} travels;
	bool stuck;        /* a process that delivers to it is stopped */
	uint32_t lag_prod; /* see remote_lags() */
	uint64_t lag_until;
};

/*
 * Operations of a queue pair whose other end is on another machine, set by the network. Called with
 * the lock of the send queue held.
 */
struct soft_qp;
struct soft_wire {
	/* send what is possible, and complete what is done */
	void (*run)(struct soft_qp *qp);
	/* has it sent requests that are not complete? */
	bool (*is_busy)(const struct soft_qp *qp);
};

struct soft_qp {
	struct ibv_qp_ex ex;
	void (*wr_flush)(struct ibv_qp_ex *qp, uint32_t rkey, uint64_t remote_addr, size_t len,
			 uint8_t type, uint8_t level);
	/* the next member of @ex in newer headers */
	struct shm_qp *shm;
	uint32_t serial;        /* in events */
	struct shm_xrc_qp *xrc; /* XRC_RECV: the owner of @shm, */
	struct soft_xrcd *xrcd; /* and its domain */
	struct soft_sq sq;
	struct soft_remote remote;
	struct datagram_peers *peers; /* of UD; see datagram.c */
	struct soft_wire *wire;       /* or NULL: the other end is in this fabric */
	struct lock posting;          /* of receives */
	struct rq rq;
	uint32_t rq_retired;
	struct soft_cq *send_cq;
	struct soft_cq *recv_cq;
	struct soft_srq *srq;
	struct ibv_qp_attr attr;
	struct ibv_qp_init_attr init;
	uint32_t opcodes; /* bits of the opcodes that it can post */
	pthread_mutex_t modifying;
	bool reachable;      /* a port has the destination address */
	uint8_t migrations;  /* migrations that were followed */
	uint32_t max_msg_sz; /* its port's; for UD the MTU */
	bool deaf;           /* does not receive its own multicasts */
	uint32_t groups;     /* number of groups that it is attached to */
	uint32_t events;
	bool listed; /* pending.c */
	struct soft_qp *next_listed;
	unsigned int flows;    /* rules for it */
	struct soft_rss *rss;  /* or NULL */
	struct raw_peers *raw; /* targets of its packets */
	struct soft_wq *wq;    /* its work queue, or NULL */
};

struct soft_ah {
	struct ibv_ah ah;
	struct ibv_ah_attr attr;
	uint32_t refs; /* of the program and of waiting requests */
	uint32_t pd;
	uint16_t slid;
	bool multicast;
	bool reachable;
	bool away;          /* on another machine, by @route */
	bool spreads;       /* a group that other machines may be in, by @route */
	bool ipv4;          /* @grh ends with that header */
	uint8_t extra;      /* additional bytes that count as payload in it */
	uint8_t wc_sl;      /* the service level in the receiver's completion */
	struct ibv_grh grh; /* all fields but lengths */
	struct route route;
};

/* A work queue is a queue pair that only receives; only raw.c sends to it. */
struct soft_wq {
	struct ibv_wq wq;
	struct soft_qp *qp;
	unsigned int refs; /* of tables */
};

struct soft_rwq_table {
	struct ibv_rwq_ind_table table;
	unsigned int refs; /* of queue pairs */
	uint32_t size;
	struct soft_wq *wq[SHM_RSS_MAX];
};

/* Counters of flow rules; protected by the object mutex. */
enum { COUNTERS_MAX = 64 }; /* places to read */

struct soft_counters {
	struct ibv_counters counters;
	uint8_t reads[COUNTERS_MAX]; /* bits: enum ibv_counter_description */
	unsigned int flows;
	uint64_t packets, bytes; /* of rules that were destroyed */
};

/* All objects of a kind by slot; under soft_mutex. */
extern pthread_mutex_t soft_mutex;
extern struct soft_qp *soft_qps[SHM_QP_MAX];
extern struct soft_cq *soft_cqs[SHM_CQ_MAX];
extern struct soft_srq *soft_srqs[SHM_SRQ_MAX];
extern struct soft_mr *soft_mrs[SHM_MR_MAX];
extern struct soft_mw *soft_mws[SHM_MW_MAX]; /* protected by the lock of window.c */

/* All open contexts; the innermost of all locks. */
extern pthread_mutex_t soft_contexts_mutex;
extern struct soft_context *soft_contexts;

/* Where the search of a table for a free slot begins, and which slots were ever used. */
struct soft_slots {
	uint32_t next;
	uint32_t end; /* soft_slots_end() */
};

extern struct soft_slots soft_qp_slots, soft_cq_slots, soft_srq_slots;

/* A free slot of @table, the oldest first, or -ENOMEM. */
int soft_slot(void *table, uint32_t size, struct soft_slots *slots);

/* The first slot that was never used, like all after it: tables are long, and mostly unused. */
static inline uint32_t soft_slots_end(const struct soft_slots *slots)
{
	/* pairs with the store in soft_slot() */
	return __atomic_load_n(&slots->end, __ATOMIC_ACQUIRE);
}

void soft_twin_init(struct soft_twin *twin);
void soft_twin_join(struct soft_twin *twin, struct soft_twin *with);
void soft_twin_unlink(struct soft_twin *twin);
bool soft_twin_is_alone(const struct soft_twin *twin);
/* Remove another structure that was unimported from the ring and return it, or NULL. */
struct soft_twin *soft_twin_take_left(struct soft_twin *twin);

/* The number of objects of a kind in this process, for kinds without a table. */
struct soft_tally {
	uint32_t epoch; /* a child starts at 0 */
	int count;
};

/* Count one more, if there are fewer than @max. */
bool soft_tally_add(struct soft_tally *tally, int max);
void soft_tally_sub(struct soft_tally *tally);

/* Serial numbers for objects, never 0. */
uint32_t soft_serial(void);

static inline struct soft_context *to_context(struct ibv_context *context)
{
	return container(context, struct soft_context, verbs.context);
}

static inline struct soft_qp *to_qp(struct ibv_qp *qp)
{
	return container(qp, struct soft_qp, ex.qp_base);
}

static inline struct soft_cq *to_cq(struct ibv_cq *cq)
{
	return (struct soft_cq *)cq;
}

static inline struct soft_srq *to_srq(struct ibv_srq *srq)
{
	return container(srq, struct soft_srq, srq);
}

static inline struct soft_xrcd *to_xrcd(struct ibv_xrcd *xrcd)
{
	return container(xrcd, struct soft_xrcd, xrcd);
}

static inline struct soft_pd *to_pd(struct ibv_pd *pd)
{
	return container(pd, struct soft_pd, pd);
}

static inline struct soft_mr *to_mr(struct ibv_mr *mr)
{
	return container(mr, struct soft_mr, mr);
}

static inline struct soft_dm *to_dm(struct ibv_dm *dm)
{
	return container(dm, struct soft_dm, dm);
}

/* False in a child for every inherited context. */
static inline bool soft_ours(struct ibv_context *context)
{
	return likely(to_context(context)->epoch == process_epoch());
}

static inline struct soft_mw *to_mw(struct ibv_mw *mw)
{
	return container(mw, struct soft_mw, mw);
}

static inline struct soft_ah *to_ah(struct ibv_ah *ah)
{
	return container(ah, struct soft_ah, ah);
}

/* A waiting request holds a reference to its handle. */
void soft_ah_get(struct soft_ah *ah);
void soft_ah_put(struct soft_ah *ah);

static inline struct soft_rwq_table *to_table(struct ibv_rwq_ind_table *table)
{
	return container(table, struct soft_rwq_table, table);
}

static inline struct soft_counters *to_counters(struct ibv_counters *counters)
{
	return container(counters, struct soft_counters, counters);
}

/* Do two contexts share a command file, because one was imported? */
static inline bool context_same_file(struct ibv_context *a, struct ibv_context *b)
{
	return to_context(a)->file == to_context(b)->file;
}
