#pragma once
/*
 * Messages that a queue pair has sent and that its peer has not received, in order.
 *
 * A receiver that has its queues for itself only counts what it has received (fast_poll.c): the
 * sender's list is another thread's. Whoever reads a list has it settled before.
 */
struct replay;
struct replica_qp;

enum {
	SENT_MOST = 4096, /* of a list that is not settled */
	SENT_FEW = 256,   /* beyond them it is worth while, where that is cheap */
};

/* Take what @receiver has counted from the list of its peer. For who has the replay for itself. */
void sent_settle(struct replay *r, struct replica_qp *receiver);

/* The same of what queue pair @sender has sent. */
void sent_settle_of(struct replay *r, const struct replica_qp *sender);
