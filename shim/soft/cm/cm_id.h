#pragma once
/*
 * Communication identifiers: what rdma_cm_id is to a program.
 *
 * Callers hold the connection manager's lock (cm.c).
 */
#include <stdbool.h>
#include <stdint.h>
#include <infiniband/verbs.h>

#include "shim/soft/cm/cm_channel.h"

/*
 * In order: an id has an address from CM_BOUND on, and takes part in a
 * connection from CM_REQ_SENT on.
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
	struct cm_multicast	*next;
	uint32_t		handle;
	uint32_t		events;		/* handed to the program */
	uint64_t		uid;
};

struct cm_id {
	struct cm_id		*next;		/* of the channel */
	struct cm_channel	*channel;
	uint32_t		handle;		/* small, used again */
	uint32_t		serial;		/* in names and messages */
	uint64_t		uid;		/* the program's; 0: not yet known */
	uint32_t		events;		/* handed to the program */
	uint16_t		ps;
	uint8_t			qp_type;
	bool			device;		/* it is bound to our device */
	bool			has_port;
	uint32_t		port;		/* its slot (cm_port.h) */
	enum cm_state		state;
	struct cm_addr		src, dst;

	bool			reuse;
	bool			afonly, afonly_set;
	uint8_t			tos;
	uint8_t			ack_timeout;	/* or 0: of the path */

	struct cm_name		peer;
	bool			watching;	/* the peer's process */
	uint64_t		deadline;	/* of the state, ns; 0: none */
	uint64_t		resend;		/* @unsent, ns; 0: nothing */
	uint64_t		held;		/* a request, until then; 0: it has gone */
	bool			destroyed;	/* only @unsent is left of it */
	struct cm_msg		unsent;

	uint32_t		qkey;
	uint32_t		remote_qpn;
	uint32_t		sq_psn, rq_psn;
	uint8_t			responder_resources;
	uint8_t			initiator_depth;
	uint8_t			retry_count;
	uint8_t			rnr_retry_count;
	struct rdma_ucm_ece	ece;		/* the peer's */
	struct cm_multicast	*multicast;
};

/* A new id in @channel. 0 or -errno. */
int cm_id_new(struct cm_channel *channel, uint16_t ps, uint8_t qp_type,
	      struct cm_id **ret_id);
/* Ends its connection, drops its events and the requests among them. */
void cm_id_destroy(struct cm_id *id);

/* What is left of one in its channel's list, with a message unsent or not. */
void cm_id_free(struct cm_id *id);

/* -ENOENT, or -EINVAL if it belongs to another channel. */
int cm_id_get(struct cm_channel *channel, uint32_t handle, struct cm_id **ret_id);
struct cm_id *cm_id_by_serial(uint32_t serial);
struct cm_id *cm_id_by_peer(const struct cm_name *peer);
struct cm_name cm_id_name(const struct cm_id *id);
uint32_t cm_id_unique(void);

int cm_id_migrate(struct cm_id *id, struct cm_channel *channel);

/*
 * A new event, at the end of the channel's queue, to be filled in; NULL if
 * the program cannot be told (the id was never accepted, or no memory).
 */
struct cm_event *cm_id_event(struct cm_id *id, int type, int status);

/* A request leaves the queue: it makes room in the listener's backlog. */
void cm_id_request_done(const struct cm_event *event);

/* Bind to the port of id->src, or choose one. */
int cm_id_bind_port(struct cm_id *id);

/* All ids are forgotten, in a child. */
void cm_id_forget(void);

/* The connection (cm_conn.c). */
void cm_id_receive(struct cm_channel *channel, struct cm_msg *msg);
void cm_id_peer_died(struct cm_id *id);
void cm_id_time(struct cm_id *id);
void cm_id_hang_up(struct cm_id *id);

/* How long an answer may take. */
extern uint64_t cm_response_ns;
