#pragma once
/*
 * The layout of shared memory: the segment that each process offers its peers.
 *
 * A segment belongs to one process (a node of the fabric). Its owner creates and destroys the
 * objects in it; a peer that executes an operation takes receive requests, writes completions and
 * changes queue pair states, always under the lock of the object concerned. Everything that a peer
 * reads from it is untrusted input: offsets and sizes are checked once when a queue pair is
 * resolved (remote.c), positions are masked with the checked size.
 */
#include <stdbool.h>
#include <stdint.h>
#include <sys/uio.h>
#include <infiniband/verbs.h>

#include "shim/soft/fabric/lock.h"
#include "shim/soft/fabric/packet.h"

#define likely(x)   __builtin_expect(!!(x), 1)
#define unlikely(x) __builtin_expect(!!(x), 0)

/*
 * For functions on the path of every message, which the compiler would not inline: they have
 * several callers.
 */
#define ALWAYS_INLINE inline __attribute__((always_inline))

#define SHM_LINE    64
#define SHM_ALIGNED __attribute__((aligned(SHM_LINE)))

enum {
	SHM_VERSION = 8, /* incremented with each change of the shared structures */
	SHM_QP_MAX = 16384,
	SHM_CQ_MAX = 16384,
	SHM_SRQ_MAX = 4096,
	SHM_XRCD_MAX = 1024,
	SHM_XRC_QP_MAX = 4096,
	SHM_COMP_CNTR_MAX = 255, /* an id is a byte, and counts from 1 */
	SHM_HOLDERS = 256,       /* for one XRC domain or queue pair */
	SHM_MR_BITS = 17,
	SHM_MR_MAX = 96 << 10,           /* slots of regions, then */
	SHM_MW_MAX = 32 << 10,           /* of windows */
	SHM_KEY_BITS = 32 - SHM_MR_BITS, /* of the generation; bit 0 of it: rkey */
	SHM_SGE_MAX = 32,
	SHM_TAG_MAX = 1024, /* tagged buffers of a shared queue */
	SHM_TAG_SGE = 4,    /* SGEs of each buffer */
	SHM_TAG_RNDV = 64,  /* bytes of the longest request of a rendezvous */
	SHM_WR_MAX = 32768,
	SHM_RQ_APART = 8, /* free slots between tail and head of a full queue */
	SHM_CQE_MAX = 1 << 22,
	SHM_BOUNCE = 256 << 10,
	SHM_BOUNCE_MSG = 8 << 10, /* longer messages are copied directly */
};

#define SHM_MAGIC 0x31746f5366726556ull /* "VerfSot1" */
#define SHM_SIZE  (8ull << 30)          /* sparse */

/*
 * Prefetch the cache line at @p for writing: other processors have read it.
 */
static inline void shm_expect_write(const void *p)
{
#if defined(__x86_64__)
	/* the compiler does not use it for its builtin on every x86-64 */
	__asm__ volatile("prefetchw %0" : : "m"(*(const char *)p));
#else
	__builtin_prefetch(p, 1);
#endif
}

/* A receive request. The next one is shm_rq.stride bytes after it. */
struct shm_wqe {
	uint64_t wr_id;
	uint32_t num_sge;
	uint32_t length; /* of all SGEs, saturated */
	struct ibv_sge sge[];
};

/*
 * A receive queue, private to a queue pair or shared. The lock protects @taken. The owner posts at
 * @prod. A shared queue is completed out of order, so its slots are listed at @order_off.
 */
struct shm_rq {
	struct lock lock;
	uint32_t taken;
	uint32_t size; /* a power of two */
	uint32_t stride;
	uint32_t max_sge;
	uint32_t limit; /* of an armed shared queue, or 0 */
	uint32_t rings; /* number of rings that the queue has had */
	uint64_t wqe_off;
	uint64_t order_off; /* uint32_t[size]; 0: the slot is the position */

	uint64_t doing; /* the request being taken: see deliver.c */
	uint32_t doing_cq;

	uint32_t prod SHM_ALIGNED;
};

/* The operations that completion counters count, as bits of enum ibv_qp_attach_comp_cntr_op. */
enum shm_counted {
	SHM_COUNT_SEND,
	SHM_COUNT_RECV,
	SHM_COUNT_READ,
	SHM_COUNT_REMOTE_READ,
	SHM_COUNT_WRITE,
	SHM_COUNT_REMOTE_WRITE,
	SHM_COUNTED,
};

/*
 * The lock of a queue pair is that of its receive queue, which is in another cache line: a
 * delivering peer writes there, while the owner reads the state when it posts.
 */
