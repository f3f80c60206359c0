#pragma once
/*
 * The messages of the connection manager, and their mailboxes.
 *
 * Callers serialize (cm.c).
 */
#include <stdbool.h>
#include <stdint.h>
#include <rdma/rdma_user_cm.h>

#include "shim/soft/cm/cm_port.h"

/* The used message types of sections 12.6 and 12.11 of the specification. */
enum cm_type {
	CM_REQ = 1,
	CM_REP,
	CM_RTU,
	CM_REJ,
	CM_DREQ,
	CM_DREP,
	CM_SIDR_REQ,
	CM_SIDR_REP,
	CM_MRA,
	CM_TYPES,
};

/* Reasons of a REJ, and statuses of a SIDR_REP: enum ib_cm_sidr_status of the kernel. */
enum {
	CM_REJ_INVALID_COMM_ID = 6,
	CM_REJ_INVALID_SERVICE_ID = 8,
	CM_REJ_CONSUMER_DEFINED = 28,
	CM_REJ_VENDOR_OPTION = 35,
	CM_SIDR_UNSUPPORTED = 1,
	CM_SIDR_REJECTED = 2,
};

struct cm_msg {
	uint64_t magic;
	/* to or from another machine: the transaction ID; 0: one of the sender's own */
	uint64_t tid;
	uint32_t type;
	uint32_t to; /* serial of the receiving id */
	struct cm_name from;
	struct cm_addr src, dst; /* of a connection request */
	struct rdma_ucm_ece ece;
	uint32_t ps;
	uint32_t qpn;
	uint32_t qkey;
	uint32_t psn; /* initial PSN of the receiver's send queue */
	uint32_t status;
	uint8_t qp_type;
	uint8_t responder_resources;
	uint8_t initiator_depth;
	uint8_t flow_control;
	uint8_t retry_count;
	uint8_t rnr_retry_count;
	uint8_t srq;
	uint8_t mtu; /* in a request from another machine: enum ibv_mtu of the path; else 0 */
	uint8_t private_len;
	uint8_t private_data[224];
};

/*
 * Create mailbox @id: a named pipe that is polled for reading. Returns a file descriptor or -errno.
 */
int cm_wire_open(uint32_t id);
void cm_wire_close(int fd, uint32_t id);

/* Let the name of id @serial refer to mailbox @id, too. */
int cm_wire_add_name(uint32_t id, uint32_t serial);
void cm_wire_remove_name(uint32_t serial);

/*
 * Put @msg into the mailbox of @to. -ENOENT: the id does not exist any more; -EAGAIN: the mailbox
 * is full. cm_wire_send() first enters this process as the sender.
 */
int cm_wire_send(const struct cm_name *to, struct cm_msg *msg);
int cm_wire_put(const struct cm_name *to, struct cm_msg *msg);

/* Read the next message, and check it; false: there is none. */
bool cm_wire_recv(int fd, struct cm_msg *msg);
