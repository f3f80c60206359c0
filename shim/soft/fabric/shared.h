#pragma once
/*
 * The layout of shared memory: the segment that each process offers its peers.
 *
 * A segment belongs to one process (a node of the fabric). Its owner creates and destroys the
 * objects in it. A peer that executes an operation takes receive requests, writes completions and
 * changes queue pair states, always under the lock of the object. What a peer reads from a segment
 * is untrusted: offsets and sizes are checked once, when a queue pair is resolved (remote.c), and
 * positions are masked with the checked size.
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
	SHM_VERSION = 9, /* incremented with each change of the shared structures */
	SHM_QP_MAX = 16384,
	SHM_CQ_MAX = 16384,
	SHM_SRQ_MAX = 4096,
	SHM_XRCD_MAX = 1024,
	SHM_XRC_QP_MAX = 4096,
	SHM_COMP_CNTR_MAX = 255, /* an id is a byte, counted from 1 */
	SHM_HOLDERS = 256,       /* holders of one XRC domain or queue pair */
	SHM_MR_BITS = 17,
	SHM_MR_MAX = 96 << 10, /* slots of regions; after these */
	SHM_MW_MAX = 32 << 10, /* slots of windows */
	/* bits of the generation in a key; bit 0 of a key: it is an rkey */
	SHM_KEY_BITS = 32 - SHM_MR_BITS,
	SHM_SGE_MAX = 32,
	SHM_TAG_MAX = 1024, /* tagged buffers of a shared receive queue */
	SHM_TAG_SGE = 4,    /* SGEs of a tagged buffer */
	SHM_TAG_RNDV = 64,  /* bytes of the longest request of a rendezvous */
	SHM_WR_MAX = 32768,
	SHM_RQ_APART = 8, /* free slots between tail and head of a full queue */
	SHM_CQE_MAX = 1 << 22,
	SHM_BOUNCE = 256 << 10,
	SHM_BOUNCE_MSG = 8 << 10, /* longer messages are copied directly */
};

#define SHM_MAGIC 0x31746f5366726556ull /* "VerfSot1" */
#define SHM_SIZE  (8ull << 30)          /* sparse file, bytes */

/* Prefetch the cache line at @p for writing, since other processors have read it. */
static inline void shm_expect_write(const void *p)
{
#if defined(__x86_64__)
	/* on some x86-64 targets the compiler's builtin does not use this instruction */
	__asm__ volatile("prefetchw %0" : : "m"(*(const char *)p));
#else
	__builtin_prefetch(p, 1);
#endif
}

/* A receive request. The next one is shm_rq.stride bytes after it. */
struct shm_wqe {
	uint64_t wr_id;
	uint32_t num_sge;
	uint32_t length; /* sum of the lengths of the SGEs, limited to UINT32_MAX */
	struct ibv_sge sge[];
};

/*
 * A receive queue, of a queue pair or shared. The lock protects @taken. The owner posts at @prod. A
 * shared queue completes out of order, so the list at @order_off has the slots of its requests.
 */
struct shm_rq {
	struct lock lock;
	uint32_t taken;
	uint32_t size; /* a power of two */
	uint32_t stride;
	uint32_t max_sge;
	uint32_t limit; /* limit of a shared queue, while it is armed; else 0 */
	uint32_t rings; /* how many rings the queue has had */
	uint64_t wqe_off;
	uint64_t order_off; /* offset of uint32_t[size]; 0: the slot is the position */

	uint64_t doing; /* the request that is being taken: see deliver.c */
	uint32_t doing_cq;

	uint32_t prod SHM_ALIGNED;
};

/*
 * The operations that a completion counter may count, as bits of enum ibv_qp_attach_comp_cntr_op.
 */
enum shm_counter_bit {
	SHM_COUNT_SEND,
	SHM_COUNT_RECV,
	SHM_COUNT_READ,
	SHM_COUNT_REMOTE_READ,
	SHM_COUNT_WRITE,
	SHM_COUNT_REMOTE_WRITE,
	SHM_COUNTED,
};

/*
 * A queue pair has no lock of its own: the lock of its receive queue protects it. That lock is in
 * another cache line, because a delivering peer writes to that line, and the owner reads the state
 * when it posts.
 */
