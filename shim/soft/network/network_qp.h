#pragma once
/*
 * A queue pair on the network: the state of the requester, which sends its requests, and of the
 * responder, which executes the other end's.
 *
 * The requester's part is protected by the lock of the send queue, the responder's by the lock of
 * the engine (engine.h).
 */
#include "shim/soft/transport/objects.h"
#include "shim/soft/wire/header.h"
#include "shim/soft/wire/psn.h"
#include "shim/soft/wire/route.h"

enum {
	NETWORK_RD_ATOMIC = 16,   /* outstanding reads and atomics, each way */
	NETWORK_WINDOW_MAX = 128, /* packets without an acknowledge */
	NETWORK_WINDOW_MIN = 4,
	NETWORK_MTU_MAX = 4096,
};

struct requester {
	uint32_t psn;     /* of the next new packet */
	uint32_t unacked; /* PSN of the oldest packet without an answer; @psn: none */
	uint32_t pos;     /* the next packet to be sent: position of its request */
	uint32_t at;      /* and PSN of that packet */
	uint32_t started; /* requests before this position have PSNs */
	uint32_t window;
	uint32_t *first;                      /* by slot: the request's first PSN */
	uint32_t *packets;                    /* by slot: its number of packets */
	uint32_t read_end[NETWORK_RD_ATOMIC]; /* last PSNs of outstanding reads and atomics */
	uint8_t reads, first_read;
	uint8_t tries, rnr_tries;
	bool ready;       /* requests may be sent */
	bool asked_again; /* packets were sent again since the last progress */
	uint64_t hold;    /* the receiver is not ready until then, ns */
};

/* A read that the responder must answer; reads are answered in order. */
struct network_read {
	struct soft_remote *end;
	uint32_t psn, left; /* next packet of the answer, and their number */
	uint64_t addr;
	uint32_t rkey, length;
	bool begun;
	bool empty; /* no read, but a flush or an atomic write, which was executed */
};

struct network_atomic {
	uint32_t psn;
	uint64_t original;
};

struct responder {
	uint32_t psn; /* expected */
	uint32_t msn; /* messages completed */
	uint8_t kind; /* of the arriving message: enum opcode_kind */
	bool arriving;
	struct soft_remote *end; /* to which it arrives */
	uint32_t received;       /* bytes of it */
	uint64_t addr;           /* of a write: of its next byte */
	uint32_t rkey, left;
	bool refused; /* a NAK was sent for the expected packet */
	bool owes_ack;
	uint8_t reads, first_read;
	uint32_t atomics; /* executed so far */
	struct network_read read[NETWORK_RD_ATOMIC];
	struct network_atomic atomic[NETWORK_RD_ATOMIC]; /* the last ones, as a ring */
};

/* A packet that has arrived, with checked ICRC and lengths. */
struct arrival {
	struct header header;
	struct in6_addr from, to;
	uint8_t *payload;
	uint32_t len;
	uint32_t packets; /* usually 1; more: arrival.h */
	ptrdiff_t stride; /* from the payload of one packet to that of the next */
	uint8_t traffic_class;
	uint8_t hop_limit;
};

struct network_qp {
	struct soft_wire wire; /* first */
	struct soft_qp *qp;
	uint32_t qpn;
	uint32_t mtu; /* bytes */
	struct route route;
	struct requester req;
	struct responder resp;
	struct soft_remote self; /* its own receiving end */
	struct soft_remote *end; /* @self; with XRC, that of the current packet's shared queue */
	uint64_t due;            /* when its timer expires, ns; 0: not set */
	struct arrival late;     /* an acknowledge that the send queue was too busy for */
	bool has_late;
	bool touched; /* in the list of those that owe answers */
	struct network_qp *next_touched;
	struct network_qp *next; /* with the same hash */
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
