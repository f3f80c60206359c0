#pragma once
/*
 * Messages that a queue pair has sent and that its peer has not received, in order.
 *
 * A receiver whose queues are private to its thread only counts the messages it has received
 * (fast_poll.c), since the sender's list belongs to another thread. A list must be settled before
 * it is read: the counted messages are removed from it.
 */
struct replay;
struct replica_qp;

enum {
	SENT_MOST = 4096, /* length of a list that is not settled */
	SENT_FEW = 256,   /* from this length on it is settled, if that is cheap */
};

/*
 * Remove the messages that @receiver has counted from the list of its peer. The caller has
 * exclusive access to the replay.
 */
void sent_settle(struct replay *r, struct replica_qp *receiver);

/* The same for the messages that queue pair @sender has sent. */
void sent_settle_of(struct replay *r, const struct replica_qp *sender);
