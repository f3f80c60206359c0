#pragma once
/*
 * The receiving end of a message: take a receive request and complete it.
 *
 * Callers hold the locks of the receiver (remote.h). Results are for the sender: a completion
 * status (enum ibv_wc_status), or one of these values.
 */
#include "shim/soft/fabric/copy.h"
#include "shim/soft/transport/objects.h"

enum {
	EXECUTE_RNR = -1,     /* the peer has no receive request */
	EXECUTE_NO_PEER = -2, /* the peer does not respond */
	EXECUTE_LATER = -3,   /* the peer must copy the data itself, and is slow */
	EXECUTE_HELD = -4,    /* held by a fault on demand */
	/* it would succeed, but a fault forces another status on it (sq_fault.c) */
	EXECUTE_FORCED = -5,
};

struct message {
	struct copy_list *from; /* the memory of the payload; consumed */
	uint32_t length;        /* length that is reported to the receiver */
	uint32_t absent;        /* number of the first bytes that are not sent */
	uint32_t src_qp;
	uint32_t imm; /* immediate data, or the rkey to invalidate, or a tag */
	uint16_t slid;
	uint8_t sl;
	uint8_t flags;  /* SHM_CQE_DATAGRAM, SHM_CQE_TAGGED */
	uint8_t opcode; /* enum ibv_wc_opcode */
	uint8_t wc_flags;
	bool solicited;
	bool has_forced_status;
	bool guarded; /* from another machine: the receiver's memory may have been unmapped */
};

/* Does the queue have a receive request? */
bool deliver_ready(struct soft_remote *r);

/* Deliver a message to the buffers of the receive request at the head. */
int deliver_message(struct soft_remote *r, struct message *m);

/* Deliver only a completion: the data was written before. */
int deliver_completion_only(struct soft_remote *r, const struct message *m);

/*
 * A message that arrives in packets takes a receive request with its first packet. The queue pair
 * remembers that request (shm_qp.claimed), which is flushed if the queue pair fails.
 *
 * deliver_claim() returns false if there is no request. deliver_list_claimed() lists the memory of
 * its first @len bytes. deliver_finish_claimed() completes the request, deliver_fail_claimed()
 * fails it with @recv_status; these two return a status for the sender.
 */
bool deliver_claim(struct soft_remote *r);
bool deliver_list_claimed(struct soft_remote *r, uint32_t len, struct copy_list *to);
uint32_t deliver_claimed_length(struct soft_remote *r);
int deliver_finish_claimed(struct soft_remote *r, const struct message *m);
int deliver_fail_claimed(struct soft_remote *r, int recv_status, int status);

/* The responder fails; @event is sent to its owner (-1: none). Returns @status. */
int deliver_fail_responder(struct soft_remote *r, int event, int status);

/*
 * The request is not allowed: a reliable responder fails, an unreliable one drops the request.
 * Returns @status.
 */
int deliver_refuse(struct soft_remote *r, int event, int status);

/* The status for an error of copy_put() or copy_get(). */
int deliver_copy_error(int err);

/*
 * The first message on a connection has arrived: send COMM_EST if the receiver is not in RTS yet.
 */
void deliver_note_established(struct soft_remote *r);

static inline void deliver_establish(struct soft_remote *r)
{
	if (unlikely(!r->shm->established))
		deliver_note_established(r);
}

/* Send an event of type @type to the receiver. */
void deliver_notify(const struct soft_remote *r, int type);

/*
 * Set a queue pair of this process to the error state and flush its receive queue; Callers hold its
 * lock.
 */
void deliver_fail(struct soft_qp *qp);

/* The shared queue of @seg has reached its limit: notify its owner, once. Callers hold its lock. */
void deliver_srq_limit(struct shm_seg *seg, struct shm_srq *srq);
