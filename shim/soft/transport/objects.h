#pragma once
/*
 * The objects of the device in this process.
 *
 * Each object begins with the structure of verbs.h that the program knows, so a pointer to this
 * structure is a pointer to the object. The parts that peers need are in the segment (shared.h), at
 * @shm.
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
	uint32_t async; /* pipe for asynchronous events */
	/* inode of its command file; imported contexts have the same one */
	uint64_t file;
	uint32_t ports_down;       /* ports that the program itself has set down: inject.c */
	struct soft_context *next; /* in the list soft_contexts, while open */
};

/* Memory of a queue, possibly from a program's allocator; domain.c. */
struct soft_memory {
	void *mem;
	struct soft_parent *from; /* the parent domain with the allocator; or NULL */
	uint32_t type;
};

/*
 * The structures of one object, the original and its imports, are linked in a ring: when the object
 * is destroyed through one of them, the others become empty. Protected by soft_mutex.
 */
struct soft_twin {
	struct soft_twin *next;
	bool left; /* unimported, but the object still needs this structure */
};

struct soft_pd {
	struct ibv_pd pd; /* a parent domain has the handle of its PD */
	unsigned int refs;
	struct soft_twin twin;
	struct soft_pd *next;       /* next of all PDs */
	struct soft_parent *parent; /* the parent domain; NULL: a plain PD; domain.c */
};

struct soft_mr {
	struct ibv_mr mr;
	struct shm_mr *shm; /* NULL: the region was destroyed through a twin */
	uint32_t key;       /* the key that the program sees */
	struct soft_twin twin;
	struct soft_pd *pd; /* the PD, which counts this region */
	struct soft_dm *dm; /* the device memory of the region, which counts it, too; or NULL */
	struct soft_dmah *dmah;
	void *mapping; /* mapping of a dma-buf; or NULL */
	size_t mapped;
	bool imported;
};

struct soft_dm {
	struct ibv_dm dm;
	uint8_t *memory; /* NULL: the memory was freed through a twin */
	size_t length;
	unsigned int refs;
	struct soft_twin twin;
	struct soft_dm *next; /* next of all device memories */
};

/* Begins like struct ibv_dmah, which not all headers have. */
struct soft_dmah {
	struct ibv_context *context;
	unsigned int refs;
};

/* Begins like struct ibv_comp_cntr, which not all headers have. */
struct soft_comp_cntr {
	struct ibv_context *context;
	uint32_t handle;
	struct shm_comp_cntr *shm;
	unsigned int refs; /* number of queue pairs that use it */
};

struct soft_mw {
	struct ibv_mw mw;
	struct shm_mr *shm;
	uint32_t key;    /* key without the bits that the program chooses */
	uint32_t region; /* lkey of the region to which it is bound */
};

struct soft_channel {
	struct ibv_comp_channel channel;
	uint32_t id; /* number of its pipe */
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
	uint32_t cons; /* position of the entry that is polled next */
	bool written;  /* senders write payload directly to memory: shm_cq.written */
	struct cqring ring;
	struct shm_cq *shm;
	uint32_t serial; /* serial number in events */
	uint32_t events; /* number of events delivered to the program */
	uint32_t async_events;
	unsigned int refs;
	bool extended;               /* created by ibv_create_cq_ex() */
	struct soft_pd *parent;      /* parent domain, or NULL */
	struct shm_cqe *current;     /* current entry of an extended poll */
	const struct shm_cqe *shown; /* the entry whose fields the program can read */
	/* time of @shown, ns since 1970; 0: not requested by the program */
	uint64_t wall;
	uint64_t poller; /* id of the polling thread */
	struct soft_landing landing;
};

struct soft_xrcd {
	struct ibv_xrcd xrcd;
	uint32_t id;     /* number of the domain in the fabric */
	uint32_t serial; /* serial number of this process as its holder */
	int fd;          /* descriptor of its file, or -1 */
	unsigned int refs;
	struct soft_xrcd *next;
};