struct shm_qp {
	uint32_t qpn;   /* 0: no queue pair in this slot */
	uint32_t state; /* enum ibv_qp_state */
	uint32_t dest_qpn;
	uint32_t access;
	uint32_t pd;
	uint32_t recv_cq;
	uint32_t srq;    /* index of its SRQ + 1; or 0 */
	uint32_t async;  /* pipe for the events of its context */
	uint32_t serial; /* serial number of the object, for events */
	uint32_t resets; /* number of resets: if it changes, peers look the queue pair up again */
	uint32_t qkey;
	uint8_t max_dest_rd;
	uint8_t min_rnr_timer;
	uint8_t established; /* COMM_EST was sent, or need not be sent any more */
	uint8_t port;
	uint8_t type;       /* enum ibv_qp_type */
	uint8_t mig_state;  /* enum ibv_mig_state */
	uint8_t migrations; /* number of path migrations that peers requested */
	uint16_t pkey;      /* partition key, see port.h */
	uint8_t counted;    /* bits of enum shm_counter_bit: operations that have a counter */
	uint8_t counter[SHM_COUNTED]; /* by operation: slot of its counter + 1, or 0 */
	uint32_t claimed;             /* slot + 1 of a request whose message is arriving, or 0 */

	struct shm_rq rq SHM_ALIGNED;
};

/* A completion counter: transport/count.c. */
struct shm_comp_cntr {
	uint64_t done; /* count of requests, or of bytes */
	uint64_t errors;
	uint32_t bytes;
	uint32_t used;
};

struct shm_srq {
	uint32_t serial; /* 0: no counter in this slot */
	uint32_t pd;
	uint32_t async;
	uint32_t srqn;  /* number of an XRC SRQ; else 0 */
	uint32_t xrcd;  /* XRC domain of an XRC SRQ */
	uint32_t cq;    /* completion queue of an XRC SRQ */
	uint32_t error; /* SRQ_ERR was sent: the SRQ accepts no more requests */
	uint32_t tags;  /* maximum number of tagged buffers; 0: no tag matching */
	uint64_t tm_off;
	struct shm_rq rq SHM_ALIGNED;
};

enum shm_tag_state {
	SHM_TAG_FREE,
	SHM_TAG_POSTED,  /* may match after the next synchronization */
	SHM_TAG_ENABLED, /* may match */
	SHM_TAG_MATCHED, /* the tag is matched; its completion is not polled yet */
};

/* A tagged buffer. */
struct shm_tag {
	uint64_t tag;
	uint64_t mask;
	uint64_t wr_id;
	uint32_t handle;
	uint32_t state; /* enum shm_tag_state */
	uint32_t num_sge;
	uint32_t length; /* sum of the lengths of its SGEs */
	struct ibv_sge sge[SHM_TAG_SGE];
};

/* The tag matching list of a shared receive queue, whose lock protects it: transport/tag.c. */
struct shm_tm {
	uint32_t count;
	uint32_t unexpected; /* number of messages without a match */
	uint32_t synced;     /* how many of these the program has acknowledged (IBV_OPS_TM_SYNC) */
	uint32_t doing_cq;
	uint64_t doing;              /* the match in progress, or 0; used like shm_rq.doing */
	uint32_t order[SHM_TAG_MAX]; /* slots of the list, oldest first */
	struct shm_tag tag[];
};

/*
 * Where a completion's payload is: it is copied into the buffers by the poll, or before it
 * (land.c).
 */
enum {
	SHM_LANDED,  /* the payload is in the buffers; or there is none */
	SHM_INLINE,  /* in the entry of the CQ */
	SHM_BOUNCED, /* in the bounce ring of the CQ */
};

enum {
	SHM_CQE_DEAD = 1,      /* the entry was purged, and will be overwritten */
	SHM_CQE_RECV = 2,      /* the entry retires a receive request; else a send request */
	SHM_CQE_SRQ = 4,       /* of a shared receive queue */
	SHM_CQE_LANDED = 8,    /* the payload was copied into the buffers before the poll */
	SHM_CQE_DATAGRAM = 16, /* the payload begins with space for a GRH */
	SHM_CQE_TAGGED = 32,   /* imm is the tag of a flow rule */
	SHM_CQE_MATCHING = 64, /* of a tag matching list: data has a struct ibv_wc_tm_info */
};

enum { SHM_CQE_INLINE = 72 };

