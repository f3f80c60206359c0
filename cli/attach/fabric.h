#pragma once
/*
 * The objects of a process on the software device, read from its shared memory.
 *
 * The memory is read without a lock, and without the process noticing, so values may be of
 * different moments. Any value may have been written by another user's program, so each is checked
 * or bounded. Not thread-safe.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct target;

/* A receive queue. */
struct fabric_rq {
	uint32_t posted, size;
};

/* The other end of a connected queue pair. */
struct fabric_peer {
	bool known; /* its number is in the registry */
	pid_t pid;
	bool ended; /* the other process does not exist any more */
	bool seen;  /* its queue pair could be read; the rest is valid then */
	uint32_t state;
	uint32_t dest_qpn;
	bool shared; /* its requests come from a shared receive queue */
	struct fabric_rq rq;
	uint32_t completions; /* completions in the CQ of its receive queue that were not polled */
};

struct fabric_qp {
	uint32_t qpn, state, type, dest_qpn, pd;
	uint32_t recv_cq; /* index of a struct fabric_cq */
	bool shared;      /* receives come from a shared receive queue */
	struct fabric_rq rq;
	struct fabric_peer peer;
};

struct fabric_cq {
	uint32_t slot;
	uint32_t size;    /* cqe */
	uint32_t waiting; /* completions that were not polled */
	uint32_t armed;   /* 0: not armed, 1: for solicited completions, 2: for any */
	uint32_t events;  /* events that were sent to its channel */
	bool channel;
	bool overrun;
};

struct fabric_mr {
	uint32_t lkey, rkey, access, pd;
	uint64_t addr, length;
};

struct fabric_srq {
	uint32_t slot;
	struct fabric_rq rq;
};

struct fabric {
	bool joined;    /* the process takes part in a fabric */
	char path[512]; /* of its segment, as the process itself sees the file system */
	char why[256];  /* why it cannot be read; "": it was read */
	uint64_t instance;
	uint32_t node;
	uint64_t mapped_at; /* the segment in the process */
	struct fabric_qp *qps;
	size_t nqps;
	struct fabric_cq *cqs;
	size_t ncqs;
	struct fabric_srq *srqs;
	size_t nsrqs;
	struct fabric_mr *mrs;
	size_t nmrs;
};

/*
 * Read the fabric of @process. 0, also if the process does not use it or it cannot be read
 * (ret_fabric->why); or -ENOMEM.
 */
int fabric_read(const struct target *process, struct fabric *ret_fabric);
void fabric_fini(struct fabric *fabric);

/* NULL if there is none. */
const struct fabric_qp *fabric_qp_find(const struct fabric *fabric, uint32_t qpn);
const struct fabric_cq *fabric_cq_find(const struct fabric *fabric, uint32_t slot);

/* Bytes of all regions, in whole pages, as the software device counts them. */
uint64_t fabric_pinned(const struct fabric *fabric);