struct shm_qp {
	uint32_t qpn;   /* 0: no queue pair in this slot */
	uint32_t state; /* enum ibv_qp_state */
	uint32_t dest_qpn;
	uint32_t access;
	uint32_t pd;
	uint32_t recv_cq;
	uint32_t srq;    /* index + 1, or 0 */
	uint32_t async;  /* pipe of the context's events */
	uint32_t serial; /* of the object, for events */
	uint32_t resets; /* peers look the queue pair up again if it has changed */
	uint32_t qkey;
	uint8_t max_dest_rd;
	uint8_t min_rnr_timer;
	uint8_t established; /* COMM_EST was sent, or is not sent any more */
	uint8_t port;
	uint8_t type;                 /* enum ibv_qp_type */
	uint8_t mig_state;            /* enum ibv_mig_state */
	uint8_t migrations;           /* requested by peers */
	uint16_t pkey;                /* its partition, see port.h */
	uint8_t counted;              /* bits of enum shm_counted that have a counter */
	uint8_t counter[SHM_COUNTED]; /* slot + 1, or 0 */
	uint32_t claimed;             /* slot + 1 of a request whose message is arriving, or 0 */

	struct shm_rq rq SHM_ALIGNED;
};

/* A completion counter: transport/count.c. */
struct shm_comp_cntr {
	uint64_t done; /* requests, or bytes */
	uint64_t errors;
	uint32_t bytes;
	uint32_t used;
};

struct shm_srq {
	uint32_t serial; /* 0: none here */
	uint32_t pd;
	uint32_t async;
	uint32_t srqn;  /* of XRC, or 0 */
	uint32_t xrcd;  /* its domain */
	uint32_t cq;    /* its completion queue */
	uint32_t error; /* SRQ_ERR was sent: it accepts no more requests */
	uint32_t tags;  /* capacity for tags, or 0: no tag matching */
	uint64_t tm_off;
	struct shm_rq rq SHM_ALIGNED;
};

enum shm_tag_state {
	SHM_TAG_FREE,
	SHM_TAG_POSTED,  /* can match from the next synchronization on */
	SHM_TAG_ENABLED, /* matches */
	SHM_TAG_MATCHED, /* until its completion is polled */
};

/* A tagged buffer. */
struct shm_tag {
	uint64_t tag;
	uint64_t mask;
	uint64_t wr_id;
	uint32_t handle;
	uint32_t state; /* enum shm_tag_state */
	uint32_t num_sge;
	uint32_t length; /* of all SGEs */
	struct ibv_sge sge[SHM_TAG_SGE];
};

/* The tag matching list of a shared queue, under its lock: transport/tag.c. */
struct shm_tm {
	uint32_t count;
	uint32_t unexpected; /* number of messages without a match */
	uint32_t synced;     /* of these, the program has acknowledged (IBV_OPS_TM_SYNC) */
	uint32_t doing_cq;
	uint64_t doing;              /* the match in progress, or 0; like shm_rq.doing */
	uint32_t order[SHM_TAG_MAX]; /* slots, the oldest first */
	struct shm_tag tag[];
};

/* How a completion's payload gets into its buffers: by the poll, or before it (land.c). */
enum {
	SHM_LANDED,  /* in the buffers, or there is none */
	SHM_INLINE,  /* in the entry */
	SHM_BOUNCED, /* in the bounce ring of the queue */
};

enum {
	SHM_CQE_DEAD = 1,      /* purged: about to be overwritten */
	SHM_CQE_RECV = 2,      /* retires a receive request, else a send */
	SHM_CQE_SRQ = 4,       /* of a shared queue */
	SHM_CQE_LANDED = 8,    /* payload was copied to the buffers before the poll */
	SHM_CQE_DATAGRAM = 16, /* the payload has space for a GRH in front */
	SHM_CQE_TAGGED = 32,   /* imm is the tag of a flow rule */
	SHM_CQE_MATCHING = 64, /* of a tag matching list: struct ibv_wc_tm_info is in its data */
};

enum { SHM_CQE_INLINE = 72 };

struct shm_cqe {
	uint32_t seq; /* position + 1 once valid */
	uint8_t status;
	uint8_t opcode;
	uint8_t wc_flags;
	uint8_t flags;
	uint64_t wr_id;
	uint32_t byte_len;
	uint32_t imm;
	uint32_t qpn;
	uint32_t src_qp : 24, sl : 8;
	uint32_t retire; /* position of a send or list operation, slot of a receive or tag */
	uint16_t qp;     /* index; of the SRQ in @srq */
	uint16_t srq;
	uint8_t where;
	uint8_t vendor_err;
	uint16_t slid;
	uint32_t bounce; /* offset of the payload */
	uint64_t stamp;  /* ns, if requested */
	uint8_t data[SHM_CQE_INLINE];
} SHM_ALIGNED;