struct shm_cqe {
	uint32_t seq; /* position + 1, when the entry is valid */
	uint8_t status;
	uint8_t opcode;
	uint8_t wc_flags;
	uint8_t flags;
	uint64_t wr_id;
	uint32_t byte_len;
	uint32_t imm;
	uint32_t qpn;
	uint32_t src_qp : 24, sl : 8;
	uint32_t retire; /* position of a send or list operation; slot of a receive or tag */
	uint16_t qp;     /* index of the queue pair; the index of the SRQ is in @srq */
	uint16_t srq;
	uint8_t where;
	uint8_t vendor_err;
	uint16_t slid;
	uint32_t bounce; /* offset of the payload in the bounce ring */
	uint64_t stamp;  /* ns, if requested */
	uint8_t data[SHM_CQE_INLINE];
} SHM_ALIGNED;

enum {
	SHM_CQ_EVENTS = 1, /* the CQ has a completion channel */
	SHM_CQ_STAMPS = 2,
	SHM_CQ_LOSSY = 4,  /* a completion that does not fit is dropped */
	SHM_CQ_ASLEEP = 8, /* no thread checks for payload in flight: wake the owner */
	SHM_CQ_GROWS = 16, /* memory is not allocated for all entries */
};

enum { SHM_ARM_NONE, SHM_ARM_SOLICITED, SHM_ARM_ANY };

struct shm_cq {
	struct lock lock; /* taken to add entries, but not to poll */
	uint32_t prod;
	uint32_t cqe; /* number of entries; one more overruns the queue */
	/* value of @cons when it was read last: reading it again would access its cache line */
	uint32_t cons_seen;
	uint32_t flags;
	uint16_t overrun;
	uint16_t written; /* senders write payload directly to memory, not into the queue */
	uint32_t rings;   /* how many rings the queue has had */
	uint32_t size;    /* slots, a power of two */
	uint64_t ring_off;
	uint64_t bounce_off;
	uint32_t bounce_prod; /* bytes put into the bounce ring so far */
	uint32_t bounce_seen;
	uint32_t bounce_ready; /* bytes of the bounce ring that have memory */
	uint32_t serial;       /* serial number of the object, for events */
	/* with SHM_CQ_GROWS: first position whose memory is allocated */
	uint32_t ready_from;
	uint32_t ready; /* position after the last one whose memory is allocated */

	uint32_t cons SHM_ALIGNED;
	uint32_t bounce_cons;
	/* the payload of entries before this position is in the buffers, without a poll */
	uint32_t landed;

	uint32_t armed SHM_ALIGNED;
	uint32_t events;  /* number of events sent to the channel */
	uint32_t channel; /* pipe of the completion channel */
	uint32_t async;   /* pipe for asynchronous events */
};

/* A flag in addition to enum ibv_access_flags: the region has no memory. */
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
	uint32_t qpn;   /* of a bound window of type 2: number of its queue pair; else 0 */
	uint32_t bound; /* rkey of a bound window; peers may invalidate it */
} SHM_ALIGNED;

/* Copy requests to the owner of the segment: see stage.c. */
struct shm_stage {
	uint32_t forbidden; /* peers may not use process_vm calls on this process */
	uint32_t watched;   /* this process may not use process_vm calls on others: memcheck.h */
	uint32_t ready;     /* peers may store jobs */
	uint32_t asked;     /* a futex: a copy is requested */
	uint32_t sleeping;  /* the owner's thread sleeps, and must be woken */
} SHM_ALIGNED;

enum { SHM_JOBS = 4, SHM_JOB_BYTES = 128 << 10 };
enum { SHM_JOB_IDLE, SHM_JOB_ASKED, SHM_JOB_SERVED, SHM_JOB_DONE };

struct shm_job {
	struct lock lock; /* held by the requester */
	uint32_t state;   /* SHM_JOB_IDLE ... SHM_JOB_DONE; a futex */
	uint32_t waits;   /* the requester sleeps on @state */
	uint32_t write;   /* the job copies to the owner's memory; else from it */
	int32_t result;   /* 0 or -errno */
	uint32_t count;
	struct iovec iov[SHM_SGE_MAX];
	uint8_t bytes[SHM_JOB_BYTES] __attribute__((aligned(4096)));
};

/* A process that has an XRC object open, and the pipe for its events. */
struct shm_holder {
	uint64_t instance;
	uint32_t node;
	uint32_t serial; /* serial of the object in that process; 0: unused */
	uint32_t index;  /* slot of the object in that process */
	uint32_t async;  /* pipe for its events */
};

struct shm_xrcd {
	uint32_t id; /* 0: no domain in this slot */
	uint32_t generation;
	uint64_t dev, ino; /* device and inode of its file; or 0 */
	struct shm_holder holder[SHM_HOLDERS];
};

