#pragma once
/*
 * The objects of the connection manager: ids, events, and channels.
 *
 * Guarded by the connection manager's lock (cm.c).
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <infiniband/verbs.h>
#include <rdma/rdma_user_cm.h>

#include "shim/soft/cm/cm_wire.h"

struct cm_id;
struct cm_multicast;

struct cm_event {
	struct cm_event *next;
	struct cm_id *id; /* the id of the event, which counts its events */
	/* the group of the event, which also counts its events; or NULL */
	struct cm_multicast *multicast;
	struct cm_id *request; /* of a connection request: the new id */
	struct rdma_ucm_event_resp resp;
};

struct cm_channel {
	int fd; /* an epoll instance of @box, @timer and the watched processes */
	int box;
	int timer;
	uint32_t number; /* number of the mailbox */
	uint32_t epoch;
	uint64_t armed;   /* expiry of the timer, ns; 0: disarmed */
	pthread_t reader; /* the thread that retrieved an event and has not called again */
	bool reading;     /* @reader is valid */
	struct cm_id *ids;
	struct cm_event *first, **last;
	struct cm_watch *watches;
};

/*
 * In this order: an id has an address in CM_BOUND and later states, a connection in CM_REQ_SENT and
 * later ones.
 */
enum cm_state {
	CM_IDLE,
	CM_BOUND,
	CM_ADDR_RESOLVED,
	CM_ROUTE_RESOLVED,
	CM_LISTENING,
	CM_REQ_SENT,
	CM_REQ_RCVD,
	CM_REP_SENT,
	CM_REP_RCVD,
	CM_ESTABLISHED,
	CM_DREQ_SENT,
	CM_DREQ_RCVD,
	CM_TIMEWAIT,
	CM_SIDR_REQ_SENT,
	CM_SIDR_REQ_RCVD,
	CM_CLOSED,
};

struct cm_multicast {
	struct cm_multicast *next;
	uint32_t handle;
	uint32_t events; /* number of events delivered to the program */
	uint64_t uid;
};

struct cm_id {
	struct cm_id *next; /* next id of the channel */
	struct cm_channel *channel;
	uint32_t handle; /* small number, reused */
	uint32_t serial; /* in names and messages */
	uint64_t uid;    /* the program's number for the id; 0: not known yet */
	uint32_t events; /* number of events delivered to the program */
	uint16_t ps;
	uint8_t qp_type;
	bool device; /* bound to the device */
	bool has_port;
	uint32_t port; /* its slot in the table of ports (cm_port.h) */
	enum cm_state state;
	struct cm_addr src, dst;

	bool reuse;
	bool afonly, afonly_set;
	uint8_t tos;
	uint8_t ack_timeout; /* 0: the timeout of the path */

	struct cm_name peer;
	bool watching;     /* the peer's process is watched */
	uint64_t deadline; /* time limit of the state, ns; 0: none */
	uint64_t resend;   /* time to send @unsent again, ns; 0: nothing to send */
	uint64_t pause;    /* time between two sends of @unsent to another machine, ns */
	uint64_t held;     /* time until which a request is delayed, ns; 0: it was sent */
	bool destroyed;    /* exists only until @unsent is sent */
	struct cm_msg unsent;

	uint64_t tid; /* of the last request from another machine */
	uint32_t qkey;
	uint32_t remote_qpn;
	uint32_t sq_psn, rq_psn;
	uint8_t responder_resources;
	uint8_t initiator_depth;
	uint8_t retry_count;
	uint8_t rnr_retry_count;
	uint8_t mtu; /* enum ibv_mtu of the path, as in the peer's request; 0: the port's */
	struct rdma_ucm_ece ece; /* ECE of the peer */
	struct cm_multicast *multicast;
};

/* The next time limit of an id, ns; 0: none. */
static inline uint64_t cm_id_due(const struct cm_id *id)
{
	if (!id->resend || (id->deadline && id->deadline < id->resend))
		return id->deadline;
	return id->resend;
}
