#pragma once
/*
 * Messages that a queue pair has sent and that its peer has not received, in order.
 *
 * A receiver whose queues are private to its thread only counts the messages it has received
 * (fast_poll.c), since the sender's list belongs to another thread. Before a list is read, the
 * counted messages must be removed from it.
 */
struct replay;
struct replica_qp;

enum { SENT_MOST = 4096 }; /* length of a list with counted messages */

/*
 * Remove the messages that @receiver has counted from the list of its peer. The caller has
 * exclusive access to the replay.
 */
void sent_remove_counted(struct replay *r, struct replica_qp *receiver);

/* The same for the list of @sender: removes the messages that its peer has counted. */
void sent_remove_counted_of(struct replay *r, const struct replica_qp *sender);
