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

/* The types of the specification's 12.6 and 12.11 that are used. */
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
	uint32_t type;
	uint32_t to; /* serial */
	struct cm_name from;
	struct cm_addr src, dst; /* of requests */
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
	uint8_t mtu; /* of a request from another machine: enum ibv_mtu of the path; or 0 */
	uint8_t private_len;
	uint8_t private_data[224];
};

/* A mailbox: a named pipe to poll for reading, with number @id. A file descriptor or -errno. */
int cm_wire_open(uint32_t id);
void cm_wire_close(int fd, uint32_t id);

/* Let the name of id @serial lead to mailbox @id, too. */
int cm_wire_name(uint32_t id, uint32_t serial);
void cm_wire_unname(uint32_t serial);

/*
 * Put @msg into the mailbox of @to. -ENOENT: the id does not exist any more; -EAGAIN: the mailbox
 * is full. cm_wire_send() first names this process as its sender.
 */
int cm_wire_send(const struct cm_name *to, struct cm_msg *msg);
int cm_wire_put(const struct cm_name *to, struct cm_msg *msg);

/* The next message, checked; false if there is none. */
bool cm_wire_recv(int fd, struct cm_msg *msg);