enum {
	SHM_CQ_EVENTS = 1, /* has a completion channel */
	SHM_CQ_STAMPS = 2,
	SHM_CQ_LOSSY = 4,  /* completions that do not fit are dropped */
	SHM_CQ_ASLEEP = 8, /* no thread checks for in-flight payload: wake the owner */
	SHM_CQ_GROWS = 16, /* not all entries have memory allocated */
};

enum { SHM_ARM_NONE, SHM_ARM_SOLICITED, SHM_ARM_ANY };

struct shm_cq {
	struct lock lock; /* taken to add entries, not by polls */
	uint32_t prod;
	uint32_t cqe;       /* number of entries; one more overruns the queue */
	uint32_t cons_seen; /* @cons as last read, to avoid access to its cache line */
	uint32_t flags;
	uint16_t overrun;
	uint16_t written; /* senders write payload to memory, not into the queue */
	uint32_t rings;   /* number of rings it has had */
	uint32_t size;    /* slots, a power of two */
	uint64_t ring_off;
	uint64_t bounce_off;
	uint32_t bounce_prod; /* bytes */
	uint32_t bounce_seen;
	uint32_t bounce_ready; /* bytes that have memory allocated */
	uint32_t serial;       /* with SHM_CQ_GROWS: first position that has memory allocated */
	/* with SHM_CQ_GROWS: the positions that have memory allocated start here */
	uint32_t ready_from;
	uint32_t ready; /* position after the last such */

	uint32_t cons SHM_ALIGNED;
	uint32_t bounce_cons;
	uint32_t landed; /* payload of entries before this one is in the buffers, without a poll */

	uint32_t armed SHM_ALIGNED;
	uint32_t events;  /* sent to the channel */
	uint32_t channel; /* pipe */
	uint32_t async;   /* pipe */
};

/* A flag beside enum ibv_access_flags: the region has no memory. */
#define SHM_MR_NULL (1u << 31)

/* A memory region, or a memory window (window.c), which has no lkey. */
struct shm_mr {
	uint32_t lkey; /* 0: a window, or an unused slot */
	uint32_t rkey;
	uint64_t addr;
	uint64_t length;
	uint64_t iova;
	uint32_t access;
	uint32_t pd;
	uint32_t qpn;   /* of a bound window of type 2, or 0 */
	uint32_t bound; /* rkey of a bound window; peers may invalidate it */
} SHM_ALIGNED;

/* Copy requests to the owner of the segment: see stage.c. */
struct shm_stage {
	uint32_t forbidden; /* peers may not use process_vm on this process */
	uint32_t watched;   /* nor may this process on others: memcheck.h */
	uint32_t ready;     /* jobs may be stored here */
	uint32_t asked;     /* a futex */
	uint32_t sleeping;  /* the owner's thread must be woken */
} SHM_ALIGNED;

enum { SHM_JOBS = 4, SHM_JOB_BYTES = 128 << 10 };
enum { SHM_JOB_IDLE, SHM_JOB_ASKED, SHM_JOB_SERVED, SHM_JOB_DONE };

struct shm_job {
	struct lock lock; /* of the requester */
	uint32_t state;   /* a futex */
	uint32_t waits;   /* the requester sleeps */
	uint32_t write;   /* to the owner's memory; else from it */
	int32_t result;   /* 0 or -errno */
	uint32_t count;
	struct iovec iov[SHM_SGE_MAX];
	uint8_t bytes[SHM_JOB_BYTES] __attribute__((aligned(4096)));
};

/* A process that has an XRC object open, and where its events are sent. */
struct shm_holder {
	uint64_t instance;
	uint32_t node;
	uint32_t serial; /* of its object; 0: unused */
	uint32_t index;  /* slot of the object in the process */
	uint32_t async;  /* pipe */
};

struct shm_xrcd {
	uint32_t id; /* 0: no domain in this slot */
	uint32_t generation;
	uint64_t dev, ino; /* of its file, or 0 */
	struct shm_holder holder[SHM_HOLDERS];
};