/* The lock of @qp protects everything except @modifying. */
struct shm_xrc_qp {
	struct shm_qp qp;
	uint32_t xrcd;
	struct lock modifying; /* held while the state and ibv_qp_attr are changed */
	struct ibv_qp_attr attr;
	struct shm_holder holder[SHM_HOLDERS];
	/* the process that takes the packets from other machines for it: network.c; 0: none */
	uint64_t taker;
	uint32_t taker_node;
} SHM_ALIGNED;

/*
 * The XRC objects, which may outlive the process that created them. They are in the registry's
 * file, whose lock is held while they are changed.
 */
struct shm_xrc {
	uint32_t high_xrcd; /* entries from these indexes on were never used */
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

/* The fields that can be hashed (enum ibv_rx_hash_fields). */
enum {
	SHM_RSS_FIELDS = IBV_RX_HASH_SRC_IPV4 | IBV_RX_HASH_DST_IPV4 | IBV_RX_HASH_SRC_IPV6 |
			 IBV_RX_HASH_DST_IPV6 | IBV_RX_HASH_SRC_PORT_TCP |
			 IBV_RX_HASH_DST_PORT_TCP | IBV_RX_HASH_SRC_PORT_UDP |
			 IBV_RX_HASH_DST_PORT_UDP,
};

/* A flow rule: selects packets that a queue pair receives. */
struct shm_flow {
	uint32_t qpn;      /* 0: an unused slot */
	uint32_t priority; /* the lowest number is the highest priority */
	uint8_t type;      /* enum ibv_flow_attr_type */
	uint8_t layers;    /* headers that the packet must have (packet.h) */
	bool passes_on;    /* other rules may match the same packet */
	bool drop;
	uint32_t tag; /* tag for received packets; or 0 */
	struct packet val, mask;
	uint64_t packets, bytes; /* number of packets and bytes that matched */
	uint32_t spread;         /* number of targets over which packets are distributed; or 0 */
	/* fields that are hashed to choose a target (enum ibv_rx_hash_fields) */
	uint64_t fields;
	uint8_t key[SHM_RSS_KEY];
	uint32_t target[SHM_RSS_MAX]; /* numbers of the target queue pairs */
};

struct shm_seg {
	uint64_t magic;
	uint32_t version;
	uint32_t node;
	uint64_t instance;
	uint32_t gone;        /* the process has left the fabric normally */
	uint32_t ports_down;  /* ports that a fault has taken down: bits, from 1 */
	uint64_t mr_parts[2]; /* bits of the parts of the table of regions that have memory */
	uint64_t active[SHM_QP_MAX / 64]; /* bits of the locks of @qp: lock.h */
	struct lock atomics SHM_ALIGNED;
	struct shm_stage stage;
	uint32_t payload_waits SHM_ALIGNED; /* a futex: counts wake-ups of the thread of land.c */
	uint32_t payload_asked;             /* counts requests of senders to copy payload at once */
	struct shm_qp qp[SHM_QP_MAX] SHM_ALIGNED;
	struct shm_cq cq[SHM_CQ_MAX];
	struct shm_srq srq[SHM_SRQ_MAX];
	struct shm_mr mr[1 << SHM_MR_BITS];
	struct shm_job job[SHM_JOBS];
	struct shm_comp_cntr comp_cntr[SHM_COMP_CNTR_MAX];
	struct lock flow_lock SHM_ALIGNED;
	uint32_t flows; /* number of entries used so far */
	struct shm_flow flow[SHM_FLOW_MAX] SHM_ALIGNED;
	uint8_t heap[] __attribute__((aligned(4096)));
};

_Static_assert(SHM_MR_MAX + SHM_MW_MAX == 1 << SHM_MR_BITS, "one slot for each");
_Static_assert(sizeof(struct shm_cqe) == 128, "two lines an entry");
_Static_assert(offsetof(struct shm_cqe, data) == 56, "8 bytes in the first line");

enum { SHM_MR_PART = 1024 };

_Static_assert((1 << SHM_MR_BITS) / SHM_MR_PART == 128, "one bit for each");

/*
 * Is memory allocated for @slot of the table of regions? A peer may look up any key, and reading a
 * page without memory would allocate it, or raise SIGBUS.
 */
static inline bool shm_has_mr(const struct shm_seg *seg, uint32_t slot)
{
	uint32_t part = slot / SHM_MR_PART;

	/* pairs with the store_release of key_reserve() */
	return __atomic_load_n(&seg->mr_parts[part / 64], __ATOMIC_ACQUIRE) >> part % 64 & 1;
}
