#pragma once
/*
 * A queue pair on the network: the state of the requester, which sends its requests, and of the
 * responder, which executes the peer's requests.
 *
 * The requester's part is protected by the lock of the send queue, the responder's by the lock of
 * the engine (engine.h).
 */
#include "shim/soft/transport/objects.h"
#include "shim/soft/wire/header.h"
#include "shim/soft/wire/psn.h"
#include "shim/soft/wire/route.h"

enum {
	NETWORK_RD_ATOMIC = 16,   /* maximum outstanding reads and atomics in each direction */
	NETWORK_WINDOW_MAX = 128, /* maximum packets without an acknowledge */
	NETWORK_WINDOW_MIN = 4,
	NETWORK_MTU_MAX = 4096,
};

struct requester {
	uint32_t psn;     /* PSN of the next new packet */
	uint32_t unacked; /* PSN of the oldest packet without an answer; if it equals @psn: none */
	uint32_t pos;     /* the next packet to be sent: position of its request, */
	uint32_t at;      /* PSN of that packet */
	uint32_t started; /* requests before this position have PSNs */
	uint32_t window;
	uint32_t *first;                      /* by slot: the request's first PSN */
	uint32_t *packets;                    /* by slot: its number of packets */
	uint32_t read_end[NETWORK_RD_ATOMIC]; /* last PSN of each outstanding read and atomic */
	uint8_t reads, first_read;
	uint32_t tries, rnr_tries;
	uint32_t late;    /* timers in a row that were noticed late */
	bool ready;       /* the queue pair may send requests */
	bool asked_again; /* packets were sent again, and no progress was made since then */
	uint64_t hold;    /* the receiver is not ready before this time, ns */
};

/* A read that the responder must answer; reads are answered in order. */
struct network_read {
	struct soft_remote *end;
	uint32_t psn, left; /* PSN of the next packet of the answer; number of packets left */
	uint64_t addr;
	uint32_t rkey, length;
	bool begun;
	bool empty; /* not a read: the answer to an executed flush or atomic write */
};

struct network_atomic {
	uint32_t psn;
	uint64_t original;
};

struct responder {
	uint32_t psn; /* expected PSN */
	uint32_t msn; /* number of completed messages */
	uint8_t kind; /* enum opcode_kind of the message that is arriving */
	bool arriving;
	struct soft_remote *end; /* the end at which the message arrives */
	uint32_t received;       /* bytes of the message received so far */
	uint64_t addr;           /* of a write: address of its next byte */
	uint32_t rkey, left;
	bool refused; /* a NAK for the expected packet was sent */
	bool owes_ack;
	uint8_t reads, first_read;
	uint32_t atomics; /* number of atomics executed so far */
	struct network_read read[NETWORK_RD_ATOMIC];
	struct network_atomic atomic[NETWORK_RD_ATOMIC]; /* the last ones, in a ring */
};

/* A packet that has arrived; its ICRC and lengths were checked. */
struct arrival {
	struct header header;
	struct in6_addr from, to;
	uint8_t *payload;
	uint32_t len;
	uint32_t packets; /* usually 1; more if joined (arrival.h) */
	ptrdiff_t stride; /* from the payload of one packet to that of the next */
	uint8_t traffic_class;
	uint8_t hop_limit;
};

struct network_qp {
	struct soft_wire wire; /* must be the first member */
	struct soft_qp *qp;
	uint32_t qpn;
	uint32_t mtu; /* bytes */
	struct route route;
	struct requester req;
	struct responder resp;
	struct soft_remote self; /* its own receiving end */
	/* the current receiving end: self; with XRC, the shared queue of the current packet */
	struct soft_remote *end;
	uint64_t due;        /* when the timer expires, ns; 0: not set */
	struct arrival late; /* an acknowledge that waits since the send queue was busy */
	bool has_late;
	bool touched; /* in the list of queue pairs that owe answers */
	struct network_qp *next_touched;
	struct network_qp *next; /* next queue pair with the same hash */
};

static inline struct network_qp *network_qp_of(const struct soft_qp *qp)
{
	return (struct network_qp *)qp->wire;
}

static inline uint8_t network_transport(const struct soft_qp *qp)
{
	switch (qp->shm->type) {
	case IBV_QPT_UC:
		return OPCODE_UC;
	case IBV_QPT_UD:
		return OPCODE_UD;
	case IBV_QPT_XRC_SEND:
	case IBV_QPT_XRC_RECV:
		return OPCODE_XRC;
	default:
		return OPCODE_RC;
	}
}
