#pragma once
/*
 * The objects of verbs.h in the memory of a process, as records. handles.c finds them.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <infiniband/verbs.h>

enum { HANDLES_NAME = IBV_SYSFS_NAME_MAX, HANDLES_MAX = 1 << 16 };

struct handle_context {
	uint64_t at;
	char name[HANDLES_NAME], dev_name[HANDLES_NAME]; /* printable */
	int cmd_fd, async_fd, vectors;
};

/* A send queue of the software device, as found in the program's memory. */
struct handle_sq {
	bool known;
	uint32_t outstanding, depth; /* posted and not retired */
	/* of the outstanding requests: executed, but their completions were not polled */
	uint32_t executed;
	uint32_t signalled; /* of the outstanding requests: those that will have a completion */
	unsigned int wait;  /* enum handle_wait */
	unsigned int rnr_tries, tries;
};

/* Why the first request that is not executed waits. */
enum handle_wait {
	HANDLE_RUNS,
	HANDLE_WAITS_RECEIVER,
	HANDLE_WAITS_PEER,
	HANDLE_WAITS_COPY,
	HANDLE_WAITS_FAULT,
	HANDLE_WAITS_STATE,
	HANDLE_WAITS,
};

/* The queues of a queue pair of rxe: outstanding requests and receives, and their maximum. */
struct handle_rings {
	bool known;
	bool needs_receive;                                  /* the first request does */
	uint32_t sends, sends_most, receives, receives_most; /* no receives if it has an SRQ */
};

struct handle_qp {
	uint64_t at, context, pd, send_cq, recv_cq, srq;
	uint32_t qpn, state, type, events_completed;
	bool gone; /* the device does not have the number any more: this is freed memory */
	struct handle_sq sq;
	struct handle_rings rings;
};

struct handle_cq {
	uint64_t at, context, channel;
	int cqe, fd;           /* -1: no channel */
	uint32_t events_acked; /* completion events, with ibv_ack_cq_events() */
	uint32_t events_got;   /* events retrieved, as the software device counts them */
	int64_t slot;          /* of the fabric's CQ; -1: not known */
	bool counted;          /* on rxe: @waiting is known */
	uint32_t waiting;      /* completions that were not polled */
};

struct handle_mr {
	uint64_t at, context, addr, length;
	uint32_t lkey, rkey;
};

struct handles {
	struct handle_context *contexts;
	size_t ncontexts;
	struct handle_qp *qps;
	size_t nqps;
	struct handle_cq *cqs;
	size_t ncqs;
	struct handle_mr *mrs;
	size_t nmrs;
	uint64_t searched, skipped; /* bytes */
};