/* The lock of @qp protects everything except @modifying. */
struct shm_xrc_qp {
	struct shm_qp qp;
	uint32_t xrcd;
	struct lock modifying; /* held while @attr and the state are changed */
	struct ibv_qp_attr attr;
	struct shm_holder holder[SHM_HOLDERS];
	/* the process that takes its packets from other machines: network.c; 0: none */
	uint64_t taker;
	uint32_t taker_node;
} SHM_ALIGNED;

/*
 * The XRC objects that may outlive the process that created them: in the registry's file, changed
 * with its lock held.
 */
struct shm_xrc {
	uint32_t high_xrcd; /* entries from here on were never used */
	uint32_t high_qp;
	struct shm_xrcd xrcd[SHM_XRCD_MAX];
	struct shm_xrc_qp qp[SHM_XRC_QP_MAX];
};

enum {
	SHM_FLOW_MAX = 256,
	SHM_RSS_LOG_MAX = 7,
	SHM_RSS_MAX = 1 << SHM_RSS_LOG_MAX,
	SHM_RSS_KEY = 40,
};

/* Fields that can be hashed (enum ibv_rx_hash_fields). */
enum {
	SHM_RSS_FIELDS = IBV_RX_HASH_SRC_IPV4 | IBV_RX_HASH_DST_IPV4 | IBV_RX_HASH_SRC_IPV6 |
			 IBV_RX_HASH_DST_IPV6 | IBV_RX_HASH_SRC_PORT_TCP |
			 IBV_RX_HASH_DST_PORT_TCP | IBV_RX_HASH_SRC_PORT_UDP |
			 IBV_RX_HASH_DST_PORT_UDP,
};

/* A flow rule: selects packets that a queue pair receives. */
struct shm_flow {
	uint32_t qpn;      /* 0: an unused slot */
	uint32_t priority; /* 0 is the best */
	uint8_t type;      /* enum ibv_flow_attr_type */
	uint8_t layers;    /* required headers (packet.h) */
	bool passes_on;    /* other rules may match the packet, too */
	bool drop;
	uint32_t tag; /* for received packets, or 0 */
	struct packet val, mask;
	uint64_t packets, bytes; /* that it got */
	uint32_t spread;         /* number of targets to spread packets over, or 0 */
	uint64_t fields;         /* fields that are hashed for that (enum ibv_rx_hash_fields) */
	uint8_t key[SHM_RSS_KEY];
	uint32_t target[SHM_RSS_MAX]; /* queue pair numbers */
};

struct shm_seg {
	uint64_t magic;
	uint32_t version;
	uint32_t node;
	uint64_t instance;
	uint32_t gone;        /* its process has left the fabric normally */
	uint32_t ports_down;  /* by a fault: bits, from 1 */
	uint64_t mr_parts[2]; /* bits of the parts that have memory allocated */
	struct lock atomics SHM_ALIGNED;
	struct shm_stage stage;
	uint32_t payload_waits SHM_ALIGNED; /* a futex: counts calls for the thread of land.c */
	uint32_t payload_asked;             /* and calls that cannot wait */
	struct shm_qp qp[SHM_QP_MAX] SHM_ALIGNED;
	struct shm_cq cq[SHM_CQ_MAX];
	struct shm_srq srq[SHM_SRQ_MAX];
	struct shm_mr mr[1 << SHM_MR_BITS];
	struct shm_job job[SHM_JOBS];
	struct shm_comp_cntr comp_cntr[SHM_COMP_CNTR_MAX];
	struct lock flow_lock SHM_ALIGNED;
	uint32_t flows; /* further entries were never used */
	struct shm_flow flow[SHM_FLOW_MAX] SHM_ALIGNED;
	uint8_t heap[] __attribute__((aligned(4096)));
};

_Static_assert(SHM_MR_MAX + SHM_MW_MAX == 1 << SHM_MR_BITS, "one slot for each");
_Static_assert(sizeof(struct shm_cqe) == 128, "two lines an entry");
_Static_assert(offsetof(struct shm_cqe, data) == 56, "8 bytes in the first line");

enum { SHM_MR_PART = 1024 };

_Static_assert((1 << SHM_MR_BITS) / SHM_MR_PART == 128, "one bit for each");

/*
 * Does the table of regions have memory at @slot? Any key may be looked up, and reading a page
 * without memory would allocate it, or raise SIGBUS.
 */
static inline bool shm_has_mr(const struct shm_seg *seg, uint32_t slot)
{
	uint32_t part = slot / SHM_MR_PART;

	/* pairs with the store_release of key_reserve() */
	return __atomic_load_n(&seg->mr_parts[part / 64], __ATOMIC_ACQUIRE) >> part % 64 & 1;
}