/*
 * The owner's data about the tag matching list of a shared receive queue; protected by the posting
 * lock.
 */
struct soft_tags {
	struct shm_tm *shm;
	uint32_t max;
	uint32_t max_ops;
	uint32_t ops; /* list operations so far, */
	/* how many of them are retired: their own or a later completion was polled */
	uint32_t ops_retired;
	uint32_t serial; /* serial number of the last tag */
	uint32_t num_free;
	uint32_t free[SHM_TAG_MAX]; /* free slots */
};

struct soft_srq {
	struct ibv_srq srq;
	struct soft_xrcd *xrcd; /* domain of an XRC SRQ; or NULL */
	struct soft_cq *cq;     /* completion queue, with XRC or tag matching; or NULL */
	struct soft_tags *tags; /* NULL: no tag matching */
	struct lock posting;
	struct shm_srq *shm;
	struct rq rq;
	uint32_t max_wr; /* number of requests that the program may post */
	uint32_t slots;  /* number of slots */
	uint32_t *free;  /* list of unused slots */
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
	uint32_t imm; /* immediate data; or the rkey to invalidate; or access flags to bind */
	uint32_t rkey;
	union {
		struct { /* RDMA and atomics */
			uint64_t remote_addr;
			uint64_t compare_add; /* compare or add operand; or the length of a flush */
			uint64_t swap;        /* swap operand; of a flush: level << 8 | type */
		};
		struct { /* datagrams */
			struct soft_ah *ah;
			uint32_t remote_qpn;
			uint32_t remote_qkey;
		};
		struct { /* IBV_WR_BIND_MW: the window */
			uint64_t bind_addr;
			uint64_t bind_length;
			uint32_t region; /* lkey of the region; 0: none */
		};
	};
	uint32_t srqn;        /* XRC: number of the remote shared queue */
	struct ibv_sge sge[]; /* SGEs; or the data of an inline request */
};

/* What the head of a send queue waits for. */
enum soft_wait {
	WAIT_NONE,
	WAIT_RNR,
	WAIT_PEER,
	WAIT_COPY,  /* until the peer has copied data */
	WAIT_HELD,  /* until a fault releases it */
	WAIT_STATE, /* until the queue pair is in RTS again, or its peer fails it */
};

/*
 * The answer of a peer that has read the data of a rendezvous, or refuses to read: the header of
 * its message. See tag.c.
 */
struct soft_fin {
	struct soft_fin *next;
	bool refused;
	struct ibv_tmh tmh;
};

/* A send queue. Positions only grow: retired <= next <= head <= retired + depth. */
struct soft_sq {
	struct lock lock;
	uint32_t head;    /* position of the next request to be posted */
	uint32_t next;    /* position of the next request to be executed */
	uint32_t retired; /* requests before this position are retired: a completion was polled */
	uint32_t depth;
	uint32_t mask;
	uint32_t stride;
	uint8_t *wrs;
	struct soft_memory memory; /* memory of @wrs */
	uint64_t *due;             /* by slot: when the request arrives, ns; or NULL: latency.c */
	enum soft_wait wait;
	uint64_t wait_until; /* limit of the wait, ns; 0: none */
	/* the request at @next was executed, but its completion could not be added yet */
	bool owes;
	uint8_t owed;       /* status of this completion */
	uint32_t rate;      /* rate limit in kbit/s; 0: none; pace.h */
	uint32_t burst;     /* bytes that are not limited */
	uint64_t paced;     /* when the data sent so far has left at this rate, ns */
	bool draining;      /* state SQD: the head had begun before */
	uint8_t vendor_err; /* vendor error that a fault sets in the completion */
	uint8_t tries;      /* retries of the head because of faults or real timers */
	uint8_t rnr_tries;  /* retries of the head because the receiver was not ready */
	bool judged;        /* the fault for the head was already looked up */
	/* status that a fault forces on the head instead of success; 0: none */
	uint8_t forced_status;
	uint8_t forced_vendor_err;
	struct soft_fin *fins;   /* answers of peers (FINs) for its own receive queue */
	struct {                 /* between ibv_wr_start() and ibv_wr_complete() */
		uint64_t thread; /* the thread that holds the lock; 0: none */
		uint32_t tail;   /* end of the built requests, which begin at @head */
		/* setters that may be called for the last request, and that must be called */
		uint8_t may, must;
		int err;            /* the first error, errno */
		struct soft_wr *wr; /* the last request */
	} build;
};

