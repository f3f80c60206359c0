#pragma once
/*
 * Workers that send traffic. For load_run.c, load_setup.c and load_send.c.
 *
 * A worker has the senders of its ranks and the receivers of its ranks. What it publishes for other
 * workers is on the board, in memory that processes share; everything else is private.
 */
#include <infiniband/verbs.h>
#include <stdatomic.h>

#include "core/model/operation.h"
#include "replay/device/devices.h"
#include "replay/load/load.h"
#include "replay/load/load_options.h"

enum { LOAD_PSN = 1, LOAD_QKEY = 0x11111111 };

#define LOAD_NONE UINT32_MAX

/* A sender: an edge and its track. */
struct load_flow {
	const struct load_class *class;
	const struct load_track *track;
	struct load_edge edge;
	uint32_t link;     /* index, */
	unsigned int side; /* which of the link's two ends sends */
};

/* Two queue pairs, connected. Flows of both directions may share them. */
struct load_link {
	uint32_t rank[2];
	uint32_t flow[2]; /* sent by that end; LOAD_NONE: none */
	enum load_transport transport;
};

/* The data that one end publishes for the other ends. */
struct load_notice {
	uint64_t address; /* where the other end may write */
	uint32_t rkey, number;
};

enum load_phase { PHASE_MADE, PHASE_CONNECTED, PHASE_TIMED, PHASE_SENT, PHASE_ENDED, PHASES };

struct load_shared {
	atomic_uint reached[PHASES]; /* by phase: number of workers that have reached it */
	atomic_uint opened;          /* processes that have opened their device */
	atomic_int err;              /* -errno of the first failure */
	atomic_bool stop, late;
	atomic_llong go;              /* clock of time 0, ns */
	struct load_result *results;  /* one for each worker */
	struct load_notice notices[]; /* two for each link */
};

struct load_plan {
	const struct load *load;
	const struct load_options *options;
	struct load_flow *flows;
	size_t nflows;
	struct load_link *links;
	size_t nlinks;
	uint32_t nworkers;
	int64_t deadline; /* monotonic, ns; 0: none */
	struct load_shared *board;
	size_t board_bytes;
};

/* An end of a link that the worker has. */
struct load_end {
	uint32_t link;
	unsigned int side;
	struct ibv_qp *qp;
	struct ibv_ah *ah;
	uint32_t depth, receives; /* requests and receives that its queues hold */
	uint32_t landing;         /* bytes of a receive */
};

/* The state of a sender of the worker. */
struct load_sender {
	uint32_t flow, end; /* indices */
	int64_t due;        /* of the next request, ns */
	double exact;       /* the time of the next request, without rounding */
	size_t at;          /* index of the next request in the track */
	uint64_t sent, completed;
	uint32_t unsignaled;
	bool blocked; /* it is not in the heap: its queue is full, and the next request is due */
	bool full;    /* the next request was due while it was blocked */
};

struct load_worker {
	const struct load_plan *plan;
	uint32_t index;
	struct devices *devices;
	const struct device *device;
	uint8_t port;
	struct ibv_pd *pd;
	struct ibv_mr *mr;
	void *memory; /* the first half is sent, the second received */
	size_t half;
	struct ibv_cq **cqs;
	size_t ncqs;
	struct load_end *ends;
	size_t nends;
	struct load_sender *senders;
	size_t nsenders;
	uint32_t *heap; /* senders that have requests left and are not blocked, by due */
	size_t nheap;
	struct load_result result;
};

static inline uint32_t load_owner(const struct load_plan *plan, uint32_t rank)
{
	return plan->nworkers == 1 ? 0 : rank;
}

static inline struct load_notice *load_notice(const struct load_plan *plan, uint32_t link,
					      unsigned int side)
{
	return &plan->board->notices[2 * (size_t)link + side];
}

static inline bool load_is_message(int opcode)
{
	return operation_takes_receive(opcode);
}

/* Open the device of a worker. 0 or -errno after log_err(), also of the next two. */
int load_open(struct load_worker *worker);

/* Create the worker's objects, and write its notices. */
int load_setup(struct load_worker *worker);

/* Connect the worker's queue pairs, and post all receives. */
int load_connect(struct load_worker *worker);

/* Post a receive at @end. 0 or -errno. */
int load_post_receive(struct load_worker *worker, uint32_t end);

/* Also for a worker whose setup failed halfway. */
void load_fini_worker(struct load_worker *worker);