/* The receiving end of a connection, found by the queue pair number; see remote.c. */
struct soft_remote {
	struct peer *peer;
	struct shm_qp *shm;
	uint16_t slot; /* slot of @shm; UINT16_MAX: @shm belongs to @xrc */
	struct rq rq;
	struct cqring cq;
	struct shm_srq *srq;      /* owner of @rq, or NULL */
	struct shm_tm *tm;        /* list of @srq with @num_tags; or NULL */
	struct shm_xrc_qp *xrc;   /* owner of @shm, or NULL */
	uint32_t srqn;            /* number of the shared queue for which this was looked up */
	uint64_t held;            /* time of the last check at which @xrc had a holder */
	struct soft_remote *next; /* the same queue pair with another shared queue */
	uint32_t rq_pd;
	uint32_t num_tags;
	uint32_t pd;     /* PD that remote keys must have */
	uint32_t resets; /* value of shm_qp.resets for this connection */
	struct {         /* memory into which payload in flight may still be copied */
		uintptr_t from, to;
		uint32_t pos; /* position of the last entry of @cq with such payload */
	} travels;
	bool stuck;        /* a process that was delivering to it is stopped */
	uint32_t lag_prod; /* used by remote_lags() */
	uint64_t lag_until;
};

/*
 * Operations of a queue pair whose peer is on another machine; set by the network. Callers hold the
 * lock of the send queue.
 */
struct soft_qp;
struct soft_wire {
	/* send as much as possible, and complete the requests that are done */
	void (*run)(struct soft_qp *qp);
	/* does it have sent requests that are not complete? */
	bool (*is_busy)(const struct soft_qp *qp);
};

struct soft_qp {
	struct ibv_qp_ex ex;
	void (*wr_flush)(struct ibv_qp_ex *qp, uint32_t rkey, uint64_t remote_addr, size_t len,
			 uint8_t type, uint8_t level);
	/* the next member of struct ibv_qp_ex (ex) in newer headers */
	struct shm_qp *shm;
	uint32_t serial;        /* serial number in events */
	struct shm_xrc_qp *xrc; /* XRC_RECV: the object that contains @shm, */
	struct soft_xrcd *xrcd; /* the domain of @xrc */
	struct soft_sq sq;
	struct soft_remote remote;
	struct datagram_peers *peers; /* of a UD queue pair; see datagram.c */
	struct soft_wire *wire;       /* NULL: the peer is in this fabric */
	struct lock posting;          /* lock for posting receives */
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
	uint8_t migrations;  /* number of migrations of the peer that it has followed */
	uint32_t max_msg_sz; /* limit of its port; for UD the MTU */
	bool deaf;           /* the queue pair does not receive its own multicasts */
	uint32_t groups;     /* number of groups to which it is attached */
	uint32_t events;
	bool listed; /* it is in the list of pending.c */
	struct soft_qp *next_listed;
	unsigned int flows;    /* number of flow rules for it */
	struct soft_rss *rss;  /* hashing over work queues; or NULL */
	struct raw_peers *raw; /* queue pairs to which it sends raw packets */
	struct soft_wq *wq;    /* the work queue to which it belongs; or NULL */
};

struct soft_ah {
	struct ibv_ah ah;
	struct ibv_ah_attr attr;
	uint32_t refs; /* references of the program and of waiting requests */
	uint32_t pd;
	uint16_t slid;
	bool multicast;
	bool reachable;
	bool away; /* the destination is on another machine, by @route */
	/* the destination is a group that may have members on other machines, by @route */
	bool spreads;
	bool ipv4;          /* @grh ends with an IPv4 header */
	uint8_t extra;      /* additional bytes that its length field counts as payload */
	uint8_t wc_sl;      /* service level in the receiver's completion */
	struct ibv_grh grh; /* all fields are filled in, except lengths */
	struct route route;
};

/* A work queue: a queue pair that only receives, and only from raw.c. */
struct soft_wq {
	struct ibv_wq wq;
	struct soft_qp *qp;
	unsigned int refs; /* number of tables that use it */
};

struct soft_rwq_table {
	struct ibv_rwq_ind_table table;
	unsigned int refs; /* number of queue pairs that use it */
	uint32_t size;
	struct soft_wq *wq[SHM_RSS_MAX];
};

/* Counters of flow rules; protected by the object mutex. */
enum { COUNTERS_MAX = 64 }; /* maximum of values that a read returns */

struct soft_counters {
	struct ibv_counters counters;
	/* bits of enum ibv_counter_description, by the index in the result */
	uint8_t reads[COUNTERS_MAX];
	unsigned int flows;
	uint64_t packets, bytes; /* counted by rules that were destroyed */
};

/* All objects of a kind, by slot; protected by soft_mutex. */
extern pthread_mutex_t soft_mutex;
extern struct soft_qp *soft_qps[SHM_QP_MAX];
extern struct soft_cq *soft_cqs[SHM_CQ_MAX];
extern struct soft_srq *soft_srqs[SHM_SRQ_MAX];
extern struct soft_mr *soft_mrs[SHM_MR_MAX];
extern struct soft_mw *soft_mws[SHM_MW_MAX]; /* protected by the lock of window.c */

/* All open contexts. This mutex is taken after all other locks. */
extern pthread_mutex_t soft_contexts_mutex;
extern struct soft_context *soft_contexts;

/* Where the search of a table for a free slot begins, and which slots were ever used. */
struct soft_slots {
	uint32_t next;
	uint32_t end; /* result of soft_slots_end() */
};

extern uint64_t soft_sq_active[SHM_QP_MAX / 64]; /* bits of the locks of send queues: lock.h */

extern struct soft_slots soft_qp_slots, soft_cq_slots, soft_srq_slots;

/* A free slot of @table: the one that was freed first. Or -ENOMEM. */
int soft_slot(void *table, uint32_t size, struct soft_slots *slots);

/* From this slot on, no slot was ever used: tables are long, and mostly unused. */
static inline uint32_t soft_slots_end(const struct soft_slots *slots)
{
	/* pairs with the store in soft_slot() */
	return __atomic_load_n(&slots->end, __ATOMIC_ACQUIRE);
}

void soft_twin_init(struct soft_twin *twin);
void soft_twin_join(struct soft_twin *twin, struct soft_twin *with);
void soft_twin_unlink(struct soft_twin *twin);
bool soft_twin_is_alone(const struct soft_twin *twin);
/* Remove another structure that was unimported from the ring and return it; NULL: there is none. */
struct soft_twin *soft_twin_take_left(struct soft_twin *twin);

/* The number of objects of a kind in this process, for kinds without a table. */
struct soft_tally {
	uint32_t epoch; /* the process; a child starts at 0 */
	int count;
};

/* Count one object more, if there are fewer than @max. Returns whether it was counted. */
bool soft_tally_add(struct soft_tally *tally, int max);
void soft_tally_sub(struct soft_tally *tally);

/* A new serial number for an object, never 0. */
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

/* Was the context opened by this process? False in a child for an inherited context. */
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

/* Take and release a reference to an address handle, as a waiting request does. */
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
